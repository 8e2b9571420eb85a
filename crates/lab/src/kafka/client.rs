//! A small blocking client over plain TCP: enough to ask a broker who it is, make a topic, and send a record round.
//!
//! It is how a lab finds out that its brokers work, and how tests look at a broker without a client library in
//! between. Not for load: one connection, one request at a time, no retries.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::error::{ParseResponseErrorCode, ResponseError};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    CreateTopicsRequest, DeleteTopicsRequest, DescribeConfigsRequest, FetchRequest, MetadataRequest,
    MetadataResponse, ProduceRequest, RequestHeader, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Record,
    RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};

/// Longest answer that is read, in bytes. Ours: a lab's answers are a few kB; anything longer is not Kafka.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The resource type of a broker in DescribeConfigs (`ConfigResource.Type.BROKER`).
const BROKER_RESOURCE: i8 = 4;

/// The reason why there is no answer of a broker.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection, or it broke or timed out.
    #[error("{address}: {request}: {source}")]
    Connection {
        /// The broker.
        address: SocketAddr,
        /// The request that was under way.
        request: &'static str,
        /// The system's word.
        source: io::Error,
    },
    /// The answer is not Kafka's to that request.
    #[error("{address}: {request}: not a Kafka answer: {reason}")]
    NotKafka {
        /// The broker.
        address: SocketAddr,
        /// The request.
        request: &'static str,
        /// The fault in the answer.
        reason: String,
    },
    /// The broker answered with an error code.
    #[error("{address}: {request}: {error}")]
    Refused {
        /// The broker.
        address: SocketAddr,
        /// The request.
        request: &'static str,
        /// The broker's word.
        error: ResponseError,
    },
}

/// A connection to the plaintext listener of one broker.
pub struct PlainClient {
    stream: TcpStream,
    address: SocketAddr,
    correlation_id: i32,
}

impl PlainClient {
    /// Connects; `timeout` holds for the connection and then for every read and write.
    ///
    /// # Errors
    /// [`ClientError::Connection`] when nobody listens there.
    pub fn connect(address: SocketAddr, timeout: Duration) -> Result<Self, ClientError> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, timeout)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let stream =
            connect().map_err(|source| ClientError::Connection { address, request: "connect", source })?;
        Ok(Self { stream, address, correlation_id: 0 })
    }

    /// The cluster as this broker sees it, with the named topics (none: only the brokers).
    ///
    /// # Errors
    /// See [`ClientError`]. An error code of a topic is left in the answer.
    pub fn metadata(&mut self, topics: &[&str]) -> Result<MetadataResponse, ClientError> {
        let wanted =
            topics.iter().map(|topic| MetadataRequestTopic::default().with_name(Some(topic_name(topic))));
        let request = MetadataRequest::default()
            .with_topics(Some(wanted.collect()))
            .with_allow_auto_topic_creation(false);
        self.call("Metadata", 12, &request)
    }

    /// Makes a topic whose partition `i` has the replicas `assignment[i]`, the first of them its leader, and whose
    /// settings differ from the brokers' where `configs` says so.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn create_topic(
        &mut self,
        topic: &str,
        assignment: &[Vec<i32>],
        configs: &[(&str, &str)],
    ) -> Result<(), ClientError> {
        let partition = |(index, replicas): (usize, &Vec<i32>)| {
            CreatableReplicaAssignment::default()
                .with_partition_index(index as i32)
                .with_broker_ids(replicas.iter().map(|&id| id.into()).collect())
        };
        let config = |&(key, value): &(&str, &str)| {
            CreatableTopicConfig::default()
                .with_name(StrBytes::from_string(key.to_owned()))
                .with_value(Some(StrBytes::from_string(value.to_owned())))
        };
        let creatable = CreatableTopic::default()
            .with_configs(configs.iter().map(config).collect())
            .with_name(topic_name(topic))
            .with_num_partitions(-1)
            .with_replication_factor(-1)
            .with_assignments(assignment.iter().enumerate().map(partition).collect());
        let request = CreateTopicsRequest::default().with_topics(vec![creatable]).with_timeout_ms(10_000);
        let answer = self.call("CreateTopics", 7, &request)?;
        answer.topics.iter().try_for_each(|result| self.accepted("CreateTopics", result.error_code))
    }

    /// Deletes a topic.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn delete_topic(&mut self, topic: &str) -> Result<(), ClientError> {
        let request =
            DeleteTopicsRequest::default().with_topic_names(vec![topic_name(topic)]).with_timeout_ms(10_000);
        let answer = self.call("DeleteTopics", 5, &request)?;
        answer.responses.iter().try_for_each(|result| self.accepted("DeleteTopics", result.error_code))
    }

    /// Sends one record with `acks=all` to a partition that this broker leads. Returns its offset.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn produce(&mut self, topic: &str, partition: i32, value: &[u8]) -> Result<i64, ClientError> {
        let batch = one_record_batch(value).map_err(|reason| self.not_kafka("Produce", reason))?;
        let data = PartitionProduceData::default().with_index(partition).with_records(Some(batch));
        let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(10_000).with_topic_data(vec![
            TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(vec![data]),
        ]);
        let answer = self.call("Produce", 12, &request)?;
        let result = answer.responses.first().and_then(|topic| topic.partition_responses.first());
        let result = result.ok_or_else(|| self.not_kafka("Produce", "no partition in it".into()))?;
        self.accepted("Produce", result.error_code)?;
        Ok(result.base_offset)
    }

    /// The values of the records from `offset` on that a consumer may see now; empty when there are none yet.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn fetch(&mut self, topic: &str, partition: i32, offset: i64) -> Result<Vec<Bytes>, ClientError> {
        let wanted = FetchPartition::default()
            .with_partition(partition)
            .with_fetch_offset(offset)
            .with_partition_max_bytes(1 << 20);
        let request = FetchRequest::default()
            .with_max_wait_ms(100)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_topics(vec![
                FetchTopic::default().with_topic(topic_name(topic)).with_partitions(vec![wanted]),
            ]);
        let answer = self.call("Fetch", 12, &request)?;
        self.accepted("Fetch", answer.error_code)?;
        let result = answer.responses.first().and_then(|topic| topic.partitions.first());
        let result = result.ok_or_else(|| self.not_kafka("Fetch", "no partition in it".into()))?;
        self.accepted("Fetch", result.error_code)?;
        let mut records = result.records.clone().unwrap_or_default();
        let sets = RecordBatchDecoder::decode_all(&mut records)
            .map_err(|e| self.not_kafka("Fetch", format!("{e:#}")))?;
        Ok(sets.into_iter().flat_map(|set| set.records).filter_map(|record| record.value).collect())
    }

    /// The value in force of one property of the broker with that node id; absent when it has none or hides it.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn broker_property(&mut self, node_id: i32, key: &str) -> Result<Option<String>, ClientError> {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(BROKER_RESOURCE)
            .with_resource_name(StrBytes::from_string(node_id.to_string()))
            .with_configuration_keys(Some(vec![StrBytes::from_string(key.to_owned())]));
        let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
        let answer = self.call("DescribeConfigs", 4, &request)?;
        answer.results.iter().try_for_each(|result| self.accepted("DescribeConfigs", result.error_code))?;
        let mut properties = answer.results.iter().flat_map(|result| &result.configs);
        let found = properties.find(|property| &*property.name == key);
        Ok(found.and_then(|property| property.value.as_ref()).map(|value| value.to_string()))
    }

    /// Sends one request and reads its answer.
    fn call<R: Request>(
        &mut self,
        name: &'static str,
        version: i16,
        request: &R,
    ) -> Result<R::Response, ClientError> {
        self.correlation_id += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id)
            .with_client_id(Some(StrBytes::from_static_str("plumb-lab")));
        let mut frame = BytesMut::from(&[0u8; 4][..]);
        header
            .encode(&mut frame, R::header_version(version))
            .and_then(|()| request.encode(&mut frame, version))
            .map_err(|e| self.not_kafka(name, format!("{e:#}")))?;
        let length = (frame.len() - 4) as u32;
        frame[..4].copy_from_slice(&length.to_be_bytes());

        let mut answer = self.exchange(name, &frame)?;
        let header = ResponseHeader::decode(&mut answer, R::Response::header_version(version))
            .map_err(|e| self.not_kafka(name, format!("{e:#}")))?;
        if header.correlation_id != self.correlation_id {
            let reason = format!("answer {} to request {}", header.correlation_id, self.correlation_id);
            return Err(self.not_kafka(name, reason));
        }
        R::Response::decode(&mut answer, version).map_err(|e| self.not_kafka(name, format!("{e:#}")))
    }

    fn exchange(&mut self, request: &'static str, frame: &[u8]) -> Result<Bytes, ClientError> {
        let address = self.address;
        let broken = |source| ClientError::Connection { address, request, source };
        self.stream.write_all(frame).map_err(broken)?;
        let mut length = [0u8; 4];
        self.stream.read_exact(&mut length).map_err(broken)?;
        let length = (&length[..]).get_u32() as usize;
        if length > ANSWER_BYTES_MAX {
            return Err(self.not_kafka(request, format!("{length} bytes announced")));
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer).map_err(broken)?;
        Ok(answer.into())
    }

    fn accepted(&self, request: &'static str, error_code: i16) -> Result<(), ClientError> {
        match error_code.err() {
            None => Ok(()),
            Some(error) => Err(ClientError::Refused { address: self.address, request, error }),
        }
    }

    fn not_kafka(&self, request: &'static str, reason: String) -> ClientError {
        ClientError::NotKafka { address: self.address, request, reason }
    }
}

fn topic_name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}

fn one_record_batch(value: &[u8]) -> Result<Bytes, String> {
    let record = Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset: 0,
        sequence: NO_SEQUENCE,
        timestamp: 0,
        key: None,
        value: Some(Bytes::copy_from_slice(value)),
        headers: Default::default(),
    };
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    let mut batch = BytesMut::new();
    RecordBatchEncoder::encode(&mut batch, [&record], &options).map_err(|e| format!("{e:#}"))?;
    Ok(batch.freeze())
}
