//! A record batch (message format 2) as the bytes that arrived: its header fields, its checksum, and the surgery on single
//! records that loss, duplicates and swaps need.
//!
//! Records are opaque here from the key on, so that what a fault does not touch comes out as it went in. The layout is in
//! Kafka's documentation, section 5.3 "Message format".

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::{
    ResponseError,
    compression::{Decompressor, Gzip, Lz4, Snappy, Zstd},
};

const LENGTH: usize = 8;
const LEADER_EPOCH: usize = 12;
const MAGIC: usize = 16;
const CRC: usize = 17;
const ATTRIBUTES: usize = 21;
const LAST_OFFSET_DELTA: usize = 23;
const BASE_TIMESTAMP: usize = 27;
const MAX_TIMESTAMP: usize = 35;
const PRODUCER_ID: usize = 43;
const PRODUCER_EPOCH: usize = 51;
const BASE_SEQUENCE: usize = 53;
const COUNT: usize = 57;
const RECORDS: usize = 61;

const COMPRESSION_BITS: i16 = 0b111;
const LOG_APPEND_TIME_BIT: i16 = 1 << 3;

/// The leader epoch of every partition: one node, never a new leader.
pub(super) const EPOCH_OF_LEADER: i32 = 0;

/// One whole batch whose length, checksum and count are right.
#[derive(Debug, Clone)]
pub(super) struct Batch(Bytes);

/// The writer of a batch, and the batch's place in its sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    /// -1: not an idempotent producer.
    pub(super) producer_id: i64,
    pub(super) epoch: i16,
    pub(super) first: i32,
}

/// One record, taken out of its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    attributes: u8,
    timestamp_ms: i64,
    /// Key, value and headers, with their lengths.
    content: Bytes,
}

impl Record {
    pub(super) fn content(&self) -> &Bytes {
        &self.content
    }
}

impl Batch {
    /// Takes what a produce request has for a partition, which is exactly one batch since message format 2.
    pub(super) fn parse(bytes: Bytes) -> Result<Self, ResponseError> {
        if bytes.len() < RECORDS {
            return Err(ResponseError::InvalidRecord);
        }
        let batch = Self(bytes);
        if batch.0[MAGIC] != 2 {
            return Err(ResponseError::UnsupportedForMessageFormat);
        }
        if usize::try_from(batch.int(LENGTH)).ok() != Some(batch.0.len() - LEADER_EPOCH) {
            return Err(ResponseError::InvalidRecord);
        }
        if batch.int(CRC) as u32 != crc32c::crc32c(&batch.0[ATTRIBUTES..]) {
            return Err(ResponseError::CorruptMessage);
        }
        let count = batch.int(COUNT);
        if count < 1 || batch.int(LAST_OFFSET_DELTA) != count - 1 {
            return Err(ResponseError::InvalidRecord);
        }
        Ok(batch)
    }

    pub(super) fn count(&self) -> u64 {
        self.int(COUNT) as u64
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.0.len()
    }

    pub(super) fn max_timestamp_ms(&self) -> i64 {
        self.long(MAX_TIMESTAMP)
    }

    pub(super) fn sequence(&self) -> Sequence {
        Sequence {
            producer_id: self.long(PRODUCER_ID),
            epoch: self.short(PRODUCER_EPOCH),
            first: self.int(BASE_SEQUENCE),
        }
    }

    /// The bytes to keep: as they arrived, but for the offset and the leader epoch, which the checksum leaves out.
    pub(super) fn placed_at(&self, base_offset: i64) -> Bytes {
        let mut bytes = BytesMut::from(&self.0[..]);
        put(&mut bytes, 0, &base_offset.to_be_bytes());
        put(&mut bytes, LEADER_EPOCH, &EPOCH_OF_LEADER.to_be_bytes());
        bytes.freeze()
    }

    /// The same batch, said to be appended at `at_ms`.
    pub(super) fn with_log_append_time(&self, at_ms: i64) -> Self {
        let mut bytes = BytesMut::from(&self.0[..]);
        put(&mut bytes, ATTRIBUTES, &(self.short(ATTRIBUTES) | LOG_APPEND_TIME_BIT).to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP, &at_ms.to_be_bytes());
        Self(sealed(bytes))
    }

    /// The records one by one, decompressed.
    pub(super) fn records(&self) -> Result<Vec<Record>, ResponseError> {
        let mut rest = self.0.slice(RECORDS..);
        let mut bytes = match self.short(ATTRIBUTES) & COMPRESSION_BITS {
            0 => rest,
            1 => decompressed::<Gzip>(&mut rest)?,
            2 => decompressed::<Snappy>(&mut rest)?,
            3 => decompressed::<Lz4>(&mut rest)?,
            4 => decompressed::<Zstd>(&mut rest)?,
            _ => return Err(ResponseError::UnsupportedCompressionType),
        };
        let base_timestamp_ms = self.long(BASE_TIMESTAMP);
        (0..self.count())
            .map(|_| record(&mut bytes, base_timestamp_ms).ok_or(ResponseError::InvalidRecord))
            .collect()
    }

    /// A batch of other records under this one's producer; not compressed. `None` without records.
    pub(super) fn holding(&self, records: &[Record]) -> Option<Self> {
        let base_timestamp_ms = records.first()?.timestamp_ms;
        let max_timestamp_ms = records.iter().map(|record| record.timestamp_ms).max()?;
        let mut bytes = BytesMut::from(&self.0[..RECORDS]);
        for (place, record) in records.iter().enumerate() {
            let mut body = BytesMut::with_capacity(record.content.len() + 16);
            body.put_u8(record.attributes);
            put_varint(&mut body, record.timestamp_ms.wrapping_sub(base_timestamp_ms));
            put_varint(&mut body, place as i64);
            body.put_slice(&record.content);
            put_varint(&mut bytes, body.len() as i64);
            bytes.put_slice(&body);
        }
        let (count, length) = (records.len() as i32, (bytes.len() - LEADER_EPOCH) as i32);
        put(&mut bytes, LENGTH, &length.to_be_bytes());
        put(&mut bytes, ATTRIBUTES, &(self.short(ATTRIBUTES) & !COMPRESSION_BITS).to_be_bytes());
        put(&mut bytes, LAST_OFFSET_DELTA, &(count - 1).to_be_bytes());
        put(&mut bytes, BASE_TIMESTAMP, &base_timestamp_ms.to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP, &max_timestamp_ms.to_be_bytes());
        put(&mut bytes, COUNT, &count.to_be_bytes());
        Some(Self(sealed(bytes)))
    }

    fn short(&self, at: usize) -> i16 {
        (&self.0[at..]).get_i16()
    }

    fn int(&self, at: usize) -> i32 {
        (&self.0[at..]).get_i32()
    }

    fn long(&self, at: usize) -> i64 {
        (&self.0[at..]).get_i64()
    }
}

fn put(bytes: &mut BytesMut, at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

fn sealed(mut bytes: BytesMut) -> Bytes {
    let crc = crc32c::crc32c(&bytes[ATTRIBUTES..]);
    put(&mut bytes, CRC, &crc.to_be_bytes());
    bytes.freeze()
}

fn decompressed<D: Decompressor<Bytes, Buf = Bytes>>(bytes: &mut Bytes) -> Result<Bytes, ResponseError> {
    D::decompress(bytes, |plain| Ok(plain.split_off(0))).map_err(|_| ResponseError::CorruptMessage)
}

fn record(bytes: &mut Bytes, base_timestamp_ms: i64) -> Option<Record> {
    let length = usize::try_from(varint(bytes)?).ok().filter(|length| *length <= bytes.len())?;
    let mut content = bytes.split_to(length);
    let attributes = content.try_get_u8().ok()?;
    let timestamp_ms = base_timestamp_ms.wrapping_add(varint(&mut content)?);
    varint(&mut content)?;
    Some(Record { attributes, timestamp_ms, content })
}

/// A zigzag varint of up to 64 bits.
pub(super) fn varint(bytes: &mut Bytes) -> Option<i64> {
    let mut value = 0_u64;
    for place in 0..10 {
        let byte = bytes.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7F) << (place * 7);
        if byte < 0x80 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

fn put_varint(bytes: &mut BytesMut, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        bytes.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.put_u8(rest as u8);
}

/// Batches made with the encoder of `kafka-protocol`, for the tests of this module's users.
#[cfg(test)]
pub(super) mod made {
    use bytes::{Bytes, BytesMut};
    use kafka_protocol::{
        indexmap::IndexMap,
        records::{Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType},
    };

    pub(in super::super) fn bytes(values: &[&'static str], compression: Compression) -> Bytes {
        let records: Vec<Record> = (0..)
            .zip(values)
            .map(|(place, value)| Record {
                transactional: false,
                control: false,
                delete_horizon: false,
                partition_leader_epoch: 0,
                producer_id: -1,
                producer_epoch: -1,
                timestamp_type: TimestampType::Creation,
                offset: place,
                sequence: place as i32 - 1,
                timestamp: 1_000 + place,
                key: Some(Bytes::from_static(b"key")),
                value: Some(Bytes::from_static(value.as_bytes())),
                headers: IndexMap::from([("trace".into(), Some(Bytes::from_static(b"1")))]),
            })
            .collect();
        let mut bytes = BytesMut::new();
        RecordBatchEncoder::encode(&mut bytes, &records, &RecordEncodeOptions { version: 2, compression })
            .unwrap();
        bytes.freeze()
    }

    pub(in super::super) fn batch(values: &[&'static str]) -> super::Batch {
        super::Batch::parse(bytes(values, Compression::None)).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::records::{Compression, RecordBatchDecoder};
    use proptest::prelude::*;

    use super::*;

    fn values(mut bytes: Bytes) -> Vec<String> {
        let set = RecordBatchDecoder::decode(&mut bytes).unwrap();
        set.records
            .iter()
            .map(|record| String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap())
            .collect()
    }

    #[test]
    fn records_of_every_compression_come_apart_and_together_in_a_chosen_order() {
        for compression in
            [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd]
        {
            let batch = Batch::parse(made::bytes(&["a", "b", "c"], compression)).unwrap();
            let mut records = batch.records().unwrap();
            records.swap(0, 1);
            let swapped = batch.holding(&records).unwrap();
            assert!(Batch::parse(swapped.0.clone()).is_ok(), "{compression:?}");
            assert_eq!(values(swapped.placed_at(40)), ["b", "a", "c"], "{compression:?}");
        }
    }

    #[test]
    fn a_rebuilt_batch_keeps_timestamps_keys_and_headers() {
        let batch = made::batch(&["a", "b"]);
        let same = batch.holding(&batch.records().unwrap()).unwrap();
        let decoded = |batch: &Batch| RecordBatchDecoder::decode(&mut batch.placed_at(7)).unwrap().records;
        assert_eq!(decoded(&same), decoded(&batch));
        assert_eq!(decoded(&same)[1].offset, 8);
    }

    #[test]
    fn a_flipped_bit_is_a_corrupt_message() {
        let mut bytes = made::bytes(&["a"], Compression::None).to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(Batch::parse(bytes.into()).unwrap_err(), ResponseError::CorruptMessage);
    }

    #[test]
    fn a_batch_that_says_another_length_or_format_is_refused() {
        let bytes = made::bytes(&["a"], Compression::None);
        assert_eq!(Batch::parse(bytes.slice(..bytes.len() - 1)).unwrap_err(), ResponseError::InvalidRecord);
        assert_eq!(Batch::parse(bytes.slice(..20)).unwrap_err(), ResponseError::InvalidRecord);
        let mut old = bytes.to_vec();
        old[MAGIC] = 1;
        assert_eq!(Batch::parse(old.into()).unwrap_err(), ResponseError::UnsupportedForMessageFormat);
    }

    #[test]
    fn a_log_append_time_is_what_a_reader_sees() {
        let stamped = made::batch(&["a"]).with_log_append_time(77);
        assert!(Batch::parse(stamped.0.clone()).is_ok());
        assert_eq!(stamped.max_timestamp_ms(), 77);
        assert_eq!(stamped.short(ATTRIBUTES) & LOG_APPEND_TIME_BIT, LOG_APPEND_TIME_BIT);
    }

    proptest! {
        #[test]
        fn damaged_records_behind_a_right_checksum_never_panic(
            junk in prop::collection::vec(any::<u8>(), 0..200),
            count in 1_i32..i32::MAX,
            compression in 0_i16..8,
        ) {
            let mut bytes = BytesMut::from(&made::bytes(&["a"], Compression::None)[..RECORDS]);
            bytes.put_slice(&junk);
            let length = (bytes.len() - LEADER_EPOCH) as i32;
            put(&mut bytes, LENGTH, &length.to_be_bytes());
            put(&mut bytes, ATTRIBUTES, &compression.to_be_bytes());
            put(&mut bytes, LAST_OFFSET_DELTA, &(count - 1).to_be_bytes());
            put(&mut bytes, COUNT, &count.to_be_bytes());
            let batch = Batch::parse(sealed(bytes)).unwrap();
            let _ = batch.records();
        }
    }
}
