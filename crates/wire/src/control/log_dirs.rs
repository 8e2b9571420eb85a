//! In which of its log directories a broker keeps which partitions, and how large they are there.

use std::ops::RangeInclusive;
use std::time::Instant;

use crate::connection::Connection;
use crate::error::{ErrorCode, WireError};
use crate::read::{Reader, Result};
use crate::versions::ApiKey;
use crate::write;

/// What we speak.
pub const DESCRIBE_LOG_DIRS_VERSIONS: RangeInclusive<i16> = 1..=1;

/// One of a broker's log directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDirectory {
    /// As the broker's configuration has it.
    pub path: String,
    /// What is wrong with it.
    pub error: ErrorCode,
    /// The partitions of the topic that are in it.
    pub partitions: Vec<PartitionSize>,
}

/// A replica in a log directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionSize {
    /// The partition.
    pub index: i32,
    /// Of its segments, without indexes.
    pub size_bytes: i64,
    /// How far it is behind: behind the high watermark, or behind the present replica if it will replace it.
    pub offset_lag: i64,
    /// Whether it is a copy that will replace the one in another directory.
    pub is_future: bool,
}

/// Asks the broker where it keeps its replicas of a topic's partitions. Directories without any are listed too.
///
/// # Errors
/// Those of [`Connection::exchange`].
pub fn describe_log_dirs(
    connection: &mut Connection,
    topic: &str,
    partitions: &[i32],
    deadline: Instant,
) -> Result<Vec<LogDirectory>, WireError> {
    const API: ApiKey = ApiKey::DescribeLogDirs;
    let version = connection.version(API, DESCRIBE_LOG_DIRS_VERSIONS)?;
    let request = |out: &mut Vec<u8>| write_request(topic, partitions, out);
    let body = connection.exchange(API, version, request, deadline)?.body;
    read_log_directories(topic, body).map_err(|source| connection.undecodable(API, source))
}

pub(super) fn write_request(topic: &str, partitions: &[i32], out: &mut Vec<u8>) {
    write::array_length(out, 1);
    write::string(out, topic);
    write::array_length(out, partitions.len());
    partitions.iter().for_each(|index| out.extend_from_slice(&index.to_be_bytes()));
}

/// What a DescribeLogDirs v1 response says of one topic.
///
/// # Errors
/// When the bytes are not that.
pub fn read_log_directories(topic: &str, body: &[u8]) -> Result<Vec<LogDirectory>> {
    let mut reader = Reader::new(body);
    reader.i32("throttle_time_ms")?;
    let count = reader.array_length(8, "results")?;
    (0..count).map(|_| read_directory(topic, &mut reader)).collect()
}

fn read_directory(topic: &str, reader: &mut Reader<'_>) -> Result<LogDirectory> {
    let error = ErrorCode(reader.i16("error_code")?);
    let path = reader.string("log_dir")?.to_owned();
    let mut partitions = Vec::new();
    for _ in 0..reader.array_length(6, "topics")? {
        let name = reader.string("name")?;
        for _ in 0..reader.array_length(21, "partitions")? {
            let partition = PartitionSize {
                index: reader.i32("partition_index")?,
                size_bytes: reader.i64("partition_size")?,
                offset_lag: reader.i64("offset_lag")?,
                is_future: reader.bool("is_future_key")?,
            };
            if name == topic {
                partitions.push(partition);
            }
        }
    }
    Ok(LogDirectory { path, error, partitions })
}
