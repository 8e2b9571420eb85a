//! Records that no consumer was given although the logs had them: deleted or compacted away before they were read, and offsets at
//! which there is no record for consumers. None of it is loss.
//!
//! Both are told by offsets: an acknowledgement names the one that its record has, and consumers tell those that they were
//! given.

use crate::acknowledged::Acknowledged;
use crate::verify::{RunningSet, SequenceSet};
use serde::{Deserialize, Serialize};

/// The offsets that consumers were given a record at, by partition.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadOffsets {
    partitions: Vec<RunningSet>,
}

impl ReadOffsets {
    /// Room for so many partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        let mut offsets = ReadOffsets::default();
        offsets.partitions.resize_with(partitions, RunningSet::default);
        offsets
    }

    /// A record was given.
    #[inline]
    pub(crate) fn note(&mut self, partition: i32, offset: i64) {
        let place = usize::try_from(partition).ok().and_then(|at| self.partitions.get_mut(at));
        if let (Some(offsets), Ok(offset)) = (place, u64::try_from(offset)) {
            offsets.note(offset);
        }
    }

    /// Adds what another consumer was given.
    pub(crate) fn absorb(&mut self, other: ReadOffsets) {
        if self.partitions.len() < other.partitions.len() {
            self.partitions.resize_with(other.partitions.len(), RunningSet::default);
        }
        for (mine, theirs) in self.partitions.iter_mut().zip(other.partitions) {
            mine.take_in(theirs);
        }
    }

    fn offsets_of(&mut self, partition: usize) -> Option<&SequenceSet> {
        let offsets = self.partitions.get_mut(partition)?;
        offsets.end_run();
        Some(offsets.set())
    }
}

/// A partition's log and how far it was read, once a block is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogRead {
    /// The end of the log before the block, or the begin of a log that is read as it is.
    pub(crate) from: i64,
    /// Its end at last.
    pub(crate) to: i64,
    /// The first offset that was still there at last.
    pub(crate) start: i64,
    /// The offset up to which consumers came.
    pub(crate) position: i64,
    /// Older records of a key may be removed from it.
    pub(crate) compacted: bool,
}

/// The records that were not given to consumers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    /// Measured records that were acknowledged and deleted or compacted away.
    pub(crate) removed: u64,
    /// The same with those that were not measured: a backlog is built by a warm-up.
    pub(crate) removed_of_all: u64,
    /// Offsets that were deleted, whoever wrote there.
    pub(crate) deleted: u64,
    /// Offsets that were deleted or passed over, and that no acknowledgement accounts for.
    pub(crate) gaps: u64,
}

/// The records of the logs that consumers were not given, one entry for each partition.
pub(crate) fn unread(acknowledged: &mut Acknowledged, read: &mut ReadOffsets, logs: &[LogRead]) -> Unread {
    let nothing = SequenceSet::default();
    let mut unread = Unread::default();
    for (at, log) in logs.iter().enumerate() {
        let read = read.offsets_of(at).unwrap_or(&nothing);
        let [from, to, start, position] =
            [log.from, log.to, log.start, log.position].map(|offset| offset.max(0).unsigned_abs());
        let deleted = from..start.min(to).max(from);
        let passed = from..position.max(start).min(to).max(from);
        // Consumers that were given all acknowledged records and then nothing more had come to the end: behind it are markers of
        // transactions and aborted records, which move no position.
        let passed =
            if acknowledged.names_none_of(at, &(passed.end..to)) { from..to.max(from) } else { passed };
        let removed = if log.compacted { passed.clone() } else { deleted.clone() };
        let told = acknowledged.unread_of(at, read, &removed);
        unread.removed += told.measured;
        unread.removed_of_all += told.all;
        unread.deleted += deleted.end - from - read.within(&deleted);
        unread.gaps += acknowledged.unnamed_of(at, read, &passed).saturating_sub(told.without_offset);
    }
    unread
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One partition, from 10 on: `warm_up` and then `measured` records were acknowledged.
    fn acknowledged(warm_up: u64, measured: u64) -> Acknowledged {
        let mut told = Acknowledged::default();
        told.note(0, 10, warm_up, false);
        told.note(0, 10 + warm_up.cast_signed(), measured, true);
        told
    }

    /// The records that were given: from one offset to before another, once or more often.
    fn read(runs: &[(i64, i64)]) -> ReadOffsets {
        let mut read = ReadOffsets::new(1);
        runs.iter().flat_map(|(from, to)| *from..*to).for_each(|offset| read.note(0, offset));
        read
    }

    fn log(start: i64, position: i64, to: i64) -> LogRead {
        LogRead { from: 10, to, start, position, compacted: false }
    }

    #[test]
    fn where_all_was_read_nothing_is_removed_and_there_are_no_gaps() {
        let mut all = acknowledged(2, 8);
        assert_eq!(unread(&mut all, &mut read(&[(10, 20)]), &[log(0, 20, 20)]), Unread::default());
        // That the log's start moved behind what had been read takes nothing away.
        assert_eq!(unread(&mut all, &mut read(&[(10, 20)]), &[log(17, 20, 20)]), Unread::default());
    }

    #[test]
    fn what_was_deleted_before_it_was_read_is_removed_and_what_is_there_and_unread_is_not() {
        // Read to 13, deleted below 16; 18 is there and was not read.
        let mut told = acknowledged(5, 5);
        let out = unread(&mut told, &mut read(&[(10, 13), (16, 18), (19, 20)]), &[log(16, 20, 20)]);
        assert_eq!(
            out,
            Unread { removed: 1, removed_of_all: 3, deleted: 3, gaps: 0 },
            "13 and 14 are of the warm-up"
        );
        let mut told = acknowledged(0, 10);
        let out = unread(&mut told, &mut read(&[(10, 13), (16, 18), (19, 20)]), &[log(16, 20, 20)]);
        assert_eq!(out, Unread { removed: 3, removed_of_all: 3, deleted: 3, gaps: 0 });
    }

    #[test]
    fn a_log_that_is_empty_at_last_was_deleted_to_its_end() {
        let out = unread(&mut acknowledged(0, 10), &mut read(&[(10, 12)]), &[log(20, 12, 20)]);
        assert_eq!(out, Unread { removed: 8, removed_of_all: 8, deleted: 8, gaps: 0 });
    }

    #[test]
    fn what_a_compacted_log_passes_over_is_removed_and_what_was_not_reached_is_not() {
        let compacted = LogRead { compacted: true, ..log(0, 18, 20) };
        let out = unread(&mut acknowledged(0, 10), &mut read(&[(10, 13), (16, 18)]), &[compacted]);
        assert_eq!(
            out,
            Unread { removed: 3, removed_of_all: 3, deleted: 0, gaps: 0 },
            "18 and 19 were not reached"
        );
        let out = unread(&mut acknowledged(0, 10), &mut read(&[(10, 13), (16, 18)]), &[log(0, 18, 20)]);
        assert_eq!(out, Unread::default(), "a log that is not compacted has no such excuse");
    }

    #[test]
    fn offsets_that_nobody_was_told_and_nobody_was_given_are_gaps_and_so_is_the_end_behind_all_that_was_acknowledged()
     {
        let mut told = Acknowledged::default();
        told.note(0, 10, 3, true);
        told.note(0, 14, 3, true);
        // A marker at 13; one more at the end, which moves no position of a consumer that tells of records alone.
        assert_eq!(unread(&mut told, &mut read(&[(10, 13), (14, 17)]), &[log(0, 17, 18)]).gaps, 2);
        // Who has not come to what was acknowledged has not come to the end.
        assert_eq!(unread(&mut told, &mut read(&[(10, 13), (14, 16)]), &[log(0, 16, 18)]).gaps, 1);
        assert_eq!(unread(&mut told, &mut read(&[(10, 13), (14, 17)]), &[log(0, 18, 18)]).gaps, 2);
        // Others' records that were read are no gaps, whoever wrote them.
        assert_eq!(unread(&mut told, &mut read(&[(10, 18)]), &[log(0, 18, 18)]).gaps, 0);
    }

    #[test]
    fn without_offsets_as_many_as_have_none_are_taken_to_be_those_that_were_deleted() {
        let mut told = Acknowledged::default();
        told.note(0, -1, 2, false);
        told.note(0, -1, 8, true);
        let out = unread(&mut told, &mut read(&[(15, 20)]), &[log(15, 20, 20)]);
        assert_eq!(out, Unread { removed: 5, removed_of_all: 5, deleted: 5, gaps: 0 });
        let out = unread(&mut told, &mut read(&[(30, 40)]), &[log(30, 40, 40)]);
        assert_eq!(
            out,
            Unread { removed: 8, removed_of_all: 10, deleted: 20, gaps: 10 },
            "others wrote ten of them"
        );
    }

    #[test]
    fn a_log_that_is_read_as_it_is_has_gaps_where_no_record_was_given() {
        let out = unread(&mut Acknowledged::default(), &mut read(&[(12, 15), (16, 20)]), &[log(12, 20, 20)]);
        assert_eq!(out, Unread { removed: 0, removed_of_all: 0, deleted: 2, gaps: 3 });
    }

    #[test]
    fn what_several_consumers_were_given_is_put_together() {
        let mut both = read(&[(10, 13)]);
        both.absorb(read(&[(13, 20)]));
        assert_eq!(unread(&mut acknowledged(0, 10), &mut both, &[log(20, 20, 20)]), Unread::default());
    }
}
