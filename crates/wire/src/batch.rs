//! One record batch (magic 2) in one buffer that is used again: prepared ahead, then only patched and sealed.
//!
//! A batch is filled once with [`BatchBuffer::push`]. For every send the caller writes its stamps into the records' values or headers and
//! seals: the times, the producer's sequence and the checksum are patched into the header, and the bytes are ready for the socket.
//! A batch can be sent as any number of its first records. What is in the records is the caller's; how a request goes around
//! batches is in [`crate::produce`], how batches are read in [`crate::record`].

use thiserror::Error;

mod compressed;
mod encode;
mod fixed_part;
mod header;

pub use compressed::CompressedBatch;
pub use encode::{RecordHeader, largest_record_overhead};
pub use fixed_part::FixedPart;
pub(crate) use header::{CHECKED_FROM, CRC_AT};
pub use header::{HEADER_BYTES, LARGEST_BATCH_BYTES, ProducerSequence, Seal};

use crate::compression::{Codec, CompressionError, Compressor};
use encode::Lengths;
use std::sync::Arc;

/// A record does not fit into what the batch may still take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the batch is full: the record would make it {needed} bytes, the limit is {limit}")]
pub struct Full {
    /// The size that the batch would have.
    pub needed: usize,
    /// The size that it may have.
    pub limit: usize,
}

/// A record batch that is being prepared, patched and sealed.
#[derive(Debug, Clone)]
pub struct BatchBuffer {
    bytes: Vec<u8>,
    places: Vec<RecordPlace>,
    limit_bytes: usize,
    sealed_bytes: usize,
    /// The checksums of the bytes of the values that are never patched.
    fixed_part: Option<Arc<FixedPart>>,
    /// The checksums of the fixed parts, of as many first records as have them.
    fixed_crcs: Vec<u32>,
}

/// The places of the parts of a record, counted from the start of the batch.
#[derive(Debug, Clone, Copy)]
struct RecordPlace {
    key: u32,
    value: u32,
    value_end: u32,
    last_header: u32,
    end: u32,
}

impl BatchBuffer {
    /// An empty batch that takes at most `limit_bytes`, its header included: what `max.message.bytes` of a topic limits.
    /// [`LARGEST_BATCH_BYTES`] is the limit where more is asked for.
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            bytes: vec![0; HEADER_BYTES],
            places: Vec::new(),
            limit_bytes: limit_bytes.min(LARGEST_BATCH_BYTES),
            sealed_bytes: 0,
            fixed_part: None,
            fixed_crcs: Vec::new(),
        }
    }

    /// The same for values of which only the first bytes are ever patched: the rest is read once, not for every send.
    pub fn with_fixed_part(limit_bytes: usize, fixed_part: Arc<FixedPart>) -> Self {
        Self { fixed_part: Some(fixed_part), ..Self::new(limit_bytes) }
    }

    /// Takes all records out; the buffer keeps its size.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER_BYTES);
        self.places.clear();
        self.fixed_crcs.clear();
        self.sealed_bytes = 0;
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The size of the batch with its first `records` records only, not compressed.
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn size_bytes(&self, records: usize) -> usize {
        match records {
            0 => HEADER_BYTES,
            _ => self.places[records - 1].end as usize,
        }
    }

    /// Appends a record and gives its place. Its time is the batch's, its offset follows the one before it.
    pub fn push(
        &mut self,
        key: Option<&[u8]>,
        value: &[u8],
        headers: &[RecordHeader<'_>],
    ) -> Result<usize, Full> {
        let index = self.places.len();
        let start = self.bytes.len();
        let lengths = Lengths::new(key, value, headers, index);
        let needed = start + lengths.with_prefix();
        if needed > self.limit_bytes {
            return Err(Full { needed, limit: self.limit_bytes });
        }
        let place = encode::record(&mut self.bytes, lengths, key, value, headers);
        debug_assert_eq!(self.bytes.len(), needed);
        self.places.push(place);
        if self.fixed_crcs.len() == index
            && let Some(crc) = self.fixed_part.as_ref().and_then(|fixed| fixed.checksum(value))
        {
            self.fixed_crcs.push(crc);
        }
        Ok(index)
    }

    /// The value of record `index`.
    pub fn value(&self, index: usize) -> &[u8] {
        &self.bytes[self.places[index].value_range()]
    }

    /// The value of the last header of record `index`; empty where it has no header.
    pub fn last_header(&self, index: usize) -> &[u8] {
        &self.bytes[self.places[index].last_header_range()]
    }

    /// The key of record `index`, to be written over; empty where it has none.
    #[inline]
    pub fn key_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[self.places[index].key_range()]
    }

    /// The value of record `index`, to be written over; without its fixed part.
    #[inline]
    pub fn value_mut(&mut self, index: usize) -> &mut [u8] {
        let mut range = self.places[index].value_range();
        if let Some(fixed) = &self.fixed_part
            && index < self.fixed_crcs.len()
        {
            range.end -= fixed.length();
        }
        &mut self.bytes[range]
    }

    /// The value of the last header of record `index`, to be written over; empty where it has no header.
    #[inline]
    pub fn last_header_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[self.places[index].last_header_range()]
    }

    /// Makes the first `records` records a batch that can be sent: `seal` and the checksum go into the header. It may be
    /// sealed again, with other records or another seal, whatever was patched in between.
    ///
    /// # Panics
    /// Where there are fewer records, or `records` is 0: brokers refuse an empty batch.
    pub fn seal(&mut self, records: usize, seal: &Seal) -> &[u8] {
        assert!(records > 0, "an empty batch cannot be sent");
        self.sealed_bytes = self.size_bytes(records);
        let batch = &mut self.bytes[..self.sealed_bytes];
        header::write_unchecked(batch, records, Codec::None, seal);
        let crc = self.checksum(records);
        let batch = &mut self.bytes[..self.sealed_bytes];
        header::write_checksum(batch, crc);
        batch
    }

    /// The checksum of a batch of the first `records` records; its fixed parts are not read again.
    fn checksum(&self, records: usize) -> u32 {
        let (mut crc, mut from) = (0, CHECKED_FROM);
        if let Some(fixed) = &self.fixed_part {
            for (place, fixed_crc) in self.places[..records].iter().zip(&self.fixed_crcs) {
                let patched_end = place.value as usize + fixed.patched_bytes();
                crc = crc32c::crc32c_append(crc, &self.bytes[from..patched_end]);
                crc = fixed.append(crc, *fixed_crc);
                from = place.value_end as usize;
            }
        }
        crc32c::crc32c_append(crc, &self.bytes[from..self.sealed_bytes])
    }

    /// The bytes that were sealed last, for sending them again; empty before that. Later patches are in them, without a right
    /// checksum.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.sealed_bytes]
    }

    /// The same as [`seal`](Self::seal), but compressed, into `out`. What was sealed here stays as it is.
    ///
    /// # Panics
    /// As [`seal`](Self::seal).
    pub fn seal_compressed<'o>(
        &self,
        records: usize,
        seal: &Seal,
        compressor: &mut Compressor,
        out: &'o mut CompressedBatch,
    ) -> Result<&'o [u8], CompressionError> {
        assert!(records > 0, "an empty batch cannot be sent");
        let plain = &self.bytes[HEADER_BYTES..self.size_bytes(records)];
        out.fill(plain, records, seal, compressor)
    }
}

impl RecordPlace {
    #[inline]
    fn key_range(self) -> std::ops::Range<usize> {
        // Between the key and the value there is nothing but the value's length.
        let value_length = self.value_end - self.value;
        let end = self.value as usize - encode::varint_len(value_length as i32);
        self.key as usize..end
    }

    #[inline]
    fn value_range(self) -> std::ops::Range<usize> {
        self.value as usize..self.value_end as usize
    }

    #[inline]
    fn last_header_range(self) -> std::ops::Range<usize> {
        self.last_header as usize..self.end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::batches;

    const SEAL: Seal = Seal { timestamp_ms: 1_700_000_000_000, producer: None };

    fn filled(limit_bytes: usize) -> BatchBuffer {
        let mut batch = BatchBuffer::new(limit_bytes);
        while batch
            .push(Some(b"key"), &[b'v'; 100], &[RecordHeader { name: b"plumb", value: &[0; 48] }])
            .is_ok()
        {}
        batch
    }

    #[test]
    fn a_batch_is_never_larger_than_its_limit_and_full_says_by_how_much() {
        let mut batch = filled(1_000);
        let records = batch.len();
        let size = batch.size_bytes(records);
        // Up to the 64th, records of the same parts take the same.
        let more = size - batch.size_bytes(records - 1);
        assert!(size <= 1_000 && size + more > 1_000);
        let full =
            batch.push(Some(b"key"), &[b'v'; 100], &[RecordHeader { name: b"plumb", value: &[0; 48] }]);
        assert_eq!(full, Err(Full { needed: size + more, limit: 1_000 }));
        // A smaller one still fits, up to the last byte.
        let left = 1_000 - size;
        let largest = (0..=left).rev().find(|length| batch.push(None, &vec![0; *length], &[]).is_ok());
        assert!(largest.is_some());
        assert_eq!(batch.seal(batch.len(), &SEAL).len(), 1_000);
    }

    #[test]
    fn an_absurd_limit_is_the_largest_batch() {
        assert_eq!(BatchBuffer::new(usize::MAX).limit_bytes, LARGEST_BATCH_BYTES);
    }

    #[test]
    fn a_prefix_is_a_batch_of_its_first_records_and_the_rest_is_still_there() {
        let mut batch = filled(5_000);
        let all = batch.len();
        for records in [1, all - 1, all, 2] {
            let bytes = batch.seal(records, &SEAL).to_vec();
            assert_eq!(bytes, batch.bytes());
            assert_eq!(bytes.len(), batch.size_bytes(records));
            let mut read = batches(&bytes);
            let view = read.next().unwrap().unwrap();
            assert!(read.next().is_none());
            assert_eq!((view.record_count as usize, view.last_offset_delta as usize + 1), (records, records));
            assert!(view.crc_is_right());
        }
    }

    #[test]
    fn sealing_again_changes_the_sequence_and_nothing_else() {
        let mut batch = filled(2_000);
        let records = batch.len();
        let seal = |base_sequence| Seal {
            producer: Some(ProducerSequence { id: 4_000, epoch: 3, base_sequence }),
            ..SEAL
        };
        let first = batch.seal(records, &seal(10)).to_vec();
        let second = batch.seal(records, &seal(20)).to_vec();
        let differ: Vec<_> = (0..first.len()).filter(|at| first[*at] != second[*at]).collect();
        assert!(differ.iter().all(|at| (17..21).contains(at) || (53..57).contains(at)), "{differ:?}");
        let view = batches(&second).next().unwrap().unwrap();
        assert_eq!((view.producer_id, view.producer_epoch, view.base_sequence), (4_000, 3, 20));
        assert!(view.crc_is_right());
        assert_eq!(batch.seal(records, &seal(10)), first);
    }

    #[test]
    fn a_compressed_batch_takes_another_sequence_without_being_compressed_again() {
        let batch = filled(5_000);
        let mut compressor = Compressor::new(Codec::Zstd, Some(1)).unwrap();
        let mut out = CompressedBatch::new();
        let first = batch.seal_compressed(batch.len(), &SEAL, &mut compressor, &mut out).unwrap().to_vec();
        let producer = ProducerSequence { id: 1, epoch: 0, base_sequence: 5 };
        let second = out.reseal(&Seal { producer: Some(producer), ..SEAL }).to_vec();
        assert_eq!(first[HEADER_BYTES..], second[HEADER_BYTES..]);
        let view = batches(&second).next().unwrap().unwrap();
        assert!(view.crc_is_right());
        assert_eq!(
            (view.base_sequence, view.codec, view.record_count as usize),
            (5, Codec::Zstd, batch.len())
        );
    }

    #[test]
    fn a_cleared_batch_begins_anew() {
        let mut batch = filled(2_000);
        batch.seal(1, &SEAL);
        batch.clear();
        assert!(batch.is_empty() && batch.bytes().is_empty());
        assert_eq!(batch.size_bytes(0), HEADER_BYTES);
        assert_eq!(batch.push(None, b"x", &[]), Ok(0));
        assert_eq!(batch.key_mut(0), b"");
        assert_eq!(batch.last_header_mut(0), b"");
        assert_eq!(batch.value_mut(0), b"x");
    }

    #[test]
    fn a_fixed_part_changes_nothing_of_what_is_sent() {
        let values: Vec<Vec<u8>> = (0..9_u8).map(|at| vec![at; if at == 7 { 800 } else { 900 }]).collect();
        let fixed = Arc::new(FixedPart::after(40, 900).unwrap());
        let mut batches = [BatchBuffer::new(100_000), BatchBuffer::with_fixed_part(100_000, fixed)];
        for value in &values {
            for batch in &mut batches {
                batch
                    .push(Some(b"key"), value, &[RecordHeader { name: b"plumb", value: b"header" }])
                    .unwrap();
            }
        }
        for (round, records) in [9, 1, 7, 8, 9].into_iter().enumerate() {
            for batch in &mut batches {
                for at in 0..records {
                    batch.value_mut(at)[..40].fill(round as u8);
                    batch.key_mut(at).fill(round as u8 + 1);
                    batch.last_header_mut(at).fill(round as u8 + 2);
                }
            }
            let [plain, fixed] = &mut batches;
            assert!(plain.seal(records, &SEAL) == fixed.seal(records, &SEAL), "{records} records");
        }
        // The fixed part cannot be written over; a value without one can, as a whole.
        assert_eq!((batches[1].value_mut(0).len(), batches[1].value_mut(7).len()), (40, 800));
        batches[1].clear();
        batches[1].push(None, &[1; 900], &[]).unwrap();
        let sealed = batches[1].seal(1, &SEAL).to_vec();
        assert!(crate::record::batches(&sealed).next().unwrap().unwrap().crc_is_right());
    }

    #[test]
    #[should_panic = "an empty batch cannot be sent"]
    fn an_empty_batch_is_not_sealed() {
        BatchBuffer::new(1_000).seal(0, &SEAL);
    }
}
