//! The leaders of a topic's partitions, and the addresses of the brokers.

use std::ops::RangeInclusive;
use std::time::Instant;

use crate::connection::Connection;
use crate::error::{ErrorCode, WireError};
use crate::read::{Problem, Reader, Result};
use crate::versions::ApiKey;
use crate::write;

/// The versions that we speak. From version 4 on a broker can be told not to make a topic that is asked for; all that are still
/// supported know it.
pub const VERSIONS: RangeInclusive<i16> = 1..=8;

/// A topic, and the cluster that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMetadata {
    /// All brokers.
    pub brokers: Vec<Broker>,
    /// The node id of the controller, if there is one now.
    pub controller: Option<i32>,
    /// The cluster's name for itself.
    pub cluster_id: Option<String>,
    /// Success, or the reason why the topic is not there.
    pub error: ErrorCode,
    /// The partitions by index.
    pub partitions: Vec<PartitionLeader>,
}

/// The address of a broker, as it says itself on the listener that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Node id.
    pub id: i32,
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// The leader of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLeader {
    /// The partition.
    pub index: i32,
    /// Node id of its leader; `None` while there is none.
    pub leader: Option<i32>,
    /// The number of changes of leader so far; -1 where the broker does not say.
    pub epoch: i32,
    /// The partition's error.
    pub error: ErrorCode,
}

/// Asks for a topic. A topic that is not there is no error of this function, but one of [`TopicMetadata::error`]; it is not made.
///
/// # Errors
/// Those of [`Connection::exchange`].
pub fn metadata(
    connection: &mut Connection,
    topic: &str,
    deadline: Instant,
) -> Result<TopicMetadata, WireError> {
    let version = connection.version(ApiKey::Metadata, VERSIONS)?;
    let frame =
        connection.exchange(ApiKey::Metadata, version, |out| write_request(version, topic, out), deadline)?;
    read_response(version, topic, frame.body)
        .map_err(|source| connection.undecodable(ApiKey::Metadata, source))
}

fn write_request(version: i16, topic: &str, out: &mut Vec<u8>) {
    write::array_length(out, 1);
    write::string(out, topic);
    if version >= 4 {
        let allow_auto_topic_creation = 0;
        out.push(allow_auto_topic_creation);
    }
    if version >= 8 {
        let (include_cluster_operations, include_topic_operations) = (0, 0);
        out.extend_from_slice(&[include_cluster_operations, include_topic_operations]);
    }
}

/// The part of a response that is about one topic.
///
/// # Errors
/// When the bytes are no response of that version, or the topic is not in it.
pub fn read_response(version: i16, topic: &str, body: &[u8]) -> Result<TopicMetadata> {
    let mut reader = Reader::new(body);
    if version >= 3 {
        reader.i32("throttle_time_ms")?;
    }
    let count = reader.array_length(12, "brokers")?;
    let brokers = (0..count).map(|_| read_broker(&mut reader)).collect::<Result<_>>()?;
    let cluster_id =
        if version >= 2 { reader.nullable_string("cluster_id")?.map(str::to_owned) } else { None };
    let controller = node(reader.i32("controller_id")?);
    let mut found = None;
    for _ in 0..reader.array_length(9, "topics")? {
        let error = ErrorCode(reader.i16("error_code")?);
        let name = reader.string("name")?;
        reader.bool("is_internal")?;
        let count = reader.array_length(18, "partitions")?;
        let partitions =
            (0..count).map(|_| read_partition(version, &mut reader)).collect::<Result<Vec<_>>>()?;
        if version >= 8 {
            reader.i32("topic_authorized_operations")?;
        }
        if name == topic {
            found = Some((error, partitions));
        }
    }
    if version >= 8 {
        reader.i32("cluster_authorized_operations")?;
    }
    let Some((error, mut partitions)) = found else {
        return Err(
            reader.error("topics", Problem::Invalid("the topic that was asked for is not among them"))
        );
    };
    partitions.sort_by_key(|partition| partition.index);
    Ok(TopicMetadata { brokers, controller, cluster_id, error, partitions })
}

fn read_broker(reader: &mut Reader<'_>) -> Result<Broker> {
    let id = reader.i32("node_id")?;
    let host = reader.string("host")?.to_owned();
    let at = reader.clone();
    let port = reader.i32("port")?;
    let port = u16::try_from(port).map_err(|_| {
        at.error("port", Problem::OutOfRange { got: port.into(), least: 0, most: u16::MAX.into() })
    })?;
    reader.nullable_string("rack")?;
    Ok(Broker { id, host, port })
}

fn read_partition(version: i16, reader: &mut Reader<'_>) -> Result<PartitionLeader> {
    let error = ErrorCode(reader.i16("error_code")?);
    let index = reader.i32("partition_index")?;
    let leader = node(reader.i32("leader_id")?);
    let epoch = if version >= 7 { reader.i32("leader_epoch")? } else { -1 };
    skip_nodes(reader, "replica_nodes")?;
    skip_nodes(reader, "isr_nodes")?;
    if version >= 5 {
        skip_nodes(reader, "offline_replicas")?;
    }
    Ok(PartitionLeader { index, leader, epoch, error })
}

fn skip_nodes(reader: &mut Reader<'_>, what: &'static str) -> Result<()> {
    let count = reader.array_length(4, what)?;
    reader.skip(4 * count, what)
}

/// A node id, where -1 is nobody.
fn node(id: i32) -> Option<i32> {
    (id >= 0).then_some(id)
}

#[cfg(test)]
mod tests;
