//! The number of messages of a topic, by the broker's own count.
//!
//! One connection and the smallest request there is for it, because it is sent forty times a second while others are measured.

use crate::error::BenchError;
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    BrokerId, ListOffsetsRequest, ListOffsetsResponse, RequestHeader, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The newest without flexible fields.
const VERSION: i16 = 5;

/// ListOffsets' word for the end of the log.
const LATEST: i64 = -1;

/// Longest answer that is read. Ours: one of six partitions is below 300 bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A connection that asks for end offsets.
pub struct Offsets {
    stream: TcpStream,
    correlation_id: i32,
}

impl Offsets {
    /// Connects to a plaintext listener.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(address: SocketAddr) -> Result<Offsets, BenchError> {
        let limit = Duration::from_secs(10);
        let stream = TcpStream::connect_timeout(&address, limit)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_nodelay(true)?;
        Ok(Offsets { stream, correlation_id: 0 })
    }

    /// The end offset of each partition from 0 to `partitions`. A new topic has none for a moment: that is an error.
    ///
    /// # Errors
    /// [`BenchError::Offsets`] with the broker's word, or a broken connection.
    pub fn ends(&mut self, topic: &str, partitions: i32) -> Result<Vec<u64>, BenchError> {
        let bad = |reason: String| BenchError::Offsets { topic: topic.to_owned(), reason };
        let frame = self.request(topic, partitions).map_err(|error| bad(format!("{error:#}")))?;
        self.stream.write_all(&frame)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > ANSWER_BYTES_MAX {
            return Err(bad(format!("{length} bytes announced")));
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = decode(answer.into()).map_err(|error| bad(format!("{error:#}")))?;
        let mut rows: Vec<_> = answer.topics.into_iter().flat_map(|topic| topic.partitions).collect();
        rows.sort_by_key(|row| row.partition_index);
        if let Some(row) = rows.iter().find(|row| row.error_code != 0) {
            return Err(bad(format!("partition {}: error code {}", row.partition_index, row.error_code)));
        }
        if rows.len() as i32 != partitions {
            return Err(bad(format!("{} partitions answered for, expected {partitions}", rows.len())));
        }
        rows.iter().map(|row| u64::try_from(row.offset).map_err(|_| bad(row.offset.to_string()))).collect()
    }

    fn request(&mut self, topic: &str, partitions: i32) -> Result<BytesMut, Box<dyn std::error::Error>> {
        self.correlation_id += 1;
        let partition =
            |index| ListOffsetsPartition::default().with_partition_index(index).with_timestamp(LATEST);
        let topic = ListOffsetsTopic::default()
            .with_name(TopicName(StrBytes::from_string(topic.to_owned())))
            .with_partitions((0..partitions).map(partition).collect());
        // -1 is what a client calls itself where a replica gives its number.
        let request = ListOffsetsRequest::default().with_replica_id(BrokerId(-1)).with_topics(vec![topic]);
        let header = RequestHeader::default()
            .with_request_api_key(ListOffsetsRequest::KEY)
            .with_request_api_version(VERSION)
            .with_correlation_id(self.correlation_id);
        let mut frame = BytesMut::from(&[0u8; 4][..]);
        header.encode(&mut frame, ListOffsetsRequest::header_version(VERSION))?;
        request.encode(&mut frame, VERSION)?;
        let length = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        Ok(frame)
    }
}

fn decode(mut answer: Bytes) -> Result<ListOffsetsResponse, Box<dyn std::error::Error>> {
    ResponseHeader::decode(&mut answer, ListOffsetsResponse::header_version(VERSION))?;
    Ok(ListOffsetsResponse::decode(&mut answer, VERSION)?)
}
