//! A batch with what is known about its messages: filled, sealed, sent, kept until it is answered, used again.
//!
//! Where all records have the same shape, their bytes are prepared once: a batch that is filled again only gets its stamps
//! (and keys) patched. Where sizes vary or a file is walked, each record is put together anew.

use crate::job::MessageContents;
use crate::keys::KeySource;
use crate::payload::{PayloadSource, StampPlace, stamp_place};
use crate::stamp::{Part, Reading, STAMP_BYTES, STAMP_HEADER, Stamp};
use plumb_model::plan::{LoadPlan, Payload, SizePlan};
use plumb_wire::batch::{BatchBuffer, CompressedBatch, FixedPart, Full, RecordHeader, Seal};
use plumb_wire::compression::{CompressionError, Compressor};
use std::sync::Arc;

/// Headers of a record, with the one for the stamp.
const HEADERS_MOST: usize = 11;

/// The sources of the records of a producer.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) keys: KeySource,
    payloads: PayloadSource,
    place: StampPlace,
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// All records have the same shape.
    uniform: bool,
    records_most: usize,
    /// The part of the values that no stamp touches; absent where sizes vary.
    fixed_part: Option<Arc<FixedPart>>,
    /// The value is drawn and in no batch yet.
    value_waits: bool,
}

impl Content {
    pub(super) fn new(load: &LoadPlan, contents: MessageContents, records_most: usize) -> Self {
        let MessageContents { keys, payloads } = contents;
        let place = stamp_place(load);
        let mut headers: Vec<_> = load
            .headers
            .iter()
            .map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()))
            .collect();
        if place == StampPlace::Header {
            headers.push((STAMP_HEADER.as_bytes().to_vec(), vec![0; STAMP_BYTES]));
        }
        let fixed_bytes = match (&load.size, &load.payload) {
            (SizePlan::Fixed(bytes), Payload::Entropy(_)) => usize::try_from(bytes.0).ok(),
            _ => None,
        };
        let stamped_bytes = if place == StampPlace::Value { STAMP_BYTES } else { 0 };
        Content {
            keys,
            payloads,
            place,
            headers,
            uniform: fixed_bytes.is_some(),
            records_most,
            fixed_part: fixed_bytes.and_then(|bytes| FixedPart::after(stamped_bytes, bytes)).map(Arc::new),
            value_waits: false,
        }
    }
}

/// A batch and its messages.
#[derive(Debug)]
pub(super) struct Slot {
    buffer: BatchBuffer,
    compressed: CompressedBatch,
    is_compressed: bool,
    pub(super) partition: usize,
    pub(super) part: Part,
    /// Messages in it.
    records: usize,
    /// Bytes of their values.
    value_bytes: u64,
    /// The first message's sequence; the others follow it one by one, where `consecutive`.
    pub(super) first_sequence: u64,
    pub(super) consecutive: bool,
    /// The time at which its first message was enqueued.
    pub(super) opened_ns: u64,
    /// The first number of its messages of an idempotent producer, once it was sent.
    pub(super) base_sequence: Option<i32>,
    /// True if it was sent before, and may be in the log.
    pub(super) possibly_stored: bool,
    /// Times that it was sent in vain.
    pub(super) failures: u64,
    /// True if it was sealed before, and nothing changed since.
    sealed: bool,
}

impl Slot {
    pub(super) fn new(limit_bytes: usize, content: &Content) -> Self {
        Slot {
            buffer: match &content.fixed_part {
                Some(fixed) => BatchBuffer::with_fixed_part(limit_bytes, Arc::clone(fixed)),
                None => BatchBuffer::new(limit_bytes),
            },
            compressed: CompressedBatch::new(),
            is_compressed: false,
            partition: 0,
            part: Part::Probe,
            records: 0,
            value_bytes: 0,
            first_sequence: 0,
            consecutive: true,
            opened_ns: 0,
            base_sequence: None,
            possibly_stored: false,
            failures: 0,
            sealed: false,
        }
    }

    /// Empties it for messages of a partition and part.
    pub(super) fn begin(&mut self, content: &Content, partition: usize, part: Part) {
        if !content.uniform {
            self.buffer.clear();
        }
        (self.partition, self.part, self.records) = (partition, part, 0);
        (self.consecutive, self.base_sequence, self.possibly_stored) = (true, None, false);
        (self.failures, self.sealed, self.value_bytes) = (0, false, 0);
    }

    /// Bytes of the values in it.
    pub(super) fn value_bytes(&self) -> u64 {
        self.value_bytes
    }

    /// Bytes of the batch that its records make, before it is compressed.
    pub(super) fn size_bytes(&self) -> usize {
        self.buffer.size_bytes(self.records)
    }

    pub(super) fn records(&self) -> usize {
        self.records
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Adds the next value with the key drawn last; the message's place in the batch, or none when it is full.
    #[inline]
    pub(super) fn add(&mut self, content: &mut Content) -> Option<usize> {
        let at = self.records;
        if at >= content.records_most {
            return None;
        }
        if content.uniform && at < self.buffer.len() {
            if let Some(key) = content.keys.current() {
                self.buffer.key_mut(at).copy_from_slice(key);
            }
        } else {
            self.push(content).ok()?;
        }
        self.value_bytes += self.buffer.value(at).len() as u64;
        self.records = at + 1;
        Some(at)
    }

    /// Adds a record of the largest size with the probes' key.
    pub(super) fn add_probe(&mut self, content: &mut Content) -> Result<usize, Full> {
        content.keys.draw_probe();
        content.payloads.draw_largest();
        content.value_waits = true;
        let at = self.push(content)?;
        self.records = at + 1;
        Ok(at)
    }

    fn push(&mut self, content: &mut Content) -> Result<usize, Full> {
        if !content.value_waits {
            content.payloads.draw();
            content.value_waits = true;
        }
        let mut headers = [RecordHeader::default(); HEADERS_MOST];
        for (place, (name, value)) in headers.iter_mut().zip(&content.headers) {
            *place = RecordHeader { name, value };
        }
        let headers = &headers[..content.headers.len().min(HEADERS_MOST)];
        let at = self.buffer.push(content.keys.current(), content.payloads.current(), headers)?;
        content.value_waits = false;
        Ok(at)
    }

    /// Writes a message's stamp.
    #[inline]
    pub(super) fn stamp(&mut self, at: usize, stamp: &Stamp, content: &Content) {
        match content.place {
            StampPlace::Value => stamp.write(self.buffer.value_mut(at)),
            StampPlace::Header => stamp.write(self.buffer.last_header_mut(at)),
        }
    }

    /// The stamps, in the batch's order.
    pub(super) fn stamps<'s>(&'s self, content: &Content) -> impl Iterator<Item = Stamp> + use<'s> {
        let place = content.place;
        (0..self.records).filter_map(move |at| {
            let bytes = match place {
                StampPlace::Value => self.buffer.value(at),
                StampPlace::Header => self.buffer.last_header(at),
            };
            match Stamp::read(bytes) {
                Reading::Stamped(stamp) => Some(stamp),
                Reading::Damaged | Reading::Foreign => None,
            }
        })
    }

    /// Makes it ready to be sent; a batch that was sent before keeps its bytes.
    pub(super) fn seal(
        &mut self,
        seal: &Seal,
        compressor: Option<&mut Compressor>,
    ) -> Result<(), CompressionError> {
        if self.sealed {
            return Ok(());
        }
        self.is_compressed = compressor.is_some();
        match compressor {
            None => {
                self.buffer.seal(self.records, seal);
            }
            Some(compressor) => {
                self.buffer.seal_compressed(self.records, seal, compressor, &mut self.compressed)?;
            }
        }
        self.sealed = true;
        Ok(())
    }

    /// The bytes to send.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        if self.is_compressed { self.compressed.bytes() } else { self.buffer.bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::wire::sample::step;
    use plumb_wire::compression::Decompressor;
    use plumb_wire::record::batches;

    fn content(load: &LoadPlan) -> Content {
        let keys = KeySource::new(load.keys, Random::new(1));
        Content::new(
            load,
            MessageContents { keys, payloads: PayloadSource::new(load, Random::new(2)).unwrap() },
            10,
        )
    }

    fn stamp(sequence: u64) -> Stamp {
        Stamp { run: 9, producer: 3, part: Part::Measured, sequence, intended_ns: 5, sent_ns: 6 }
    }

    fn sent(slot: &mut Slot, content: &mut Content, messages: u64) -> Vec<u64> {
        slot.begin(content, 0, Part::Measured);
        for sequence in 0..messages {
            content.keys.draw();
            let at = slot.add(content).unwrap();
            slot.stamp(at, &stamp(sequence), content);
        }
        slot.seal(&Seal { timestamp_ms: 1, producer: None }, None).unwrap();
        let batch = batches(slot.bytes()).next().unwrap().unwrap();
        assert!(batch.crc_is_right());
        let mut scratch = Decompressor::new(1 << 20);
        let read = batch.records(&mut scratch).unwrap().map(|record| {
            let record = record.unwrap();
            let header = record.headers().find_map(|header| {
                let header = header.ok()?;
                (header.name == STAMP_HEADER.as_bytes()).then_some(header.value).flatten()
            });
            match Stamp::read(header.or(record.value).unwrap()) {
                Reading::Stamped(stamp) => stamp.sequence,
                other => panic!("{other:?}"),
            }
        });
        read.collect()
    }

    #[test]
    fn a_batch_that_is_used_again_with_fewer_messages_has_these_only() {
        let load = step().load;
        let mut content = content(&load);
        let mut slot = Slot::new(100_000, &content);
        assert_eq!(sent(&mut slot, &mut content, 10), (0..10).collect::<Vec<_>>());
        assert_eq!(sent(&mut slot, &mut content, 3), [0, 1, 2]);
        assert_eq!(slot.stamps(&content).map(|stamp| stamp.sequence).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_small_value_carries_its_stamp_in_a_header_and_a_key_is_patched() {
        let mut load = step().load;
        load.size = SizePlan::Fixed(plumb_model::units::Bytes(10));
        load.keys = plumb_model::plan::Keys::RoundRobin { count: 3 };
        let mut content = content(&load);
        let mut slot = Slot::new(100_000, &content);
        for _ in 0..2 {
            assert_eq!(sent(&mut slot, &mut content, 4), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn a_full_batch_takes_no_more_and_the_value_waits_for_the_next() {
        let mut load = step().load;
        let part =
            |size, weight| plumb_model::plan::WeightedSize { size: plumb_model::units::Bytes(size), weight };
        load.size = SizePlan::Mix(vec![part(300, 1), part(301, 1)]);
        let mut content = content(&load);
        let mut slot = Slot::new(900, &content);
        slot.begin(&content, 0, Part::Measured);
        while slot.add(&mut content).is_some() {}
        assert_eq!(slot.records(), 2);
        assert!(content.value_waits);
    }
}
