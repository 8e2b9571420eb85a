//! A consumer's notes of each record, whatever the driver: whose it is, whether it came before, how long it took.

use crate::error_counts::ErrorCounts;
use crate::observation::Origin;
use crate::seconds::Seconds;
use crate::shared::Shared;
use crate::stamp::{Part, Reading, Stamp};
use crate::statistics::StatisticsSum;
use crate::unread::ReadOffsets;
use crate::verify::Arrivals;
use plumb_model::plan::SizePlan;
use serde::{Deserialize, Serialize};

/// The records and times that a consumer received.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Received {
    /// Messages of the measured part.
    pub(crate) arrivals: Arrivals,
    /// Messages of the warm-up.
    pub(crate) warm_up_arrivals: Arrivals,
    /// The offsets of all records that came, whoever sent them.
    pub(crate) offsets: ReadOffsets,
    /// Messages behind the rate of receiving, repeats included: the measured ones; those of a backlog that is drained; where
    /// the topic is read as it is, all records.
    pub(crate) records: u64,
    /// Bytes of their values.
    pub(crate) bytes: u64,
    /// The time at which the last measured message came.
    pub(crate) last_ns: Option<u64>,
    pub(crate) foreign: u64,
    pub(crate) corrupt: u64,
    /// Times that partitions were given to this consumer after the measured part had begun.
    pub(crate) rebalances: u64,
    pub(crate) appends: Appends,
    /// Sum over measured messages of the time from their send to the reception of the one before them in the partition.
    pub(crate) catch_up_at_most_sum_ns: f64,
    /// The offsets up to which the partitions were read, by all consumers of the process.
    pub(crate) positions: Vec<i64>,
    /// The time of the last record of each partition.
    #[serde(skip)]
    last_received_ns: Vec<u64>,
    pub(crate) statistics: StatisticsSum,
    pub(crate) errors: ErrorCounts,
}

/// A record as a consumer got it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'m> {
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    /// The bytes that would carry the stamp.
    pub(crate) stamp_bytes: &'m [u8],
    pub(crate) value_bytes: usize,
    /// The broker's append time, where the topic keeps it.
    pub(crate) append_time_ms: Option<i64>,
}

/// Records that are only counted and verified, of one batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    measured: u64,
    warm_up: u64,
    /// The records of a backlog that is drained, among those of the warm-up.
    backlog: u64,
    bytes: u64,
}

/// The broker's append times, where the topic keeps them (LogAppendTime).
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Appends {
    pub(crate) samples: u64,
    /// Sum of append time (floor of a millisecond) minus actual send time, both of the epoch.
    pub(crate) sum_ns: f64,
    /// Largest lower and smallest upper bound of broker clock minus ours, over all messages.
    pub(crate) offset_low_ns: Option<i64>,
    pub(crate) offset_high_ns: Option<i64>,
}

const MILLISECOND_NS: i64 = 1_000_000;

impl Appends {
    /// Notes a message sent at `sent_ns` and received at `received_ns` (epoch), appended in the millisecond `append_ms`.
    fn note(&mut self, sent_ns: i64, received_ns: i64, append_ms: i64) {
        let append_ns = append_ms * MILLISECOND_NS;
        self.samples += 1;
        self.sum_ns += (append_ns - sent_ns) as f64;
        // Appended after it was sent and before it was received.
        let low = append_ns - received_ns;
        let high = append_ns + MILLISECOND_NS - sent_ns;
        self.offset_low_ns = Some(self.offset_low_ns.map_or(low, |so_far| so_far.max(low)));
        self.offset_high_ns = Some(self.offset_high_ns.map_or(high, |so_far| so_far.min(high)));
    }

    /// Adds what another consumer saw.
    pub(crate) fn absorb(&mut self, other: &Appends) {
        self.samples += other.samples;
        self.sum_ns += other.sum_ns;
        self.offset_low_ns = [self.offset_low_ns, other.offset_low_ns].into_iter().flatten().max();
        self.offset_high_ns = [self.offset_high_ns, other.offset_high_ns].into_iter().flatten().min();
    }
}

impl Received {
    /// Room for the records of so many partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        let offsets = ReadOffsets::new(partitions);
        Received { offsets, last_received_ns: vec![0; partitions], ..Received::default() }
    }

    /// Notes a record.
    #[inline]
    pub(crate) fn note(
        &mut self,
        shared: &Shared<'_>,
        record: &Record<'_>,
        now: u64,
        seconds: &mut Seconds<'_>,
    ) {
        self.offsets.note(record.partition, record.offset);
        let reading = Stamp::read(record.stamp_bytes);
        if shared.takes_any_run() {
            return self.note_of_any_run(shared, reading, record, now, seconds);
        }
        let stamp = match reading {
            Reading::Stamped(stamp) if stamp.run == shared.run => stamp,
            Reading::Stamped(_) | Reading::Foreign => {
                self.foreign += 1;
                return;
            }
            Reading::Damaged => {
                self.corrupt += 1;
                return;
            }
        };
        if stamp.part != Part::Probe && !has_its_size(shared, record) {
            self.corrupt += 1;
        }
        match stamp.part {
            Part::Probe => shared.probe_received(record.partition),
            Part::WarmUp | Part::Measured if shared.saturating => {
                let mut counted = Counted::default();
                self.note_counted(shared, record, &stamp, &mut counted);
                self.end_counted(&counted, now, seconds);
            }
            Part::WarmUp => {
                if shared.counts_backlog() {
                    self.count(record, now);
                }
                self.warm_up_arrivals.note(stamp.producer, record.partition, stamp.sequence);
                note_times(shared, &stamp, now, seconds);
            }
            Part::Measured => self.note_measured(shared, record, &stamp, now, seconds),
        }
    }

    /// Notes a record of a load without latency, if it is one of this run and no probe; else leaves it to
    /// [`Received::note`]. What is the same for all records of a batch is noted by [`Received::end_counted`].
    #[inline]
    pub(crate) fn note_if_counted(
        &mut self,
        shared: &Shared<'_>,
        record: &Record<'_>,
        counted: &mut Counted,
    ) -> bool {
        match Stamp::read(record.stamp_bytes) {
            Reading::Stamped(stamp) if stamp.run == shared.run && stamp.part != Part::Probe => {
                self.offsets.note(record.partition, record.offset);
                self.corrupt += u64::from(!has_its_size(shared, record));
                self.note_counted(shared, record, &stamp, counted);
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn note_counted(
        &mut self,
        shared: &Shared<'_>,
        record: &Record<'_>,
        stamp: &Stamp,
        counted: &mut Counted,
    ) {
        if stamp.part == Part::Measured {
            self.arrivals.note(stamp.producer, record.partition, stamp.sequence);
            counted.measured += 1;
            counted.bytes += record.value_bytes as u64;
        } else {
            self.warm_up_arrivals.note(stamp.producer, record.partition, stamp.sequence);
            counted.warm_up += 1;
            if shared.counts_backlog() {
                counted.backlog += 1;
                counted.bytes += record.value_bytes as u64;
            }
        }
    }

    /// The records that were counted came now.
    pub(crate) fn end_counted(&mut self, counted: &Counted, now: u64, seconds: &mut Seconds<'_>) {
        if counted.measured + counted.backlog > 0 {
            self.records += counted.measured + counted.backlog;
            self.bytes += counted.bytes;
            self.last_ns = Some(now);
        }
        if counted.measured > 0 {
            seconds.at(now, false).received += counted.measured;
        }
        if counted.warm_up > 0 {
            seconds.at(now, true).received += counted.warm_up;
        }
    }

    fn note_measured(
        &mut self,
        shared: &Shared<'_>,
        record: &Record<'_>,
        stamp: &Stamp,
        now: u64,
        seconds: &mut Seconds<'_>,
    ) {
        let before_ns = self.received_before(record.partition, now);
        self.count(record, now);
        if !self.arrivals.note_first(stamp.producer, record.partition, stamp.sequence) {
            return;
        }
        let (stamp, origin) = shared.sender_clocks().on_this_clock(stamp);
        self.catch_up_at_most_sum_ns += before_ns.saturating_sub(stamp.sent_ns) as f64;
        // The append time of a message beside its send time, both of the epoch: of one host's clock alone.
        if let (Some(append_ms), None) = (record.append_time_ms, origin) {
            self.appends.note(shared.epoch_ns(stamp.sent_ns), shared.epoch_ns(now), append_ms);
        }
        note_span(origin, &stamp, now, seconds);
    }

    /// The time of the partition's record before this one, 0 for the first; notes that this one came now.
    fn received_before(&mut self, partition: i32, now: u64) -> u64 {
        let place = usize::try_from(partition).ok().and_then(|at| self.last_received_ns.get_mut(at));
        place.map_or(0, |before| std::mem::replace(before, now))
    }

    fn count(&mut self, record: &Record<'_>, now: u64) {
        self.records += 1;
        self.bytes += record.value_bytes as u64;
        self.last_ns = Some(now);
    }

    /// A record of a topic that is read as it is: every one counts, and those of the first run that is met are verified.
    fn note_of_any_run(
        &mut self,
        shared: &Shared<'_>,
        reading: Reading,
        record: &Record<'_>,
        now: u64,
        seconds: &mut Seconds<'_>,
    ) {
        if shared.is_behind_end(record.partition, record.offset) {
            return;
        }
        self.count(record, now);
        seconds.at(now, false).received += 1;
        match reading {
            Reading::Stamped(stamp) if stamp.part == Part::Measured => {
                if shared.verifies(stamp.run) {
                    self.arrivals.note(stamp.producer, record.partition, stamp.sequence);
                }
            }
            Reading::Stamped(_) => {}
            Reading::Foreign => self.foreign += 1,
            Reading::Damaged => self.corrupt += 1,
        }
    }
}

/// True unless all values of the load have one size and this one has another: then somebody changed it.
#[inline]
fn has_its_size(shared: &Shared<'_>, record: &Record<'_>) -> bool {
    match &shared.load.size {
        SizePlan::Fixed(bytes) => record.value_bytes == bytes.as_usize(),
        SizePlan::Mix(_) => true,
    }
}

fn note_times(shared: &Shared<'_>, stamp: &Stamp, now: u64, seconds: &mut Seconds<'_>) {
    let (stamp, origin) = shared.sender_clocks().on_this_clock(stamp);
    note_span(origin, &stamp, now, seconds);
}

fn note_span(origin: Option<Origin>, stamp: &Stamp, now: u64, seconds: &mut Seconds<'_>) {
    let second = seconds.at_from(origin, now, stamp.part != Part::Measured);
    second.received += 1;
    second.response.record_span(stamp.intended_ns, now);
    second.service.record_span(stamp.sent_ns, now);
}

#[cfg(test)]
mod tests;
