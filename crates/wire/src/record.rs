//! Record batches (magic 2) as a broker returns them, looked at where they lie.
//!
//! [`batches`] walks over the records of a fetch response; a [`BatchView`] gives its header and, through [`BatchView::records`], its
//! records, taken apart first where they are compressed. Nothing is allocated for a record. The checksum is checked only when it is
//! asked for. How batches are made is in [`crate::batch`].

use crate::batch::LARGEST_BATCH_BYTES;
use crate::compression::{Codec, Decompressor};
use crate::read::{DecodeError, Problem, Reader, Result};

mod header;
mod iterate;
mod short;
#[cfg(test)]
mod tests;

pub use header::{HeaderView, Headers};
pub use iterate::{RecordView, Records};

/// The bytes of a batch that its length does not count: the base offset and the length.
const BEFORE_LENGTH_ENDS: usize = 12;

/// The place of the magic number, in batches of any kind.
const MAGIC_AT: usize = 16;

/// The least that the length says: a header without records.
const LEAST_LENGTH: usize = crate::batch::HEADER_BYTES - BEFORE_LENGTH_ENDS;

/// The source of a record's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer: each record has its own.
    Create,
    /// The broker, when it appended the batch: one time for all of its records.
    LogAppend,
}

/// A batch: its header, and the place of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchView<'a> {
    /// The offset of its first record; not negative.
    pub base_offset: i64,
    /// The last offset is this much after the first; not negative, and the sum is a number.
    pub last_offset_delta: i32,
    /// The stated number of records. Fewer than offsets after compaction.
    pub record_count: u32,
    /// The codec of the records.
    pub codec: Codec,
    /// The source of the records' times.
    pub timestamp_type: TimestampType,
    /// The time that records' times count from, milliseconds since 1970.
    pub base_timestamp_ms: i64,
    /// The largest time of a record; the time of appending where the broker says the time.
    pub max_timestamp_ms: i64,
    /// The idempotent producer's id; -1 where there is none.
    pub producer_id: i64,
    /// Its epoch; -1 where there is none.
    pub producer_epoch: i16,
    /// The first record's sequence number; -1 where there is none.
    pub base_sequence: i32,
    /// The leader's epoch when it was appended.
    pub leader_epoch: i32,
    /// True if it is part of a transaction.
    pub transactional: bool,
    /// True if it is a transaction's marker: its records are not anybody's data.
    pub control: bool,
    bytes: &'a [u8],
}

/// Walks over the batches in `records`, which is what a fetch response has for a partition.
///
/// A last batch that is not all there ends the walk and is no error, as brokers cut at the size that was asked for. After an error
/// nothing more comes.
pub fn batches(records: &[u8]) -> Batches<'_> {
    Batches { reader: Reader::new(records), ended: false }
}

/// See [`batches`].
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    reader: Reader<'a>,
    ended: bool,
}

impl<'a> Batches<'a> {}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<BatchView<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<'a> Batches<'a> {
    /// The next batch if it is all there.
    fn read(&mut self) -> Result<Option<BatchView<'a>>> {
        let rest = self.reader.rest();
        let Some(before_magic) = rest.first_chunk::<{ MAGIC_AT + 1 }>() else { return Ok(None) };
        let magic = before_magic[MAGIC_AT] as i8;
        if magic != 2 {
            let problem = match magic {
                0 | 1 => Problem::Invalid("messages of magic 0 or 1, from before Kafka 0.11, cannot be read"),
                _ => Problem::OutOfRange { got: magic.into(), least: 2, most: 2 },
            };
            return Err(self.wrong("batch magic", MAGIC_AT, problem));
        }
        let mut ahead = self.reader.clone();
        ahead.skip(8, "base offset")?;
        let claimed = ahead.i32("batch length")?;
        let length = usize::try_from(claimed).unwrap_or(0);
        if !(LEAST_LENGTH..=LARGEST_BATCH_BYTES).contains(&length) {
            let (least, most) = (LEAST_LENGTH as i64, LARGEST_BATCH_BYTES as i64);
            let problem = Problem::OutOfRange { got: claimed.into(), least, most };
            return Err(self.wrong("batch length", 8, problem));
        }
        let Some(bytes) = rest.get(..BEFORE_LENGTH_ENDS + length) else { return Ok(None) };
        let view = self.view(bytes)?;
        self.reader.skip(bytes.len(), "batch")?;
        Ok(Some(view))
    }

    fn view(&self, bytes: &'a [u8]) -> Result<BatchView<'a>> {
        let mut reader = Reader::new(bytes);
        let base_offset = reader.i64("base offset")?;
        reader.skip(4, "batch length")?;
        let leader_epoch = reader.i32("leader epoch")?;
        reader.skip(5, "magic and checksum")?;
        let attributes = reader.i16("batch attributes")?;
        let last_offset_delta = reader.i32("last offset delta")?;
        let base_timestamp_ms = reader.i64("base timestamp")?;
        let max_timestamp_ms = reader.i64("max timestamp")?;
        let producer_id = reader.i64("producer id")?;
        let producer_epoch = reader.i16("producer epoch")?;
        let base_sequence = reader.i32("base sequence")?;
        let record_count = reader.i32("record count")?;

        let most = i64::MAX - i64::from(i32::MAX);
        if !(0..=most).contains(&base_offset) {
            let problem = Problem::OutOfRange { got: base_offset, least: 0, most };
            return Err(self.wrong("base offset", 0, problem));
        }
        let not_negative = |what, at, got: i32| match u32::try_from(got) {
            Ok(count) => Ok(count),
            Err(_) => Err(self.wrong(what, at, Problem::NegativeLength(got.into()))),
        };
        not_negative("last offset delta", 23, last_offset_delta)?;
        let record_count = not_negative("record count", 57, record_count)?;
        let codec = Codec::of_attributes(attributes).ok_or_else(|| {
            let got = i64::from(attributes & 7);
            self.wrong("compression of a batch", 21, Problem::OutOfRange { got, least: 0, most: 4 })
        })?;
        Ok(BatchView {
            base_offset,
            last_offset_delta,
            record_count,
            codec,
            timestamp_type: match attributes & 8 {
                0 => TimestampType::Create,
                _ => TimestampType::LogAppend,
            },
            base_timestamp_ms,
            max_timestamp_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            leader_epoch,
            transactional: attributes & 16 != 0,
            control: attributes & 32 != 0,
            bytes,
        })
    }

    fn wrong(&self, what: &'static str, field_at: usize, problem: Problem) -> DecodeError {
        DecodeError { what, at: self.reader.position() + field_at, problem }
    }
}

impl<'a> BatchView<'a> {
    /// All of it, as the broker sent it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The offset after its last one: where to fetch next.
    pub fn next_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta) + 1
    }

    /// True if the checksum in the header is that of the bytes.
    pub fn crc_is_right(&self) -> bool {
        let mut reader = Reader::new(&self.bytes[crate::batch::CRC_AT..]);
        reader.u32("CRC") == Ok(crc32c::crc32c(&self.bytes[crate::batch::CHECKED_FROM..]))
    }

    /// The offset of one of its records.
    #[inline]
    pub fn offset(&self, record: &RecordView<'_>) -> i64 {
        self.base_offset + i64::from(record.offset_delta)
    }

    /// Its records, taken apart with `decompressor` where they are compressed. Places in errors count from the first record's
    /// first byte, decompressed.
    pub fn records<'s>(&self, decompressor: &'s mut Decompressor) -> Result<Records<'s>>
    where
        'a: 's,
    {
        let stored: &'s [u8] = &self.bytes[crate::batch::HEADER_BYTES..];
        let plain = decompressor.decompress(self.codec, stored)?;
        Records::new(plain, self.record_count, self.last_offset_delta)
    }
}
