//! The log of one partition: batches as they arrived, under the offsets given here.
//!
//! Keeps no more than its limit. Readers see records below the visible end only, which a fault may hold behind the end.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;

use super::batch::{Batch, Record};

/// The part of the produced records that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// All of it, in memory.
    Everything,
    /// Nothing: offsets move on, there is nothing to fetch.
    Nothing,
    /// The newest bytes of each partition, in whole batches.
    Last(usize),
}

#[derive(Debug, Default)]
pub(super) struct Log {
    batches: VecDeque<StoredBatch>,
    start: i64,
    end: i64,
    visible_end: i64,
    kept_bytes: usize,
    /// A record that waits to be stored after its successor.
    pub(super) held: Option<Record>,
}

#[derive(Debug)]
struct StoredBatch {
    first: i64,
    last: i64,
    max_timestamp_ms: i64,
    bytes: Bytes,
}

impl Log {
    pub(super) fn start(&self) -> i64 {
        self.start
    }

    pub(super) fn end(&self) -> i64 {
        self.end
    }

    pub(super) fn visible_end(&self) -> i64 {
        self.visible_end
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Appends behind the end. Not visible before [`Log::show`].
    pub(super) fn append(&mut self, batch: &Batch, keep: Keep) {
        let first = self.end;
        self.end += batch.count() as i64;
        let limit_bytes = match keep {
            Keep::Everything => usize::MAX,
            Keep::Last(bytes) => bytes,
            Keep::Nothing => {
                self.start = self.end;
                return;
            }
        };
        let bytes = batch.placed_at(first);
        self.kept_bytes += bytes.len();
        let (last, max_timestamp_ms) = (self.end - 1, batch.max_timestamp_ms());
        self.batches.push_back(StoredBatch { first, last, max_timestamp_ms, bytes });
        while self.kept_bytes > limit_bytes
            && let Some(oldest) = self.batches.pop_front()
        {
            self.kept_bytes -= oldest.bytes.len();
            self.start = oldest.last + 1;
        }
    }

    /// Deletes what lies below an offset, as retention does and as a client may ask for.
    pub(super) fn delete_below(&mut self, offset: i64) {
        self.start = self.start.max(offset.min(self.end));
        let gone = self.batches.partition_point(|kept| kept.last < self.start);
        self.kept_bytes -= self.batches.drain(..gone).map(|kept| kept.bytes.len()).sum::<usize>();
    }

    /// Moves the end on without records for readers: there is a marker of a transaction, or what compaction removed.
    pub(super) fn leave_gap(&mut self, offsets: i64) {
        self.end += offsets;
    }

    /// Lets readers see everything below `end`.
    pub(super) fn show(&mut self, end: i64) {
        self.visible_end = self.visible_end.max(end.min(self.end));
    }

    /// The number of bytes that a reader at `offset` would get, counted up to `limit_bytes`.
    pub(super) fn readable_bytes(&self, offset: i64, limit_bytes: usize) -> Result<usize, ResponseError> {
        let mut bytes = 0;
        for kept in self.readable(offset)? {
            bytes += kept.bytes.len();
            if bytes >= limit_bytes {
                break;
            }
        }
        Ok(bytes)
    }

    /// Whole batches from the one with `offset` on: the first in any case, more while they fit.
    pub(super) fn read(&self, offset: i64, limit_bytes: usize) -> Result<Bytes, ResponseError> {
        let mut batches = self.readable(offset)?;
        let Some(first) = batches.next() else { return Ok(Bytes::new()) };
        let mut more = batches.peekable();
        if more.peek().is_none() {
            return Ok(first.bytes.clone());
        }
        let mut bytes = BytesMut::from(&first.bytes[..]);
        for kept in more {
            if bytes.len() + kept.bytes.len() > limit_bytes {
                break;
            }
            bytes.extend_from_slice(&kept.bytes);
        }
        Ok(bytes.freeze())
    }

    /// The first offset of the first batch that has a record of `timestamp_ms` or later.
    pub(super) fn offset_at(&self, timestamp_ms: i64) -> Option<(i64, i64)> {
        let found = self.batches.iter().find(|kept| kept.max_timestamp_ms >= timestamp_ms)?;
        Some((found.first, found.max_timestamp_ms))
    }

    fn readable(&self, offset: i64) -> Result<impl Iterator<Item = &StoredBatch>, ResponseError> {
        if offset < self.start.min(self.visible_end) || offset > self.end {
            return Err(ResponseError::OffsetOutOfRange);
        }
        let from = self.batches.partition_point(|kept| kept.last < offset);
        let to = self.batches.partition_point(|kept| kept.last < self.visible_end);
        Ok(self.batches.range(from.min(to)..to))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::batch::made, *};

    fn filled(keep: Keep, batches: usize) -> Log {
        let mut log = Log::default();
        for _ in 0..batches {
            log.append(&made::batch(&["a", "b"]), keep);
            log.show(log.end());
        }
        log
    }

    #[test]
    fn a_read_starts_with_the_batch_of_its_offset_and_takes_what_fits() {
        let log = filled(Keep::Everything, 3);
        let one = log.kept_bytes() / 3;
        assert_eq!(log.read(3, 1).unwrap().len(), one);
        assert_eq!(log.read(0, 2 * one).unwrap().len(), 2 * one);
        assert_eq!(&log.read(3, one).unwrap()[..8], &2_i64.to_be_bytes());
        assert_eq!(log.readable_bytes(2, usize::MAX).unwrap(), 2 * one);
        assert!(log.read(6, one).unwrap().is_empty());
    }

    #[test]
    fn offsets_outside_of_the_log_are_out_of_range() {
        let log = filled(Keep::Everything, 1);
        assert_eq!(log.read(3, 1), Err(ResponseError::OffsetOutOfRange));
        assert_eq!(log.read(-1, 1), Err(ResponseError::OffsetOutOfRange));
    }

    #[test]
    fn only_the_newest_batches_within_the_limit_stay() {
        let one = filled(Keep::Everything, 1).kept_bytes();
        let log = filled(Keep::Last(2 * one + 1), 5);
        assert_eq!((log.start(), log.end(), log.kept_bytes()), (6, 10, 2 * one));
        assert_eq!(log.read(0, 1), Err(ResponseError::OffsetOutOfRange));
    }

    #[test]
    fn a_log_that_keeps_nothing_still_counts() {
        let log = filled(Keep::Nothing, 5);
        assert_eq!((log.start(), log.end(), log.kept_bytes()), (10, 10, 0));
        assert!(log.read(10, 1).unwrap().is_empty());
    }

    #[test]
    fn what_is_deleted_is_out_of_range_and_a_gap_is_passed_over() {
        let mut log = filled(Keep::Everything, 1);
        log.leave_gap(3);
        log.append(&made::batch(&["c"]), Keep::Everything);
        log.show(log.end());
        assert_eq!(log.end(), 6);
        assert_eq!(&log.read(2, 1).unwrap()[..8], &5_i64.to_be_bytes());
        log.delete_below(1);
        assert_eq!((log.start(), log.read(0, 1)), (1, Err(ResponseError::OffsetOutOfRange)));
        assert_eq!(&log.read(1, 1).unwrap()[..8], &0_i64.to_be_bytes(), "whole batches stay");
        let both = log.kept_bytes();
        log.delete_below(4);
        assert!(log.kept_bytes() < both);
        log.delete_below(99);
        assert_eq!((log.start(), log.kept_bytes()), (6, 0));
    }

    #[test]
    fn records_behind_the_visible_end_are_not_read() {
        let mut log = filled(Keep::Everything, 1);
        log.append(&made::batch(&["c"]), Keep::Everything);
        assert!(log.read(2, 1).unwrap().is_empty());
        log.show(3);
        assert!(!log.read(2, 1).unwrap().is_empty());
    }
}
