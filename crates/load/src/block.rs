//! Runs one block of a step: fresh clients, every partition probed, the schedule sent, every message followed.
//!
//! Threads: two for each producer (one sends, one hears the reports), one for each consumer, beside the client
//! library's own. The caller's thread does the bookkeeping and feeds the sink.

mod outcome;
mod shared;

pub use outcome::BlockOutcome;
pub(crate) use outcome::Errors;
pub(crate) use shared::Shared;

use crate::clock::now_ns;
use crate::consume::{Received, receive};
use crate::error::LoadError;
use crate::keys::KeySource;
use crate::librdkafka::connect::Cluster;
use crate::librdkafka::{Client, Role};
use crate::observation::{Measure, Observation, Sink};
use crate::pace::Pace;
use crate::payload::{PayloadSource, read_payload_file};
use crate::produce::{Outstanding, Reported, Sender, Sent, hear_reports};
use crate::random::Random;
use crate::schedule::{Share, due_times};
use crate::seconds::{Parcel, Seconds};
use plumb_model::plan::{Payload, Properties, StepPlan};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

/// What a block needs to know.
#[derive(Debug, Clone, Copy)]
pub struct BlockSpec<'a> {
    /// Tells this block's records from all others: the run's id mixed with the block's place.
    pub run: u64,
    /// Name of the consumer group, the block's own.
    pub group: &'a str,
    /// The step.
    pub step: &'a StepPlan,
    /// The topic's name.
    pub topic: &'a str,
    /// Its partitions.
    pub partitions: usize,
    /// The block's share of the measured part.
    pub share: Share,
    /// Seed of this block.
    pub seed: u64,
    /// From the calibration: how long before a send to stop sleeping.
    pub spin_ns: u64,
}

/// Longest wait until a record went round every partition.
const READY_S: u64 = 30;
/// Longest wait for what is under way once the user asked to stop.
const STOP_DRAIN_NS: u64 = 2_000_000_000;
/// Time between the last preparation and the first send.
const LEAD_NS: u64 = 5_000_000;
const TICK: Duration = Duration::from_millis(20);
/// Windows of the client's statistics.
const STATISTICS_MS: &str = "200";

/// Runs a block. `stop` ends the sending early; what was measured until then is returned.
pub fn run(
    cluster: &Cluster,
    spec: &BlockSpec<'_>,
    stop: &AtomicBool,
    sink: &mut dyn Sink,
) -> Result<BlockOutcome, LoadError> {
    let starts = cluster.end_offsets(spec.topic, spec.partitions)?;
    let shared = Shared::new(spec.run, &spec.step.load, stop, &starts);
    let producers = clients(Role::Producer, spec, cluster)?;
    let consumers = clients(Role::Consumer, spec, cluster)?;
    for consumer in &consumers {
        consumer.subscribe(spec.topic)?;
    }
    let outstanding: Vec<Outstanding> = producers.iter().map(|_| Outstanding::default()).collect();
    let (out, parcels) = std::sync::mpsc::channel::<Parcel>();
    let result = std::thread::scope(|scope| {
        let block = Block { cluster, spec, shared: &shared, outstanding: &outstanding, starts: &starts };
        // Whatever happens in here, the threads are told to end before the scope waits for them.
        let _end = shared.end_on_drop();
        let start_ns = now_ns();
        let mut receivers = Vec::new();
        for (index, client) in consumers.iter().enumerate() {
            let seconds = Seconds::new(Measure::EndToEnd, shared.clock_start(), out.clone());
            let shared = &shared;
            receivers.push(spawn(scope, format!("plumb-recv-{index}"), move || {
                receive(shared, client, index, seconds)
            })?);
        }
        let mut senders = Vec::new();
        let mut reporters = Vec::new();
        let mut starters = Vec::new();
        for (index, client) in producers.iter().enumerate() {
            let mut sender = block.sender(client, index)?;
            let (begin, begun) = std::sync::mpsc::channel::<u64>();
            let slips = Seconds::new(Measure::Slip, shared.clock_start(), out.clone());
            let pace = Pace::new(
                spec.spin_ns,
                spec.step.load.rate_per_s.unwrap_or(f64::INFINITY) / producers.len() as f64,
            );
            let schedule =
                due_times(&spec.step.load, spec.share, spec.seed).skip(index).step_by(producers.len());
            if index == 0
                && let Err(error) = block.probe(&mut sender)
            {
                return Err(error);
            }
            let thread = spawn(scope, format!("plumb-send-{index}"), move || match begun.recv() {
                Ok(at) => sender.send(schedule, at, pace, slips),
                Err(_) => Sent::default(),
            })?;
            let seconds = Seconds::new(Measure::Acknowledge, shared.clock_start(), out.clone());
            let (shared, outstanding, handle) = (&shared, &outstanding[index], thread.thread().clone());
            reporters.push(spawn(scope, format!("plumb-ack-{index}"), move || {
                hear_reports(shared, client, outstanding, &handle, seconds)
            })?);
            senders.push(thread);
            starters.push(begin);
        }
        drop(out);
        block.wait_until_ready(start_ns)?;
        let at = now_ns() + LEAD_NS;
        shared.begin(at, at + spec.step.load.warm_up.0);
        for starter in &starters {
            // A sender that is gone is seen below, when it is joined.
            let _ = starter.send(at);
        }
        sink.observe(Observation::ScheduleBegins);
        block.follow(&senders, &parcels, sink);
        let ends = block.drain(&parcels, sink);
        shared.finish();
        let sent: Vec<Sent> = join_all(senders)?;
        let reported: Vec<Reported> = join_all(reporters)?;
        let received: Vec<Received> = join_all(receivers)?;
        for parcel in parcels.iter() {
            pass_on(parcel, sink);
        }
        Ok(outcome::outcome(&shared, &starts, ends, (sent, reported, received)))
    });
    let effective = |clients: &[Client]| clients.first().map(Client::effective).unwrap_or_default();
    let mut outcome = result?;
    outcome.producer_properties = effective(&producers);
    outcome.consumer_properties = effective(&consumers);
    Ok(outcome)
}

/// Refuses a step whose properties the client library does not take, or whose payload file is not there, before anything
/// is made for it. `security` are the connection's properties.
pub fn check(step: &StepPlan, security: &Properties) -> Result<(), LoadError> {
    if let Payload::File(path) = &step.load.payload {
        read_payload_file(path)?;
    }
    for role in [Role::Producer, Role::Consumer] {
        Client::new(role, &properties(role, step, "plumb-check", security))?;
    }
    Ok(())
}

/// The clients of one role.
fn clients(role: Role, spec: &BlockSpec<'_>, cluster: &Cluster) -> Result<Vec<Client>, LoadError> {
    let properties = properties(role, spec.step, spec.group, &cluster.properties);
    let count = match role {
        Role::Producer => spec.step.load.producers,
        Role::Consumer | Role::Admin => spec.step.load.consumers,
    };
    (0..count).map(|_| Client::new(role, &properties)).collect()
}

/// What the clients of one role are told.
fn properties(role: Role, step: &StepPlan, group: &str, security: &Properties) -> Properties {
    let mut properties = security.clone();
    properties.insert("client.id".to_owned(), "plumb".to_owned());
    properties.insert("statistics.interval.ms".to_owned(), STATISTICS_MS.to_owned());
    let own = match role {
        Role::Producer => &step.producer,
        Role::Consumer | Role::Admin => {
            properties.insert("group.id".to_owned(), group.to_owned());
            properties.insert("auto.offset.reset".to_owned(), "earliest".to_owned());
            &step.consumer
        }
    };
    properties.extend(own.clone());
    properties
}

/// What the bookkeeping of a running block needs.
struct Block<'a> {
    cluster: &'a Cluster,
    spec: &'a BlockSpec<'a>,
    shared: &'a Shared<'a>,
    outstanding: &'a [Outstanding],
    starts: &'a [i64],
}

impl<'a> Block<'a> {
    fn sender(&self, client: &'a Client, index: usize) -> Result<Sender<'a>, LoadError> {
        let load = &self.spec.step.load;
        let part = index as u64 * 2;
        let keys = KeySource::new(load.keys, Random::for_part(self.spec.seed, part));
        let payloads = PayloadSource::new(load, Random::for_part(self.spec.seed, part + 1))?;
        let producer = u16::try_from(index).unwrap_or(u16::MAX);
        let topic = client.topic(self.spec.topic)?;
        Sender::new(self.shared, topic, producer, (keys, payloads), &self.outstanding[index])
    }

    fn probe(&self, sender: &mut Sender<'_>) -> Result<(), LoadError> {
        (0..self.spec.partitions)
            .try_for_each(|partition| sender.probe(i32::try_from(partition).unwrap_or(0)))
    }

    fn wait_until_ready(&self, started_ns: u64) -> Result<(), LoadError> {
        loop {
            if let Some((code, text)) = self.shared.probe_error() {
                return Err(self.probe_error(&code, &text));
            }
            let unready = self.shared.first_unready(self.spec.step.load.consumers > 0);
            let unready = unready.or_else(|| (!self.shared.group_is_complete()).then_some(0));
            match unready {
                None => return Ok(()),
                Some(_) if self.shared.stopped() => return Err(LoadError::Stopped),
                Some(partition) if now_ns() - started_ns > READY_S * 1_000_000_000 => {
                    return Err(LoadError::NotReady {
                        topic: self.spec.topic.to_owned(),
                        partition,
                        waited_s: READY_S,
                        reason: String::new(),
                    });
                }
                Some(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    fn probe_error(&self, code: &str, text: &str) -> LoadError {
        let bytes = self.spec.step.load.size.largest().0;
        match code {
            "MSG_SIZE_TOO_LARGE" | "RECORD_LIST_TOO_LARGE" => LoadError::TooLarge {
                bytes,
                reason: format!("{text} (topic max.message.bytes, or the broker's message.max.bytes)"),
            },
            _ => LoadError::Refused {
                operation: format!("send to {}", self.spec.topic),
                reason: format!("{text} ({code})"),
            },
        }
    }

    /// Feeds the sink until every sender is done.
    fn follow(
        &self,
        senders: &[ScopedJoinHandle<'_, Sent>],
        parcels: &Receiver<Parcel>,
        sink: &mut dyn Sink,
    ) {
        let mut begun = false;
        // A sender that is done stays until its CPU time was read; one that panicked is finished without being done.
        while self.shared.senders_done() < senders.len() && !senders.iter().any(ScopedJoinHandle::is_finished)
        {
            if !begun && self.shared.in_measured_part(now_ns()) {
                begun = true;
                sink.observe(Observation::MeasuredPartBegins);
            }
            feed(parcels, sink, TICK);
        }
        // A measured part too short to be seen to begin has no readings at its ends.
        if begun {
            sink.observe(Observation::MeasuredPartEnds);
        }
        self.shared.measured_part_ends(now_ns());
    }

    /// Waits for reports, then for the consumers to reach the log's end, no longer than the plan allows, and than
    /// somebody who asked to stop would. Returns the end offsets.
    fn drain(&self, parcels: &Receiver<Parcel>, sink: &mut dyn Sink) -> Option<Vec<i64>> {
        let mut deadline = now_ns() + self.spec.step.load.drain.0;
        let mut hurried = false;
        let mut over = || {
            if !hurried && self.shared.stopped_by_user() {
                hurried = true;
                deadline = deadline.min(now_ns() + STOP_DRAIN_NS);
            }
            now_ns() >= deadline
        };
        while self.outstanding.iter().any(|producer| producer.count() > 0) && !over() {
            feed(parcels, sink, Duration::from_millis(2));
        }
        loop {
            let ends = self.cluster.end_offsets(self.spec.topic, self.spec.partitions).ok();
            let reached = match &ends {
                Some(ends) => self.everything_received(ends),
                None => false,
            };
            if reached || over() {
                return ends;
            }
            feed(parcels, sink, TICK);
        }
    }

    /// With acks=0 the log may still grow after the last report, so its growth is held against what was sent.
    fn everything_received(&self, ends: &[i64]) -> bool {
        let growth: i64 = ends.iter().zip(self.starts).map(|(end, start)| end - start).sum();
        let appended = growth.unsigned_abs() >= self.shared.acknowledged();
        appended && (self.spec.step.load.consumers == 0 || self.shared.has_reached(ends))
    }
}

/// Passes on what the threads recorded, and gives them the emptied parts back.
fn feed(parcels: &Receiver<Parcel>, sink: &mut dyn Sink, wait: Duration) {
    match parcels.recv_timeout(wait) {
        Ok(parcel) => {
            pass_on(parcel, sink);
            while let Ok(parcel) = parcels.try_recv() {
                pass_on(parcel, sink);
            }
        }
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(wait),
        Err(RecvTimeoutError::Timeout) => {}
    }
}

fn pass_on(parcel: Parcel, sink: &mut dyn Sink) {
    sink.observe(Observation::Second(&parcel.part));
    parcel.give_back();
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, LoadError> {
    Builder::new()
        .name(name)
        .spawn_scoped(scope, work)
        .map_err(|error| LoadError::Thread { reason: error.to_string() })
}

fn join_all<T>(threads: Vec<ScopedJoinHandle<'_, T>>) -> Result<Vec<T>, LoadError> {
    threads
        .into_iter()
        .map(|thread| thread.join().map_err(|_| LoadError::Thread { reason: "a thread panicked".to_owned() }))
        .collect()
}
