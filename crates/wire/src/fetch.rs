//! Fetch requests and responses, versions 4 to 11, without fetch sessions.
//!
//! A request names every partition that it wants, each time. The records in a response stay where they are; [`crate::record`]
//! reads them.

use crate::error::ErrorCode;
use crate::read::{Reader, Result};
use crate::versions::ApiKey;
use crate::write;
use std::ops::RangeInclusive;

/// The versions that are spoken here. Before version 10, brokers answer with an error where batches are compressed with Zstandard
/// (KIP-110).
pub const VERSIONS: RangeInclusive<i16> = 4..=11;

/// The fields of a request besides its partitions. It is for one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchHead<'a> {
    /// One of [`VERSIONS`].
    pub version: i16,
    /// The number that the response repeats.
    pub correlation_id: i32,
    /// The name that the broker knows this client by.
    pub client_id: &'a str,
    /// The longest time that the broker may wait for `min_bytes`.
    pub max_wait_ms: i32,
    /// The bytes from which on the broker responds at once.
    pub min_bytes: i32,
    /// Most bytes of a response; a first batch that is larger comes all the same.
    pub max_bytes: i32,
    /// The topic to read.
    pub topic: &'a str,
}

/// One partition that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPartition {
    /// The partition's number.
    pub index: i32,
    /// The leader's epoch as metadata said it, so that an old leader refuses; -1 where it is not known. From version 9 on.
    pub leader_epoch: i32,
    /// The offset to begin at.
    pub offset: i64,
    /// Most bytes of this partition; a first batch that is larger comes all the same.
    pub max_bytes: i32,
}

/// Appends a whole request, from its size to its end.
pub fn request(
    out: &mut Vec<u8>,
    head: &FetchHead<'_>,
    partitions: impl ExactSizeIterator<Item = FetchPartition>,
) {
    let header = write::RequestHeader {
        api: ApiKey::Fetch,
        version: head.version,
        correlation_id: head.correlation_id,
        client_id: head.client_id,
    };
    write::request(out, header, |out| body(out, head, partitions));
}

fn body(out: &mut Vec<u8>, head: &FetchHead<'_>, partitions: impl ExactSizeIterator<Item = FetchPartition>) {
    let version = head.version;
    // Not a replica.
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    out.extend_from_slice(&head.max_wait_ms.to_be_bytes());
    out.extend_from_slice(&head.min_bytes.to_be_bytes());
    out.extend_from_slice(&head.max_bytes.to_be_bytes());
    let read_uncommitted = 0;
    out.push(read_uncommitted);
    if version >= 7 {
        // A full fetch that begins no session: id 0, epoch -1 (KIP-227).
        out.extend_from_slice(&0_i32.to_be_bytes());
        out.extend_from_slice(&(-1_i32).to_be_bytes());
    }
    write::array_length(out, 1);
    write::string(out, head.topic);
    write::array_length(out, partitions.len());
    for partition in partitions {
        out.extend_from_slice(&partition.index.to_be_bytes());
        if version >= 9 {
            out.extend_from_slice(&partition.leader_epoch.to_be_bytes());
        }
        out.extend_from_slice(&partition.offset.to_be_bytes());
        if version >= 5 {
            // The log start offset, which only replicas know.
            out.extend_from_slice(&(-1_i64).to_be_bytes());
        }
        out.extend_from_slice(&partition.max_bytes.to_be_bytes());
    }
    if version >= 7 {
        // Nothing is taken out of a session.
        write::array_length(out, 0);
    }
    if version >= 11 {
        // No rack, so the leader answers itself.
        write::string(out, "");
    }
}

/// The fields of a response as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchAnswer {
    /// The milliseconds for which the broker throttles this client.
    pub throttle_ms: i32,
    /// The error of the whole request; none before version 7.
    pub error_code: ErrorCode,
}

/// The part of a response that is about one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchedPartition<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partition's number.
    pub index: i32,
    /// The partition's error.
    pub error_code: ErrorCode,
    /// The bytes for [`crate::record::batches`]; the last batch may be cut off.
    pub records: &'a [u8],
}

/// Reads a response without its size and correlation id. `each` gets every partition before it is known whether the rest can be read.
pub fn read_response<'a>(
    version: i16,
    body: &'a [u8],
    each: &mut dyn FnMut(FetchedPartition<'a>),
) -> Result<FetchAnswer> {
    let mut reader = Reader::new(body);
    let throttle_ms = reader.i32("throttle time")?;
    let error_code = ErrorCode(if version >= 7 { reader.i16("error code")? } else { 0 });
    if version >= 7 {
        reader.skip(4, "session id")?;
    }
    let least_partition = if version >= 11 {
        42
    } else if version >= 5 {
        38
    } else {
        30
    };
    for _ in 0..reader.array_length(6, "topics")? {
        let topic = reader.string("topic name")?;
        for _ in 0..reader.array_length(least_partition, "partitions")? {
            each(partition(version, topic, &mut reader)?);
        }
    }
    reader.end("fetch response")?;
    Ok(FetchAnswer { throttle_ms, error_code })
}

fn partition<'a>(version: i16, topic: &'a str, reader: &mut Reader<'a>) -> Result<FetchedPartition<'a>> {
    let index = reader.i32("partition index")?;
    let error_code = ErrorCode(reader.i16("error code")?);
    reader.skip(8, "high watermark")?;
    reader.skip(8, "last stable offset")?;
    if version >= 5 {
        reader.skip(8, "log start offset")?;
    }
    // Of each aborted transaction the producer's id and the first offset.
    if let Some(aborted) = reader.nullable_array_length(16, "aborted transactions")? {
        reader.skip(aborted * 16, "aborted transactions")?;
    }
    if version >= 11 {
        reader.skip(4, "preferred read replica")?;
    }
    let records = reader.nullable_bytes("records")?.unwrap_or_default();
    Ok(FetchedPartition { topic, index, error_code, records })
}
