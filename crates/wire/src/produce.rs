//! Produce requests and responses, versions 3 to 8.
//!
//! A request is written in pieces so that no batch is copied: [`request_head`], then for each partition [`partition_head`] and its sealed
//! batch, all in one `writev`. What the batches are is in [`crate::batch`].

use crate::compression::Codec;
use crate::error::ErrorCode;
use crate::read::{Reader, Result};
use crate::versions::ApiKey;
use crate::write;
use std::ops::RangeInclusive;

/// The versions that are spoken here. Requests are the same in all of them.
pub const VERSIONS: RangeInclusive<i16> = 3..=8;

/// The versions that may carry batches of `codec`: brokers refuse Zstandard before version 7 (KIP-110).
pub fn versions_for(codec: Codec) -> RangeInclusive<i16> {
    match codec {
        Codec::Zstd => 7..=*VERSIONS.end(),
        Codec::None | Codec::Gzip | Codec::Snappy | Codec::Lz4 => VERSIONS,
    }
}

/// Bytes of a partition in a request besides its batch.
pub const PARTITION_HEAD_BYTES: usize = 8;

/// The fields of a request besides its batches. It is for one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// One of [`VERSIONS`].
    pub version: i16,
    /// The number that the response repeats.
    pub correlation_id: i32,
    /// The name that the broker knows this client by.
    pub client_id: &'a str,
    /// 0: no response at all; 1: the leader has it; -1: all in-sync replicas have it.
    pub acks: i16,
    /// The longest time that the broker may wait for the replicas.
    pub timeout_ms: i32,
    /// The topic to write.
    pub topic: &'a str,
}

/// Appends everything before the first partition: from the request's size up to the number of partitions.
///
/// `batches_bytes` is the sum of the batches' sizes. After it the caller sends, `partitions` times, a [`partition_head`] and the batch.
///
/// # Panics
/// Where the request would be 2 GiB or more; brokers take 100 MiB where nothing else is set (`socket.request.max.bytes`).
pub fn request_head(out: &mut Vec<u8>, head: &RequestHead<'_>, partitions: usize, batches_bytes: usize) {
    let start = out.len();
    let header = write::RequestHeader {
        api: ApiKey::Produce,
        version: head.version,
        correlation_id: head.correlation_id,
        client_id: head.client_id,
    };
    write::request(out, header, |out| {
        // No transaction.
        write::nullable_string(out, None);
        out.extend_from_slice(&head.acks.to_be_bytes());
        out.extend_from_slice(&head.timeout_ms.to_be_bytes());
        write::array_length(out, 1);
        write::string(out, head.topic);
        write::array_length(out, partitions);
    });
    let size = out.len() - start - 4 + partitions * PARTITION_HEAD_BYTES + batches_bytes;
    assert!(size <= i32::MAX as usize, "a request of {size} bytes cannot be sent");
    out[start..start + 4].copy_from_slice(&(size as i32).to_be_bytes());
}

/// The bytes before the batch of partition `index`.
#[inline]
pub fn partition_head(index: i32, batch_len: usize) -> [u8; PARTITION_HEAD_BYTES] {
    let mut head = [0; PARTITION_HEAD_BYTES];
    head[..4].copy_from_slice(&index.to_be_bytes());
    head[4..].copy_from_slice(&(batch_len as i32).to_be_bytes());
    head
}

/// The part of a response that is about one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionAnswer<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The partition's number.
    pub index: i32,
    /// The partition's error.
    pub error_code: ErrorCode,
    /// The offset of the batch's first record; -1 where the broker does not say.
    pub base_offset: i64,
}

/// Reads a response without its size and correlation id. `each` gets every partition before it is known whether the rest can be read.
/// Gives for how many milliseconds the broker throttles this client.
pub fn read_response<'a>(
    version: i16,
    body: &'a [u8],
    each: &mut dyn FnMut(PartitionAnswer<'a>),
) -> Result<i32> {
    let mut reader = Reader::new(body);
    let least_partition = if version >= 8 {
        36
    } else if version >= 5 {
        30
    } else {
        22
    };
    for _ in 0..reader.array_length(6, "topics")? {
        let topic = reader.string("topic name")?;
        for _ in 0..reader.array_length(least_partition, "partitions")? {
            each(partition(version, topic, &mut reader)?);
        }
    }
    let throttle_ms = reader.i32("throttle time")?;
    reader.end("produce response")?;
    Ok(throttle_ms)
}

fn partition<'a>(version: i16, topic: &'a str, reader: &mut Reader<'a>) -> Result<PartitionAnswer<'a>> {
    let index = reader.i32("partition index")?;
    let error_code = ErrorCode(reader.i16("error code")?);
    let base_offset = reader.i64("base offset")?;
    reader.skip(8, "append time")?;
    if version >= 5 {
        reader.skip(8, "log start offset")?;
    }
    if version >= 8 {
        for _ in 0..reader.array_length(6, "record errors")? {
            reader.skip(4, "record index")?;
            reader.nullable_string("record error message")?;
        }
        reader.nullable_string("error message")?;
    }
    Ok(PartitionAnswer { topic, index, error_code, base_offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zstandard_goes_only_in_versions_that_brokers_take_it_in() {
        assert_eq!(versions_for(Codec::Zstd), 7..=8);
        assert_eq!(versions_for(Codec::Lz4), VERSIONS);
    }

    #[test]
    #[should_panic = "a request of"]
    fn a_request_that_no_size_field_can_hold_is_not_written() {
        let head =
            RequestHead { version: 8, correlation_id: 1, client_id: "", acks: 1, timeout_ms: 1, topic: "t" };
        request_head(&mut Vec::new(), &head, 3, 1 << 31);
    }

    #[test]
    fn a_count_that_does_not_fit_and_bytes_behind_the_end_are_errors() {
        let many = [&1_i32.to_be_bytes()[..], b"\0\x01t", &i32::MAX.to_be_bytes(), &[0; 40]].concat();
        let error = read_response(8, &many, &mut |_| panic!("there is no partition")).unwrap_err();
        assert_eq!((error.what, error.at), ("partitions", 7));
        let longer = [&0_i32.to_be_bytes()[..], &7_i32.to_be_bytes(), b"x"].concat();
        let error = read_response(8, &longer, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "produce response at byte 8: 1 bytes are left where it should end");
    }
}
