//! The outcome of one client in a block, whatever its driver, and the merged outcomes of all.
//!
//! A client's outcome is plain data that can be sent: it holds sums, sets of sequence numbers and offsets, and no mean, so that
//! [`merge`] loses nothing, in whatever order the outcomes come. Not here: latencies, which leave a client second by second
//! while the block runs ([`crate::observation::SecondPart`], which can be sent as well), and what the outcomes mean beside
//! the logs' ends (`block/outcome.rs`).

use crate::acknowledged::Acknowledged;
use crate::consume::{Appends, Received};
use crate::error_counts::ErrorCounts;
use crate::produce::{Outstanding, Reported, Sent};
use crate::shared::Shared;
use crate::statistics::StatisticsSum;
use crate::unread::ReadOffsets;
use crate::verify::{Arrivals, SequenceSet};
use plumb_model::observation::Counts;
use serde::{Deserialize, Serialize};

/// The outcome of one client. Times are nanoseconds on the clock of the block, which is one for all its clients.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientOutcome {
    /// The outcome of a producer.
    Producer(Box<ProducerOutcome>),
    /// The outcome of a consumer.
    Consumer(Box<Received>),
}

/// The outcome of one producer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProducerOutcome {
    /// Its number in its messages' stamps, unlike that of any other producer of the block.
    pub(crate) id: u16,
    pub(crate) sent: Sent,
    pub(crate) reported: Reported,
}

impl ClientOutcome {
    /// The outcome of the producer with this index, whose threads have ended: what is outstanding stays without a report.
    pub(crate) fn of_producer(
        index: usize,
        outstanding: &Outstanding,
        sent: Sent,
        mut reported: Reported,
    ) -> Self {
        reported.note_under_way(outstanding.count());
        let id = u16::try_from(index).unwrap_or(u16::MAX);
        ClientOutcome::Producer(Box::new(ProducerOutcome { id, sent, reported }))
    }

    /// The same with its times on a clock that is ahead of its own by this much.
    pub(crate) fn moved(mut self, ahead_ns: i64) -> Self {
        let moved = |time: &mut Option<u64>| *time = time.map(|time| time.saturating_add_signed(ahead_ns));
        match &mut self {
            ClientOutcome::Producer(producer) => {
                moved(&mut producer.sent.first_due_ns);
                moved(&mut producer.sent.last_due_ns);
                moved(&mut producer.reported.last_ack_ns);
            }
            ClientOutcome::Consumer(received) => moved(&mut received.last_ns),
        }
        self
    }

    /// The outcome of a consumer that has ended.
    pub(crate) fn of_consumer(shared: &Shared<'_>, mut received: Received) -> Self {
        received.positions = shared.positions();
        ClientOutcome::Consumer(Box::new(received))
    }
}

/// The merged outcomes of all clients of a block.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// The measured messages by their fate; what was removed from the logs is not known here.
    pub(crate) counts: Counts,
    /// Messages sent, acknowledged and failed, with those of the warm-up; probes are acknowledged or failed, and not counted as sent.
    pub(crate) sent_all: u64,
    pub(crate) acked_all: u64,
    pub(crate) failed_all: u64,
    /// Measured messages that programs of their own were ordered to send, and told nothing of.
    pub(crate) untold: u64,
    /// Bytes of the values of the measured messages acknowledged.
    pub(crate) acked_bytes: u64,
    /// The offsets of the acknowledged messages, by partition.
    pub(crate) acknowledged: Acknowledged,
    /// The offsets of all records that came, by partition.
    pub(crate) read: ReadOffsets,
    /// Records of others, and damaged ones.
    pub(crate) foreign: u64,
    pub(crate) corrupt: u64,
    /// Messages behind the rate of receiving, repeats included, and bytes of their values.
    pub(crate) records: u64,
    pub(crate) received_bytes: u64,
    /// The time at which the last measured message came.
    pub(crate) last_received_ns: Option<u64>,
    /// The times at which the first and the last measured message were due, and the last was acknowledged.
    pub(crate) first_due_ns: Option<u64>,
    pub(crate) last_due_ns: Option<u64>,
    pub(crate) last_ack_ns: Option<u64>,
    pub(crate) queue_full_waits: u64,
    pub(crate) rebalances: u64,
    pub(crate) appends: Appends,
    pub(crate) catch_up_at_most_sum_ns: f64,
    pub(crate) producer_statistics: StatisticsSum,
    pub(crate) consumer_statistics: StatisticsSum,
    pub(crate) errors: ErrorCounts,
    positions: Vec<i64>,
    arrivals: Arrivals,
    pub(crate) warm_up_arrivals: Arrivals,
}

/// Puts together what the clients of a block say. A message that was acknowledged and came to no consumer is lost, if anybody
/// consumes; one that was sent and has no report has an unknown outcome, like one that was reported as unknown.
pub(crate) fn merge(clients: Vec<ClientOutcome>) -> Merged {
    let mut merged = Merged::default();
    let mut acked: Vec<(u16, SequenceSet)> = Vec::new();
    let mut consumed = false;
    for client in clients {
        match client {
            ClientOutcome::Producer(producer) => acked.push(merged.add_producer(*producer)),
            ClientOutcome::Consumer(received) => {
                consumed = true;
                merged.add_consumer(*received);
            }
        }
    }
    let Merged { counts, arrivals, .. } = &mut merged;
    let nothing = SequenceSet::default();
    let lost =
        |(id, acked): &(u16, SequenceSet)| acked.missing_from(arrivals.of_producer(*id).unwrap_or(&nothing));
    counts.lost = if consumed { acked.iter().map(lost).sum() } else { 0 };
    counts.unknown = counts.sent.saturating_sub(counts.acked + counts.failed);
    counts.received = arrivals.distinct();
    counts.duplicated = arrivals.duplicated();
    counts.reordered = arrivals.reordered();
    merged
}

impl Merged {
    /// The offset up to which the consumers read a partition.
    pub(crate) fn position(&self, partition: usize) -> i64 {
        self.positions.get(partition).copied().unwrap_or(0)
    }

    /// Messages, of the warm-up and so many probes too, whose outcome is not known.
    pub(crate) fn unknown_all(&self, probes: u64) -> u64 {
        (self.sent_all + probes).saturating_sub(self.acked_all + self.failed_all)
    }

    /// Adds a producer; returns which of its messages were acknowledged.
    fn add_producer(&mut self, producer: ProducerOutcome) -> (u16, SequenceSet) {
        let ProducerOutcome { id, sent, reported } = producer;
        self.counts.intended += sent.intended;
        self.counts.sent += sent.measured;
        self.sent_all += sent.all;
        self.queue_full_waits += sent.queue_full_waits;
        self.first_due_ns = least(self.first_due_ns, sent.first_due_ns);
        self.last_due_ns = self.last_due_ns.max(sent.last_due_ns);
        self.errors.absorb(sent.errors);
        let acked = reported.acked.into_set();
        self.counts.acked += acked.len();
        self.counts.failed += reported.failed;
        self.acked_bytes += reported.acked_bytes;
        self.acked_all += reported.acked_all;
        self.failed_all += reported.failed_all;
        self.untold += reported.untold;
        self.last_ack_ns = self.last_ack_ns.max(reported.last_ack_ns);
        self.acknowledged.absorb(reported.offsets);
        self.producer_statistics.absorb(&reported.statistics);
        self.errors.absorb(reported.errors);
        (id, acked)
    }

    fn add_consumer(&mut self, mut received: Received) {
        self.arrivals.absorb(&mut received.arrivals);
        self.warm_up_arrivals.absorb(&mut received.warm_up_arrivals);
        self.read.absorb(received.offsets);
        self.records += received.records;
        self.received_bytes += received.bytes;
        self.last_received_ns = self.last_received_ns.max(received.last_ns);
        self.foreign += received.foreign;
        self.corrupt += received.corrupt;
        // Every member sees the same changes of the group.
        self.rebalances = self.rebalances.max(received.rebalances);
        self.appends.absorb(&received.appends);
        self.catch_up_at_most_sum_ns += received.catch_up_at_most_sum_ns;
        self.consumer_statistics.absorb(&received.statistics);
        self.errors.absorb(received.errors);
        if self.positions.len() < received.positions.len() {
            self.positions.resize(received.positions.len(), 0);
        }
        for (mine, theirs) in self.positions.iter_mut().zip(received.positions) {
            *mine = (*mine).max(theirs);
        }
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests;
