//! The 61 bytes before the records of a batch.
//!
//! base offset 8, batch length 4, leader epoch 4, magic 1, CRC 4, attributes 2, last offset delta 4, base time 8, largest time 8,
//! producer id 8, producer epoch 2, base sequence 4, record count 4. The length counts what follows it; the CRC-32C is over what
//! follows it. (Kafka's protocol guide, "Record Batch".)

use crate::compression::Codec;

/// The size of a batch without any record.
pub const HEADER_BYTES: usize = 61;

/// No batch is larger; ours. Kafka's own limit, `message.max.bytes`, is 1 MiB where it is not set.
pub const LARGEST_BATCH_BYTES: usize = 1 << 30;

/// The place of the checksum, and of the first byte that it covers.
pub(crate) const CRC_AT: usize = 17;
pub(crate) const CHECKED_FROM: usize = 21;

/// The fields that are only known when a batch is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// The time of every record, milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The producer and the place in its sequence; absent without idempotence.
    pub producer: Option<ProducerSequence>,
}

/// The numbers by which a broker tells a batch that is sent again from a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerSequence {
    /// The producer's id, from the broker.
    pub id: i64,
    /// Its epoch.
    pub epoch: i16,
    /// The sequence number of the batch's first record in its partition.
    pub base_sequence: i32,
}

/// The numbers that stand for an absent producer.
const NO_PRODUCER: ProducerSequence = ProducerSequence { id: -1, epoch: -1, base_sequence: -1 };

/// Writes the header of `batch`, which is a whole batch of `records` records, and its checksum.
pub(super) fn write(batch: &mut [u8], records: usize, codec: Codec, seal: &Seal) {
    write_unchecked(batch, records, codec, seal);
    let crc = crc32c::crc32c(&batch[CHECKED_FROM..]);
    write_checksum(batch, crc);
}

/// Writes the checksum of a batch.
pub(super) fn write_checksum(batch: &mut [u8], crc: u32) {
    batch[CRC_AT..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
}

/// Writes the header of `batch` without the checksum, which is over the rest of it too.
pub(super) fn write_unchecked(batch: &mut [u8], records: usize, codec: Codec, seal: &Seal) {
    let producer = seal.producer.unwrap_or(NO_PRODUCER);
    let length = (batch.len() - 12) as i32;
    let mut put = |at: usize, field: &[u8]| batch[at..at + field.len()].copy_from_slice(field);
    put(0, &0_i64.to_be_bytes());
    put(8, &length.to_be_bytes());
    put(12, &(-1_i32).to_be_bytes());
    put(16, &[2]);
    put(21, &codec.number().to_be_bytes());
    put(23, &(records as i32 - 1).to_be_bytes());
    put(27, &seal.timestamp_ms.to_be_bytes());
    put(35, &seal.timestamp_ms.to_be_bytes());
    put(43, &producer.id.to_be_bytes());
    put(51, &producer.epoch.to_be_bytes());
    put(53, &producer.base_sequence.to_be_bytes());
    put(57, &(records as i32).to_be_bytes());
}
