//! The way of a batch into the log: the faults on records, the offset that is answered, the time stamp, and when readers may see
//! it.

use std::time::{Duration, Instant};

use kafka_protocol::ResponseError;

use super::{
    batch::{Batch, Record},
    faults::{Faults, RecordFault, RecordPosition},
    log::Keep,
    producers::Admission,
    state::Core,
    stats::PartitionStats,
    topic::Partition,
    witness::{Answered, ArrivedRecord, monotonic_ns},
};

/// A batch for one partition.
pub(super) struct Arrival<'a> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) batch: Batch,
    pub(super) at: Instant,
    /// The same moment on the wall clock.
    pub(super) at_ms: i64,
    /// The answer to its request, where somebody wants to know when it is sent.
    pub(super) answered: Option<&'a Answered>,
}

/// The result of storing it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// The offset that the producer is told. A lie where records were dropped or swapped: as if they had not been.
    pub(super) base_offset: i64,
    pub(super) log_append_time_ms: Option<i64>,
    pub(super) log_start: i64,
    /// Records below this offset must be shown at this moment; `None`: nothing is to be done, they are visible or stay hidden.
    pub(super) show: Option<(i64, Instant)>,
}

impl Arrival<'_> {
    pub(super) fn store(
        self,
        core: &mut Core,
        keep: Keep,
        limit_bytes: usize,
    ) -> Result<Stored, ResponseError> {
        let Core { topics, faults, witnessed, .. } = &mut *core;
        let topic = topics.get_mut(self.topic).ok_or(ResponseError::UnknownTopicOrPartition)?;
        let limit_bytes = topic.message_limit_bytes().unwrap_or(limit_bytes);
        let stamped = topic.has_log_append_time();
        let first_in_topic = topic.arrived + 1;
        let place = usize::try_from(self.partition).ok();
        let partition = place.and_then(|place| topic.partitions.get_mut(place));
        let partition = partition.ok_or(ResponseError::UnknownTopicOrPartition)?;

        let count = self.batch.count();
        let admission = if self.batch.size_bytes() > limit_bytes {
            Err(ResponseError::MessageTooLarge)
        } else {
            partition.producers.admit(self.batch.sequence(), count)
        };
        match admission {
            Err(error) => {
                partition.counts.batches_refused += 1;
                return Err(error);
            }
            Ok(Admission::Repeated(base_offset)) => {
                partition.counts.repeated += count;
                let log_start = partition.log.start();
                return Ok(Stored { base_offset, log_append_time_ms: None, log_start, show: None });
            }
            Ok(Admission::Store) => {}
        }

        let arriving = first_in_topic..=first_in_topic + count - 1;
        partition.log.leave_gap(faults.gap_before(self.topic, &arriving));
        let base_offset = partition.log.end() + i64::from(partition.log.held.is_some());
        let whole = !faults.touches_records_of(self.topic) && partition.log.held.is_none();
        let first = RecordPosition { in_topic: first_in_topic, in_partition: partition.counts.arrived + 1 };
        let batch = if whole {
            Some(self.batch.clone())
        } else {
            let records = self.batch.records()?;
            let kept = self.rearranged(records, faults, first, partition);
            self.batch.holding(&kept)
        };
        let witness = witnessed.get_mut(self.topic).zip(self.answered);
        let to_tell = if witness.is_some() { self.batch.records()? } else { Vec::new() };
        let lie = faults.lies.get(self.topic).copied().unwrap_or_default();
        if let Some(batch) = &batch {
            partition.counts.stored += batch.count();
            match stamped {
                true => {
                    partition.log.append(&batch.with_log_append_time(self.at_ms + lie.stored_offset_ms), keep)
                }
                false => partition.log.append(batch, keep),
            }
        }
        if let Some(behind_first) = faults.deleted_before(self.topic, &arriving) {
            partition.log.delete_below(base_offset + behind_first.cast_signed());
        }
        partition.counts.arrived += count;
        partition.counts.batches += 1;
        partition.producers.stored(self.batch.sequence(), count, base_offset);
        let show = match faults.is_replicated(self.topic, *arriving.end()) {
            true => show(partition, self.at, faults.visibility_delay(self.topic)),
            false => None,
        };
        if let Some((witnessed, answered)) = witness {
            let at_ns = monotonic_ns(self.at);
            let shown_ns = show.map_or(at_ns, |(_, at)| at_ns + (at - self.at).as_nanos() as u64);
            let told = |(offset, record): (i64, &Record)| {
                let record = ArrivedRecord::of(record, self.partition, offset, at_ns, shown_ns)?;
                Some((record, answered.clone()))
            };
            witnessed.extend((base_offset..).zip(&to_tell).filter_map(told));
        }
        let stored = Stored {
            base_offset,
            log_append_time_ms: stamped.then_some(self.at_ms + lie.answered_offset_ms),
            log_start: partition.log.start(),
            show,
        };
        topic.arrived += count;
        for stall in core.faults.set_off(self.topic, &arriving) {
            core.stall(stall.apis, self.at, stall.duration);
        }
        Ok(stored)
    }

    /// The records to store, in the order of the log; a record to be swapped at the end of the batch stays behind as held.
    fn rearranged(
        &self,
        records: Vec<Record>,
        faults: &Faults,
        first: RecordPosition,
        partition: &mut Partition,
    ) -> Vec<Record> {
        let PartitionStats { dropped, duplicated, swapped, .. } = &mut partition.counts;
        let mut kept = Vec::with_capacity(records.len() + 1);
        for (step, record) in (0..).zip(records) {
            let place =
                RecordPosition { in_topic: first.in_topic + step, in_partition: first.in_partition + step };
            let has = |fault| faults.record_has(fault, self.topic, self.partition, place);
            if has(RecordFault::Drop) {
                *dropped += 1;
                continue;
            }
            if has(RecordFault::Swap) && partition.log.held.is_none() {
                *swapped += 1;
                partition.log.held = Some(record);
                continue;
            }
            if has(RecordFault::Duplicate) {
                *duplicated += 1;
                kept.push(record.clone());
            }
            kept.push(record);
            kept.extend(partition.log.held.take());
        }
        kept
    }
}

/// Shows what is in the log, now or later; never before what came earlier.
fn show(partition: &mut Partition, now: Instant, delay: Duration) -> Option<(i64, Instant)> {
    let end = partition.log.end();
    let at = partition.visible_at.map_or(now, |earlier| earlier.max(now)).max(now + delay);
    if at <= now {
        partition.log.show(end);
        return None;
    }
    partition.visible_at = Some(at);
    Some((end, at))
}
