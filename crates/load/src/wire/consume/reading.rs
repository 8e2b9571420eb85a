//! Reads a fetched response where it lies: every batch's checksum, every record's stamp, and how far its partition is.

use super::super::cluster::ClusterView;
use crate::consume::{Counted, Received, Record};
use crate::payload::StampPlace;
use crate::seconds::Seconds;
use crate::shared::Shared;
use crate::stamp::STAMP_HEADER;
use plumb_wire::compression::Decompressor;
use plumb_wire::error::ErrorCode;
use plumb_wire::fetch::FetchedPartition;
use plumb_wire::record::{BatchView, RecordView, TimestampType, batches};
use std::sync::mpsc::{Receiver, TryRecvError};

/// Pause before a partition that answered with an error is asked for again.
const RETRY_NS: u64 = 50_000_000;
/// The least that a record takes.
const RECORD_BYTES_LEAST: u64 = 7;
/// The offset is not in the log.
const OFFSET_OUT_OF_RANGE: ErrorCode = ErrorCode(1);

/// The position of a consumer in a partition.
#[derive(Debug)]
pub(super) struct ReadPosition {
    pub(super) offset: i64,
    /// The time before which it is not asked for.
    retry_at_ns: u64,
    /// True if its bytes cannot be read: it is not asked for again.
    broken: bool,
    /// The begin of its log, once that is told: the offset that was asked for is not there any more.
    start: Option<Receiver<i64>>,
}

impl ReadPosition {
    pub(super) fn at(offset: i64) -> Self {
        ReadPosition { offset, retry_at_ns: 0, broken: false, start: None }
    }

    /// True if it is to be asked for now.
    pub(super) fn is_wanted(&self, now: u64) -> bool {
        !self.broken && self.start.is_none() && self.retry_at_ns <= now
    }
}

/// The state by which a response is read, apart from the connection that it lies in.
pub(super) struct Reading<'b, 'a> {
    pub(super) shared: &'b Shared<'a>,
    pub(super) view: &'b ClusterView,
    pub(super) stamp_place: Option<StampPlace>,
    pub(super) places: Vec<ReadPosition>,
    pub(super) scratch: Decompressor,
    pub(super) received: Received,
    /// The number of logs that are being asked for their begin.
    pub(super) starts_asked: usize,
    pub(super) seconds: Seconds<'b>,
}

impl Reading<'_, '_> {
    pub(super) fn answered(&mut self, code: ErrorCode) {
        if !code.is_ok() {
            self.note(code);
        }
    }

    fn note(&mut self, code: ErrorCode) {
        let name = code.name().map_or_else(|| format!("ERROR_{}", code.0), str::to_owned);
        self.received.errors.note("consume", &name, &format!("the broker answered {name}"));
    }

    /// Goes on at the beginning of logs that began behind where they were to be read, as far as their leaders told.
    pub(super) fn go_on_at_log_starts(&mut self) {
        if self.starts_asked == 0 {
            return;
        }
        for (at, place) in self.places.iter_mut().enumerate() {
            let told = place.start.as_ref().map(Receiver::try_recv);
            match told {
                None | Some(Err(TryRecvError::Empty)) => continue,
                Some(Ok(start)) => {
                    place.offset = start.max(place.offset);
                    self.shared.reached(i32::try_from(at).unwrap_or(i32::MAX), place.offset);
                }
                // It is refused once more, and asked for again.
                Some(Err(TryRecvError::Disconnected)) => {}
            }
            place.start = None;
            self.starts_asked -= 1;
        }
    }

    /// Reads what came of one partition.
    pub(super) fn partition(&mut self, fetched: &FetchedPartition<'_>, now: u64) {
        let Some(at) = usize::try_from(fetched.index).ok().filter(|at| *at < self.places.len()) else {
            return;
        };
        if !fetched.error_code.is_ok() {
            self.places[at].retry_at_ns = now + RETRY_NS;
            if fetched.error_code.asks_for_metadata() {
                self.view.ask_again();
            } else {
                self.note(fetched.error_code);
            }
            if fetched.error_code == OFFSET_OUT_OF_RANGE {
                self.places[at].start = Some(self.view.ask_log_start(fetched.index));
                self.starts_asked += 1;
            }
            return;
        }
        for batch in batches(fetched.records) {
            match batch {
                Ok(batch) => self.batch(&batch, at, fetched.index, now),
                Err(error) => {
                    self.places[at].broken = true;
                    self.received.errors.note("consume", "UNREADABLE_BATCH", &super::super::chain(&error));
                    return;
                }
            }
        }
    }

    fn batch(&mut self, batch: &BatchView<'_>, at: usize, partition: i32, now: u64) {
        let from = self.places[at].offset;
        let next = batch.next_offset();
        if next <= from {
            return;
        }
        self.places[at].offset = next;
        if !batch.control {
            if !batch.crc_is_right() {
                // How many they are is in the damaged bytes too: no more than there is room for.
                self.received.corrupt +=
                    u64::from(batch.record_count).min(batch.bytes().len() as u64 / RECORD_BYTES_LEAST);
                self.received.errors.note("consume", "BAD_CRC", "the checksum of a batch is wrong");
            } else if let Err(error) = self.records(batch, partition, from, now) {
                self.received.errors.note("consume", "UNREADABLE_RECORD", &super::super::chain(&error));
            }
        }
        self.shared.reached(partition, next);
    }

    fn records(
        &mut self,
        batch: &BatchView<'_>,
        partition: i32,
        from: i64,
        now: u64,
    ) -> Result<(), plumb_wire::read::DecodeError> {
        let append_time_ms =
            (batch.timestamp_type == TimestampType::LogAppend).then_some(batch.max_timestamp_ms);
        let (mut count, mut counted) = (0, Counted::default());
        let mut damaged = None;
        let only_counted = self.shared.saturating && !self.shared.takes_any_run();
        for record in batch.records(&mut self.scratch)? {
            let record = match record {
                Ok(record) => record,
                // Those before it were read all the same.
                Err(error) => {
                    damaged = Some(error);
                    break;
                }
            };
            let offset = batch.offset(&record);
            if offset < from {
                continue;
            }
            count += 1;
            let value = record.value.unwrap_or_default();
            let stamp_bytes = match self.stamp_place {
                Some(StampPlace::Value) => value,
                Some(StampPlace::Header) | None => stamp_header(&record).unwrap_or(value),
            };
            let record = Record { partition, offset, stamp_bytes, value_bytes: value.len(), append_time_ms };
            if !(only_counted && self.received.note_if_counted(self.shared, &record, &mut counted)) {
                self.received.note(self.shared, &record, now, &mut self.seconds);
            }
        }
        self.received.end_counted(&counted, now, &mut self.seconds);
        self.shared.count_received(count);
        damaged.map_or(Ok(()), Err)
    }
}

/// The value of the header that carries stamps.
fn stamp_header<'m>(record: &RecordView<'m>) -> Option<&'m [u8]> {
    record.header(STAMP_HEADER.as_bytes()).ok().flatten()
}

#[cfg(test)]
mod tests;
