//! Produce and fetch in every version, as a client that writes its own bytes uses them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use kafka_protocol::{
    messages::{
        ApiKey, FetchRequest, FetchResponse, MetadataRequest, MetadataResponse, ProduceRequest,
        ProduceResponse, RequestHeader, ResponseHeader, TopicName,
        fetch_request::{FetchPartition, FetchTopic},
        metadata_request::MetadataRequestTopic,
        produce_request::{PartitionProduceData, TopicProduceData},
        produce_response::PartitionProduceResponse,
    },
    protocol::{Decodable, HeaderVersion, Request},
    records::{
        Compression, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Record, RecordBatchDecoder, RecordBatchEncoder,
        RecordEncodeOptions, TimestampType,
    },
};
use plumb_lab::sink::{ResponseError, SinkBroker};

use super::client::{LIMIT, TOPIC, sink};

struct Wire {
    stream: TcpStream,
    correlation_id: i32,
}

impl Wire {
    fn new(broker: &SinkBroker) -> Self {
        let stream = TcpStream::connect(broker.bootstrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self { stream, correlation_id: 0 }
    }

    fn send<R: Request>(&mut self, request: &R, version: i16) {
        self.correlation_id += 1;
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(self.correlation_id);
        let mut bytes = BytesMut::new();
        let header_version = ApiKey::try_from(R::KEY).unwrap().request_header_version(version);
        kafka_protocol::protocol::Encodable::encode(&header, &mut bytes, header_version).unwrap();
        request.encode(&mut bytes, version).unwrap();
        self.stream.write_all(&(bytes.len() as i32).to_be_bytes()).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    fn receive<R: Decodable + HeaderVersion>(&mut self, version: i16) -> R {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let mut bytes = vec![0; i32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut bytes).unwrap();
        let mut bytes = Bytes::from(bytes);
        let header = ResponseHeader::decode(&mut bytes, R::header_version(version)).unwrap();
        assert_eq!(header.correlation_id, self.correlation_id);
        let response = R::decode(&mut bytes, version).unwrap();
        assert!(bytes.is_empty());
        response
    }

    fn produce(&mut self, request: &ProduceRequest, version: i16) -> PartitionProduceResponse {
        self.send(request, version);
        let mut response: ProduceResponse = self.receive(version);
        response.responses.remove(0).partition_responses.remove(0)
    }
}

fn topic_id(wire: &mut Wire) -> uuid::Uuid {
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(TOPIC.into())));
    wire.send(&MetadataRequest::default().with_topics(Some(vec![topic])), 12);
    wire.receive::<MetadataResponse>(12).topics[0].topic_id
}

fn batch(value: &'static str) -> Bytes {
    let record = Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: 0,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset: 0,
        sequence: -1,
        timestamp: 1_000,
        key: None,
        value: Some(Bytes::from_static(value.as_bytes())),
        headers: Default::default(),
    };
    let mut bytes = BytesMut::new();
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    RecordBatchEncoder::encode(&mut bytes, [&record], &options).unwrap();
    bytes.freeze()
}

fn produce(topic: Topic, acks: i16, records: Bytes) -> ProduceRequest {
    let partition = PartitionProduceData::default().with_index(0).with_records(Some(records));
    let data = TopicProduceData::default().with_partition_data(vec![partition]);
    let data = match topic {
        Topic::Name => data.with_name(TopicName(TOPIC.into())),
        Topic::Id(id) => data.with_topic_id(id),
    };
    ProduceRequest::default().with_acks(acks).with_timeout_ms(1_000).with_topic_data(vec![data])
}

fn fetch(topic: Topic, offset: i64, max_wait: Duration) -> FetchRequest {
    let partition = FetchPartition::default().with_fetch_offset(offset).with_partition_max_bytes(1_000_000);
    let asked = FetchTopic::default().with_partitions(vec![partition]);
    let asked = match topic {
        Topic::Name => asked.with_topic(TopicName(TOPIC.into())),
        Topic::Id(id) => asked.with_topic_id(id),
    };
    FetchRequest::default()
        .with_max_wait_ms(max_wait.as_millis() as i32)
        .with_min_bytes(1)
        .with_max_bytes(1_000_000)
        .with_topics(vec![asked])
}

#[derive(Clone, Copy)]
enum Topic {
    Name,
    Id(uuid::Uuid),
}

#[test]
fn a_record_goes_in_and_out_in_every_version_by_name_and_by_id() {
    let (broker, _) = sink(1);
    let mut wire = Wire::new(&broker);
    let id = topic_id(&mut wire);
    let topic = |version, ids_from| if version >= ids_from { Topic::Id(id) } else { Topic::Name };
    for (offset, version) in (0..).zip(3..=13) {
        let response = wire.produce(&produce(topic(version, 13), 1, batch("value")), version);
        assert_eq!((response.error_code, response.base_offset), (0, offset), "version {version}");
    }
    for (offset, version) in (0..).zip(4..=14).chain([(0, 15), (0, 16)]) {
        wire.send(&fetch(topic(version, 13), offset, Duration::ZERO), version);
        let response: FetchResponse = wire.receive(version);
        let partition = &response.responses[0].partitions[0];
        assert_eq!((partition.error_code, partition.high_watermark), (0, 11), "version {version}");
        let batches = RecordBatchDecoder::decode_batch_info(&mut partition.records.clone().unwrap()).unwrap();
        assert!(batches.iter().map(|batch| batch.min_offset).eq(offset..11), "version {version}");
    }
}

#[test]
fn a_damaged_batch_is_answered_as_corrupt_and_not_stored() {
    let (broker, control) = sink(1);
    let mut damaged = batch("value").to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    let response = Wire::new(&broker).produce(&produce(Topic::Name, -1, damaged.into()), 9);
    assert_eq!((response.error_code, response.base_offset), (ResponseError::CorruptMessage.code(), -1));
    let counts = control.stats().topic(TOPIC);
    assert_eq!((counts.arrived, counts.batches_refused, counts.log_end), (0, 1, 0));
}

#[test]
fn acks_beyond_the_known_ones_are_refused() {
    let (broker, _) = sink(1);
    let response = Wire::new(&broker).produce(&produce(Topic::Name, 2, batch("value")), 9);
    assert_eq!(response.error_code, ResponseError::InvalidRequiredAcks.code());
}

#[test]
fn a_producer_that_wants_no_answer_gets_none_and_is_hung_up_on_after_an_error() {
    let (broker, control) = sink(1);
    let mut wire = Wire::new(&broker);
    wire.send(&produce(Topic::Name, 0, batch("value")), 9);
    assert_eq!(wire.produce(&produce(Topic::Name, 1, batch("value")), 9).base_offset, 1);
    wire.send(&produce(Topic::Name, 0, Bytes::from_static(b"no batch")), 9);
    assert_eq!(wire.stream.read(&mut [0]).unwrap(), 0);
    control.wait_until(LIMIT, |stats| stats.connections.cut_off == 1).unwrap();
}

#[test]
fn an_empty_fetch_waits_as_long_as_it_may_and_answers_with_nothing() {
    let (broker, _) = sink(1);
    let mut wire = Wire::new(&broker);
    let (before, max_wait) = (Instant::now(), Duration::from_millis(150));
    wire.send(&fetch(Topic::Name, 0, max_wait), 11);
    let response: FetchResponse = wire.receive(11);
    assert!(before.elapsed() >= max_wait);
    assert!(response.responses[0].partitions[0].records.as_ref().unwrap().is_empty());
}

#[test]
fn a_produce_behind_a_waiting_fetch_on_the_same_connection_ends_its_wait() {
    let (broker, _) = sink(1);
    let mut wire = Wire::new(&broker);
    wire.send(&fetch(Topic::Name, 0, LIMIT), 11);
    let fetch_id = wire.correlation_id;
    wire.send(&produce(Topic::Name, 1, batch("value")), 9);
    wire.correlation_id = fetch_id;
    let fetched: FetchResponse = wire.receive(11);
    assert!(!fetched.responses[0].partitions[0].records.as_ref().unwrap().is_empty());
    wire.correlation_id += 1;
    let produced: ProduceResponse = wire.receive(9);
    assert_eq!(produced.responses[0].partition_responses[0].base_offset, 0);
}
