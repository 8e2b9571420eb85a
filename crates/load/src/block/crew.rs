//! The threads of the clients that run in this process: started before a block begins, joined after it.

use super::Clients;
use crate::client_outcome::ClientOutcome;
use crate::error::LoadError;
use crate::job::{BlockSpec, MessageContents, ProducerJob};
use crate::keys::KeySource;
use crate::observation::Measure;
use crate::pace::Pace;
use crate::payload::PayloadSource;
use crate::produce::{Course, Outstanding, Saturating};
use crate::random::Random;
use crate::schedule::{Due, due_times};
use crate::seconds::{Parcel, Seconds};
use crate::segment::Segment;
use crate::shared::Shared;
use plumb_model::plan::LoadPlan;
use std::sync::mpsc::Sender;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// The clients that are here, and what their threads share.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'a> {
    pub(crate) spec: &'a BlockSpec<'a>,
    pub(crate) segment: &'a Segment,
    pub(crate) clients: &'a Clients,
    pub(crate) shared: &'a Shared<'a>,
    /// One for each producer of the segment.
    pub(crate) outstanding: &'a [Outstanding],
}

/// The running threads of the clients of a segment.
pub(crate) struct Crew<'scope> {
    senders: Vec<ScopedJoinHandle<'scope, ClientOutcome>>,
    receivers: Vec<ScopedJoinHandle<'scope, ClientOutcome>>,
    starters: Vec<Sender<u64>>,
}

impl<'scope> Crew<'scope> {
    /// Starts the consumers, then the producers, which wait for the block's begin.
    pub(crate) fn start(
        scope: &'scope Scope<'scope, '_>,
        stage: Stage<'scope>,
        out: &Sender<Parcel>,
    ) -> Result<Self, LoadError> {
        let Stage { spec, segment, clients, shared, outstanding } = stage;
        let load = shared.load;
        let seconds = |measure| Seconds::new(measure, shared.clock_start(), out.clone());
        let mut crew = Crew { senders: Vec::new(), receivers: Vec::new(), starters: Vec::new() };
        for index in segment.consumers.clone() {
            let seconds = seconds(Measure::EndToEnd);
            let receive = move || clients.receive(index, shared, seconds);
            crew.receivers.push(spawn(scope, format!("plumb-recv-{index}"), receive)?);
        }
        let probed = 0..i32::try_from(spec.partitions).unwrap_or(i32::MAX);
        for (index, outstanding) in segment.producers.clone().zip(outstanding) {
            let (begin, begun) = std::sync::mpsc::channel::<u64>();
            let job = ProducerJob {
                index,
                shared,
                outstanding,
                topic: spec.topic,
                probes: if index == segment.producers.start { probed.clone() } else { 0..0 },
                contents: contents(load, spec.seed, index)?,
                course: course(load, spec, segment, index),
                pace: Pace::new(
                    spec.spin_ns,
                    load.rate_per_s.unwrap_or(f64::INFINITY) / f64::from(load.producers),
                ),
                begun,
                slips: seconds(Measure::Slip),
                acks: seconds(Measure::Acknowledge),
            };
            crew.senders.push(spawn(scope, format!("plumb-send-{index}"), move || clients.produce(job))?);
            crew.starters.push(begin);
        }
        Ok(crew)
    }

    /// The block starts at this time.
    pub(crate) fn begin(&self, at: u64) {
        for starter in &self.starters {
            // A sender that is gone is seen when it is joined.
            let _ = starter.send(at);
        }
    }

    /// True if a sender has ended: it panicked, as one that is done stays until the block is over.
    pub(crate) fn has_lost_a_sender(&self) -> bool {
        self.senders.iter().any(ScopedJoinHandle::is_finished)
    }

    /// The outcomes of the producers, which have been told to end.
    pub(crate) fn join_producers(&mut self) -> Result<Vec<ClientOutcome>, LoadError> {
        join_all(std::mem::take(&mut self.senders))
    }

    /// The outcomes of the consumers, which have been told to end.
    pub(crate) fn join_consumers(&mut self) -> Result<Vec<ClientOutcome>, LoadError> {
        join_all(std::mem::take(&mut self.receivers))
    }
}

/// Keys and values of one producer, each from a stream of its own.
fn contents(load: &LoadPlan, seed: u64, index: usize) -> Result<MessageContents, LoadError> {
    let part = index as u64 * 2;
    let keys = KeySource::new(load.keys, Random::for_part(seed, part));
    Ok(MessageContents { keys, payloads: PayloadSource::new(load, Random::for_part(seed, part + 1))? })
}

/// The times at which the messages of one producer are due.
fn course(
    load: &LoadPlan,
    spec: &BlockSpec<'_>,
    segment: &Segment,
    index: usize,
) -> Course<Box<dyn Iterator<Item = Due> + Send>> {
    if load.saturating() {
        return Course::Saturating(Saturating::new(load.warm_up.0, segment.share(spec.share, load)));
    }
    let all = load.producers as usize;
    Course::Scheduled(Box::new(due_times(load, spec.share, spec.seed).skip(index).step_by(all)))
}

pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, LoadError> {
    Builder::new()
        .name(name)
        .spawn_scoped(scope, work)
        .map_err(|error| LoadError::Thread { reason: error.to_string() })
}

pub(super) fn join_all<T>(threads: Vec<ScopedJoinHandle<'_, T>>) -> Result<Vec<T>, LoadError> {
    threads
        .into_iter()
        .map(|thread| thread.join().map_err(|_| LoadError::Thread { reason: "a thread panicked".to_owned() }))
        .collect()
}
