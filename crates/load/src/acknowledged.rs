//! The brokers' acknowledgements, each of which names the offset of a record, held against the begin and end of each partition's
//! log: partition by partition, so that a record that is missing here and one too many there do not cancel out.

use crate::verify::{RunningSet, SequenceSet};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The acknowledgements of a block, by partition.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Acknowledged {
    partitions: Vec<Partition>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Partition {
    offsets: RunningSet,
    /// The records of probes and of the warm-up among these.
    unmeasured: RunningSet,
    /// Acknowledged without an offset: with acks=0, or as a batch that the broker had already.
    unnamed: u64,
    /// The measured records among these.
    unnamed_measured: u64,
}

/// Acknowledged records that no consumer was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NotGiven {
    /// The measured records.
    pub(crate) measured: u64,
    /// All of them: those of probes and of the warm-up too.
    pub(crate) all: u64,
    /// Those, measured or not, whose offset is not known.
    pub(crate) without_offset: u64,
}

/// The result of holding acknowledgements against the logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// Acknowledged, and not in what the logs grew by.
    pub(crate) missing: u64,
    /// Records among these whose offset is another record's too. That is certain wherever the logs end.
    pub(crate) repeated: u64,
    /// Records by which the logs grew that were acknowledged to nobody here.
    pub(crate) surplus: u64,
}

impl Acknowledged {
    /// Notes that so many records of a partition were acknowledged, the first at an offset and the others behind it; below 0 the
    /// offset is not known.
    #[inline]
    pub(crate) fn note(&mut self, partition: i32, offset: i64, records: u64, measured: bool) {
        let Ok(at) = usize::try_from(partition) else { return };
        if self.partitions.len() <= at {
            self.partitions.resize_with(at + 1, Partition::default);
        }
        let partition = &mut self.partitions[at];
        let Ok(first) = u64::try_from(offset) else {
            partition.unnamed += records;
            partition.unnamed_measured += if measured { records } else { 0 };
            return;
        };
        partition.offsets.note_run(first, records);
        if !measured {
            partition.unmeasured.note_run(first, records);
        }
    }

    /// The same with one more run of measured records.
    #[cfg(test)]
    pub(crate) fn with(mut self, partition: i32, offset: i64, records: u64) -> Self {
        self.note(partition, offset, records, true);
        self
    }

    /// Adds what another producer was told.
    pub(crate) fn absorb(&mut self, other: Acknowledged) {
        if self.partitions.len() < other.partitions.len() {
            self.partitions.resize_with(other.partitions.len(), Partition::default);
        }
        for (mine, theirs) in self.partitions.iter_mut().zip(other.partitions) {
            mine.unnamed += theirs.unnamed;
            mine.unnamed_measured += theirs.unnamed_measured;
            mine.offsets.take_in(theirs.offsets);
            mine.unmeasured.take_in(theirs.unmeasured);
        }
    }

    /// Records acknowledged in a range of a partition's offsets and not among those that were read. Where nobody names them, the
    /// offsets that no acknowledgement names are taken to be theirs.
    pub(crate) fn unread_of(&mut self, at: usize, read: &SequenceSet, range: &Range<u64>) -> NotGiven {
        let unnamed = self.unnamed_of(at, read, range);
        let Some(partition) = self.partitions.get_mut(at) else { return NotGiven::default() };
        partition.unmeasured.end_run();
        let named = partition.offsets.set().beyond(read, range);
        let unmeasured = partition.unmeasured.set().beyond(read, range);
        NotGiven {
            measured: named.saturating_sub(unmeasured) + partition.unnamed_measured.min(unnamed),
            all: named + partition.unnamed.min(unnamed),
            without_offset: partition.unnamed.min(unnamed),
        }
    }

    /// True where every acknowledgement of a partition named an offset, and none of them in this range.
    pub(crate) fn names_none_of(&mut self, at: usize, range: &Range<u64>) -> bool {
        self.partitions.get_mut(at).is_some_and(|partition| {
            partition.offsets.end_run();
            partition.unnamed == 0 && partition.offsets.set().within(range) == 0
        })
    }

    /// Offsets in a range of a partition's that no acknowledgement names and that were not read.
    pub(crate) fn unnamed_of(&mut self, at: usize, read: &SequenceSet, range: &Range<u64>) -> u64 {
        let nothing = SequenceSet::default();
        let named = match self.partitions.get_mut(at) {
            Some(partition) => {
                partition.offsets.end_run();
                partition.offsets.set()
            }
            None => &nothing,
        };
        (range.end - range.start).saturating_sub(named.within(range) + read.beyond(named, range))
    }

    /// Records acknowledged at an offset from `readable` on, and in the log, which ends at `end`: consumers could not read them when the
    /// first was asked.
    pub(crate) fn not_readable(&mut self, readable: &[i64], end: &[i64]) -> u64 {
        let bounds = readable.iter().zip(end);
        let each = self.partitions.iter_mut().zip(bounds).map(|(partition, (readable, end))| {
            partition.offsets.end_run();
            let below = |offset: i64| partition.offsets.set().below(offset.max(0).unsigned_abs());
            below(*end).saturating_sub(below(*readable))
        });
        each.sum()
    }

    /// Holds the acknowledgements against the logs, which grew from one offset to another each. A log that was cut back below
    /// where it began has not grown.
    pub(crate) fn held_against(&mut self, from: &[i64], to: &[i64]) -> Held {
        let nothing = Partition::default();
        let mut held = Held::default();
        for (at, (from, to)) in from.iter().zip(to).enumerate() {
            if let Some(partition) = self.partitions.get_mut(at) {
                partition.offsets.end_run();
            }
            let partition = self.partitions.get(at).unwrap_or(&nothing);
            held.add(partition, from.max(&0).unsigned_abs(), to.max(from).max(&0).unsigned_abs());
        }
        held
    }
}

impl Held {
    fn add(&mut self, partition: &Partition, from: u64, to: u64) {
        let offsets: &SequenceSet = partition.offsets.set();
        let repeated = partition.offsets.repeated();
        let named = offsets.below(to) - offsets.below(from);
        // Where nobody names them, the records that no acknowledgement names are taken to be those.
        let left = to - from - named;
        self.repeated += repeated;
        self.missing += repeated + (offsets.len() - named) + partition.unnamed.saturating_sub(left);
        self.surplus += left.saturating_sub(partition.unnamed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(missing: u64, repeated: u64, surplus: u64) -> Held {
        Held { missing, repeated, surplus }
    }

    #[test]
    fn what_was_acknowledged_behind_the_high_watermark_and_is_in_the_log_could_not_be_read() {
        let mut told = Acknowledged::default().with(0, 0, 10).with(1, 0, 4);
        assert_eq!(told.not_readable(&[6, 4], &[10, 4]), 4);
        assert_eq!(told.not_readable(&[6, 4], &[8, 4]), 2, "what is behind the log's end is not in it");
        assert_eq!(told.not_readable(&[10, 4], &[10, 4]), 0);
    }

    #[test]
    fn a_log_that_holds_what_was_acknowledged_has_nothing_missing_and_nothing_over() {
        let mut told = Acknowledged::default().with(0, 5, 3).with(0, 8, 1).with(0, 9, 1).with(1, 0, 2);
        assert_eq!(told.held_against(&[5, 0], &[10, 2]), held(0, 0, 0));
    }

    #[test]
    fn one_lost_in_a_partition_and_one_doubled_in_another_do_not_cancel_out() {
        let mut told = Acknowledged::default().with(0, 0, 5).with(1, 0, 5);
        assert_eq!(told.held_against(&[0, 0], &[4, 6]), held(1, 0, 1));
    }

    #[test]
    fn one_lost_and_one_doubled_in_the_same_partition_do_not_cancel_out() {
        // The third was dropped, so the fourth has its offset; the fourth is there twice.
        let mut told =
            Acknowledged::default().with(0, 0, 1).with(0, 1, 1).with(0, 2, 1).with(0, 2, 1).with(0, 4, 1);
        assert_eq!(told.held_against(&[0], &[5]), held(1, 1, 1));
    }

    #[test]
    fn producers_that_were_told_the_same_offset_are_found_and_others_are_put_together() {
        let mut all = Acknowledged::default();
        all.absorb(Acknowledged::default().with(0, 0, 3).with(0, 1, 1));
        all.absorb(Acknowledged::default().with(0, 2, 2).with(1, 0, 1));
        assert_eq!(all.held_against(&[0, 0], &[4, 1]), held(2, 2, 0));
    }

    #[test]
    fn a_log_that_was_cut_back_misses_what_was_acknowledged_behind_its_end() {
        let mut told = Acknowledged::default().with(0, 100, 50);
        assert_eq!(told.held_against(&[100], &[130]), held(20, 0, 0));
        assert_eq!(told.held_against(&[100], &[90]), held(50, 0, 0), "below where it began");
    }

    #[test]
    fn acknowledgements_without_offsets_are_counted_against_their_own_partition() {
        let mut told = Acknowledged::default().with(0, -1, 5).with(1, -1, 5);
        assert_eq!(told.held_against(&[0, 0], &[3, 7]), held(2, 0, 2));
        assert_eq!(told.held_against(&[0, 0], &[5, 5]), held(0, 0, 0));
    }

    #[test]
    fn records_that_nobody_here_sent_and_markers_of_transactions_are_over() {
        let mut told = Acknowledged::default().with(0, 0, 2).with(0, 3, 2);
        assert_eq!(told.held_against(&[0], &[6]), held(0, 0, 2));
    }
}
