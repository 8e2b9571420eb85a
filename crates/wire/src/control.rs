//! Requests that are made once and waited for: a producer id, and the ends of a log.

use std::ops::RangeInclusive;
use std::time::Instant;

use crate::connection::Connection;
use crate::error::{ErrorCode, WireError};
use crate::read::{Reader, Result};
use crate::versions::ApiKey;
use crate::write;

/// The versions of InitProducerId that we speak.
pub(crate) const INIT_PRODUCER_ID_VERSIONS: RangeInclusive<i16> = 0..=1;
/// The versions of ListOffsets that we speak.
pub(crate) const LIST_OFFSETS_VERSIONS: RangeInclusive<i16> = 1..=5;

/// Under which an idempotent producer numbers its batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerId {
    /// The broker's name for it.
    pub id: i64,
    /// Increases when the same producer starts anew.
    pub epoch: i16,
}

/// An end of a partition's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The first offset that is still there.
    Earliest,
    /// The high watermark: the offset that the next record visible to consumers will have.
    HighWatermark,
    /// The last stable offset: where the first transaction begins that is open, or else the high watermark. Consumers that read
    /// committed records alone are given none behind it.
    LastStable,
    /// The leader's own end: the offset that the next record appended will have, copied by followers or not. Asked as a
    /// replica that is there for debugging (`ListOffsetsRequest.DEBUGGING_REPLICA_ID` in Kafka's source).
    LogEnd,
}

/// An end of one partition's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The partition.
    pub index: i32,
    /// The reason why the offset is absent.
    pub error: ErrorCode,
    /// The offset; -1 with an error.
    pub offset: i64,
}

/// Asks for a producer id, for a producer that is idempotent and not transactional. Any broker gives one.
///
/// # Errors
/// [`WireError::Refused`], which may be retriable, and those of [`Connection::exchange`].
pub fn init_producer_id(connection: &mut Connection, deadline: Instant) -> Result<ProducerId, WireError> {
    const API: ApiKey = ApiKey::InitProducerId;
    let version = connection.version(API, INIT_PRODUCER_ID_VERSIONS)?;
    let body = connection.exchange(API, version, write_init_producer_id, deadline)?.body;
    let (error, producer) = read_producer_id(body).map_err(|source| connection.undecodable(API, source))?;
    error.ok().map_err(|code| connection.refused(API, "an idempotent producer", code))?;
    Ok(producer)
}

fn write_init_producer_id(out: &mut Vec<u8>) {
    write::nullable_string(out, None);
    // Of a transaction, which there is none of.
    let transaction_timeout_ms = i32::MAX;
    out.extend_from_slice(&transaction_timeout_ms.to_be_bytes());
}

/// The error code and the producer id of an InitProducerId response of version 0 or 1.
///
/// # Errors
/// When the bytes are not that.
pub fn read_producer_id(body: &[u8]) -> Result<(ErrorCode, ProducerId)> {
    let mut reader = Reader::new(body);
    reader.i32("throttle_time_ms")?;
    let error = ErrorCode(reader.i16("error_code")?);
    let id = reader.i64("producer_id")?;
    Ok((error, ProducerId { id, epoch: reader.i16("producer_epoch")? }))
}

/// Asks for an end of each partition's log, by index. The broker must lead them; it says so for each that it does not lead.
///
/// # Errors
/// Those of [`Connection::exchange`].
pub fn list_offsets(
    connection: &mut Connection,
    topic: &str,
    partitions: &[i32],
    end: End,
    deadline: Instant,
) -> Result<Vec<PartitionOffset>, WireError> {
    const API: ApiKey = ApiKey::ListOffsets;
    let version = connection.version(API, LIST_OFFSETS_VERSIONS)?;
    let request = |out: &mut Vec<u8>| write_list_offsets(version, topic, partitions, end, out);
    let body = connection.exchange(API, version, request, deadline)?.body;
    read_offsets(version, topic, body).map_err(|source| connection.undecodable(API, source))
}

fn write_list_offsets(version: i16, topic: &str, partitions: &[i32], end: End, out: &mut Vec<u8>) {
    let replica: i32 = match end {
        End::HighWatermark | End::LastStable | End::Earliest => -1,
        End::LogEnd => -2,
    };
    out.extend_from_slice(&replica.to_be_bytes());
    if version >= 2 {
        let committed_alone = u8::from(end == End::LastStable);
        out.push(committed_alone);
    }
    write::array_length(out, 1);
    write::string(out, topic);
    write::array_length(out, partitions.len());
    let timestamp: i64 = match end {
        End::HighWatermark | End::LastStable | End::LogEnd => -1,
        End::Earliest => -2,
    };
    for index in partitions {
        out.extend_from_slice(&index.to_be_bytes());
        if version >= 4 {
            const LEADER_EPOCH_UNKNOWN: i32 = -1;
            out.extend_from_slice(&LEADER_EPOCH_UNKNOWN.to_be_bytes());
        }
        out.extend_from_slice(&timestamp.to_be_bytes());
    }
}

/// The offsets of one topic in a ListOffsets response.
///
/// # Errors
/// When the bytes are no response of that version.
pub fn read_offsets(version: i16, topic: &str, body: &[u8]) -> Result<Vec<PartitionOffset>> {
    let mut reader = Reader::new(body);
    if version >= 2 {
        reader.i32("throttle_time_ms")?;
    }
    let mut offsets = Vec::new();
    for _ in 0..reader.array_length(6, "topics")? {
        let name = reader.string("name")?;
        for _ in 0..reader.array_length(22, "partitions")? {
            let index = reader.i32("partition_index")?;
            let error = ErrorCode(reader.i16("error_code")?);
            reader.i64("timestamp")?;
            let offset = reader.i64("offset")?;
            if version >= 4 {
                reader.i32("leader_epoch")?;
            }
            if name == topic {
                offsets.push(PartitionOffset { index, error, offset });
            }
        }
    }
    offsets.sort_by_key(|partition| partition.index);
    Ok(offsets)
}

#[cfg(test)]
mod tests;
