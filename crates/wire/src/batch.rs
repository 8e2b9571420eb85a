//! One record batch (magic 2) in one buffer that is used again: prepared ahead, then only patched and sealed.
//!
//! A batch is filled once with [`BatchBuffer::push`]. For every send the caller writes its stamps into the records' values or headers and
//! seals: the times, the producer's sequence and the checksum are patched into the header, and the bytes are ready for the socket.
//! A batch can be sent as any number of its first records. What is in the records is the caller's; how a request goes around
//! batches is in [`crate::produce`], how batches are read in [`crate::record`].

use thiserror::Error;

mod compressed;
mod encode;
mod header;

pub use compressed::CompressedBatch;
pub use encode::{encoded_len, largest_record_overhead};
pub(crate) use header::{CHECKED_FROM, CRC_AT};
pub use header::{HEADER_BYTES, LARGEST_BATCH_BYTES, ProducerSequence, Seal};

use crate::compression::{Codec, CompressionError, Compressor};
use encode::Lengths;

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
    places: Vec<Place>,
    limit_bytes: usize,
    sealed_bytes: usize,
}

/// Where the parts of a record are, counted from the start of the batch.
#[derive(Debug, Clone, Copy)]
struct Place {
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
        }
    }

    /// Takes all records out; the buffer keeps its size.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER_BYTES);
        self.places.clear();
        self.sealed_bytes = 0;
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What the whole batch may take.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// What the batch takes with its first `records` records, not compressed.
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
        headers: &[(&[u8], &[u8])],
    ) -> Result<usize, Full> {
        let index = self.places.len();
        let start = self.bytes.len();
        let lengths = Lengths::of(key, value, headers, index);
        let needed = start + lengths.with_prefix();
        if needed > self.limit_bytes {
            return Err(Full { needed, limit: self.limit_bytes });
        }
        let place = encode::record(&mut self.bytes, lengths, key, value, headers);
        debug_assert_eq!(self.bytes.len(), needed);
        self.places.push(place);
        Ok(index)
    }

    /// The key of record `index`; empty where it has none.
    ///
    /// # Panics
    /// Where there is no such record, as all of these do.
    pub fn key(&self, index: usize) -> &[u8] {
        &self.bytes[self.places[index].key_range()]
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

    /// The value of record `index`, to be written over.
    #[inline]
    pub fn value_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.bytes[self.places[index].value_range()]
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
        header::write(batch, records, Codec::None, seal);
        batch
    }

    /// What was sealed last, for sending it again; empty before that. What was patched since is in it, without a right checksum.
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

impl Place {
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
