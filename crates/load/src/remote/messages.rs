//! The messages between a block and its workers, and how they are written.

use super::clocks::SenderClockWord;
use super::{Carrier, LinkLost};
use crate::client_outcome::ClientOutcome;
use crate::error::LoadError;
use crate::job::BlockSpec;
use crate::librdkafka::connect::Cluster;
use crate::observation::SecondPart;
use crate::schedule::Share;
use crate::segment::Segment;
use crate::shared::Shared;
use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::{Properties, StepPlan};
use plumb_stats::histogram::CompactHistogram;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fmt;
use std::time::Duration;

/// A worker's part of a block.
#[derive(Clone, Serialize, Deserialize)]
pub struct BlockJob {
    pub(super) run: u64,
    pub(super) group: String,
    /// The step as JSON: its form is that of documents, which describe themselves.
    step: String,
    pub(super) topic: String,
    /// Its share as JSON, for the same reason.
    share: String,
    pub(super) seed: u64,
    /// The end of each partition's log before the block.
    pub(super) starts: Vec<i64>,
    pub(super) bootstrap: String,
    /// Connection properties; a worker's own come before them.
    pub(super) security: Properties,
    /// The parts of all workers.
    pub(super) segments: Vec<Segment>,
    /// The place of this worker among them.
    pub(super) place: usize,
}

impl fmt::Debug for BlockJob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Connection properties may hold secrets.
        formatter.debug_struct("BlockJob").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl BlockJob {
    pub(crate) fn new(spec: &BlockSpec<'_>, cluster: &Cluster, starts: &[i64]) -> Self {
        BlockJob {
            run: spec.run,
            group: spec.group.to_owned(),
            step: serde_json::to_string(spec.step).unwrap_or_default(),
            topic: spec.topic.to_owned(),
            share: serde_json::to_string(&spec.share).unwrap_or_default(),
            seed: spec.seed,
            starts: starts.to_vec(),
            bootstrap: cluster.bootstrap.clone(),
            security: cluster.properties.clone(),
            segments: Vec::new(),
            place: 0,
        }
    }

    /// The job of one of several workers.
    pub(super) fn of_worker(&self, segments: &[Segment], place: usize) -> Self {
        BlockJob { segments: segments.to_vec(), place, ..self.clone() }
    }

    /// The step.
    ///
    /// # Errors
    /// When it is none that this build knows.
    pub(super) fn step(&self) -> Result<StepPlan, LinkLost> {
        read(&self.step)
    }

    /// The share of the block's messages.
    ///
    /// # Errors
    /// As [`BlockJob::step`].
    pub(super) fn share(&self) -> Result<Share, LinkLost> {
        read(&self.share)
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, LinkLost> {
    serde_json::from_str(text)
        .map_err(|error| LinkLost::failed(format!("the block that was sent cannot be read: {error}")))
}

/// The block's word to a worker: the whole state at each time. Times are of the worker's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Orders {
    /// The block's start.
    pub(super) start_ns: Option<u64>,
    pub(super) measured_from_ns: Option<u64>,
    pub(super) measured_to_ns: Option<u64>,
    pub(super) send_until_ns: Option<u64>,
    /// Consumers must wait.
    pub(super) hold: bool,
    /// The block ends before its time.
    pub(super) stop: bool,
    /// Producers must end.
    pub(super) finish_producers: bool,
    /// All must end.
    pub(super) finish: bool,
    /// The offsets up to which all consumers together have read, so that whoever takes a partition over goes on there.
    pub(super) positions: Vec<i64>,
    /// The difference of each worker's clock from this one's.
    pub(super) clocks: Vec<SenderClockWord>,
}

/// A worker's word to the block: the whole state at each time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) probes_acknowledged: Vec<bool>,
    pub(super) probes_received: Vec<bool>,
    /// True for each of its consumers that holds partitions.
    pub(super) assigned: Vec<bool>,
    pub(super) positions: Vec<i64>,
    pub(super) acknowledged: u64,
    pub(super) received: u64,
    pub(super) outstanding: u64,
    pub(super) holding: u64,
    pub(super) senders_done: u64,
    /// The start that it has been told, as far as it will keep to it.
    pub(super) armed_for_ns: Option<u64>,
    pub(super) trouble: Option<String>,
    pub(super) probe_error: Option<RefusedProbe>,
}

/// The error by which a broker refused the record that tries a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RefusedProbe {
    pub(super) code: String,
    pub(super) text: String,
}

/// From the block to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    Block(Box<BlockJob>),
    Orders(Orders),
}

/// From a worker to the block.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromWorker {
    Progress(Progress),
    /// Parts of seconds that are over.
    Seconds(Vec<SecondPart<CompactHistogram>>),
    /// Its producers have ended.
    Producers(Vec<ClientOutcome>),
    /// Its consumers have ended, and with them the worker's part of the block.
    Consumers(Box<PartDone>),
    Failed(Failure),
}

/// The end of a worker's part of a block.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PartDone {
    pub(super) consumers: Vec<ClientOutcome>,
    pub(super) producer_properties: Properties,
    pub(super) consumer_properties: Properties,
    /// CPU time of its process in the block's measured part.
    pub(super) cpu_ns: Option<u64>,
}

/// The reason why a worker cannot do its part.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    reason: String,
    fault: Fault,
    hint: Option<String>,
    stopped: bool,
}

impl Failure {
    pub(super) fn of(error: &LoadError) -> Self {
        Failure {
            reason: error.to_string(),
            fault: error.fault(),
            hint: error.hint().map(std::borrow::Cow::into_owned),
            stopped: error.is_stop(),
        }
    }

    /// The same as an error of the block.
    pub(super) fn of_worker(self, worker: &str) -> LoadError {
        if self.stopped {
            return LoadError::Stopped;
        }
        LoadError::Worker {
            worker: worker.to_owned(),
            reason: self.reason,
            fault: self.fault,
            hint: self.hint,
        }
    }
}

impl Progress {
    /// The state of a worker's clients. `outstanding` is asked after the senders, so that what a sender that is done has handed over
    /// is in it.
    pub(super) fn of(shared: &Shared<'_>, segment: &Segment, outstanding: impl FnOnce() -> u64) -> Self {
        let senders_done = shared.senders_done() as u64;
        Progress {
            probes_acknowledged: shared.acknowledged_probes(),
            probes_received: shared.received_probes(),
            assigned: shared.assigned(segment.consumers.clone()),
            positions: shared.positions(),
            acknowledged: shared.acknowledged(),
            received: shared.received(),
            outstanding: outstanding(),
            holding: shared.holding() as u64,
            senders_done,
            armed_for_ns: None,
            trouble: shared.trouble(),
            probe_error: shared.probe_error().map(|(code, text)| RefusedProbe { code, text }),
        }
    }
}

/// Marks a piece of a message that is not its last.
const MORE: u8 = 1;
const LAST: u8 = 0;

/// Writes a message, in as many pieces as the carrier needs.
pub(super) fn send<T: Serialize>(carrier: &dyn Carrier, message: &T) -> Result<(), LinkLost> {
    let bytes = postcard::to_stdvec(message)
        .map_err(|error| LinkLost::failed(format!("a message cannot be written: {error}")))?;
    let mut pieces = bytes.chunks(carrier.largest().saturating_sub(1).max(1)).peekable();
    let mut buffer = Vec::new();
    while let Some(piece) = pieces.next() {
        buffer.clear();
        buffer.push(if pieces.peek().is_some() { MORE } else { LAST });
        buffer.extend_from_slice(piece);
        carrier.send(&buffer)?;
    }
    Ok(())
}

/// Reads messages that may come in pieces.
#[derive(Debug, Default)]
pub(super) struct Reader {
    so_far: Vec<u8>,
}

/// The most that a message may take: the sets of ten thousand million messages.
const MESSAGE_BYTES_MOST: usize = 2 << 30;

impl Reader {
    /// The next message, if it is complete in time.
    pub(super) fn receive<T: DeserializeOwned>(
        &mut self,
        carrier: &dyn Carrier,
        wait: Duration,
    ) -> Result<Option<T>, LinkLost> {
        let mut wait = wait;
        while let Some(piece) = carrier.receive(wait)? {
            let (mark, bytes) = match piece.split_first() {
                Some((mark @ (&LAST | &MORE), bytes)) => (*mark, bytes),
                _ => return Err(LinkLost::failed("a message begins with no known mark")),
            };
            if self.so_far.len() + bytes.len() > MESSAGE_BYTES_MOST {
                return Err(LinkLost::failed("a message does not end"));
            }
            self.so_far.extend_from_slice(bytes);
            if mark == LAST {
                let read = postcard::from_bytes(&self.so_far)
                    .map_err(|error| LinkLost::failed(format!("a message cannot be read: {error}")));
                self.so_far.clear();
                return read.map(Some);
            }
            // The rest is on its way.
            wait = wait.max(Duration::from_millis(1));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
