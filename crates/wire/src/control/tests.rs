use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::{
    InitProducerIdRequest, InitProducerIdResponse, ListOffsetsRequest, ListOffsetsResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use proptest::prelude::*;

use super::*;

fn topic(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

fn encoded(message: &impl Encodable, version: i16) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    message.encode(&mut bytes, version).unwrap();
    bytes.to_vec()
}

fn decoded<M: Decodable>(bytes: Vec<u8>, version: i16) -> M {
    let mut bytes = Bytes::from(bytes);
    let message = M::decode(&mut bytes, version).unwrap();
    assert!(bytes.is_empty(), "version {version}");
    message
}

fn producer_id(version: i16) -> Vec<u8> {
    let response = InitProducerIdResponse::default()
        .with_error_code(14)
        .with_producer_id(77.into())
        .with_producer_epoch(3);
    encoded(&response, version)
}

fn offsets(version: i16) -> Vec<u8> {
    let partition = |index, error_code, offset| {
        ListOffsetsPartitionResponse::default()
            .with_partition_index(index)
            .with_error_code(error_code)
            .with_offset(offset)
    };
    let response = ListOffsetsResponse::default().with_topics(vec![
        ListOffsetsTopicResponse::default()
            .with_name(topic("other"))
            .with_partitions(vec![partition(0, 0, 9)]),
        ListOffsetsTopicResponse::default()
            .with_name(topic("events"))
            .with_partitions(vec![partition(5, 6, -1), partition(2, 0, 1 << 40)]),
    ]);
    encoded(&response, version)
}

#[test]
fn a_producer_id_is_read_as_the_protocol_crate_writes_it() {
    for version in INIT_PRODUCER_ID_VERSIONS {
        let read = read_producer_id(&producer_id(version)).unwrap();
        assert_eq!(read, (ErrorCode(14), ProducerId { id: 77, epoch: 3 }));
    }
}

#[test]
fn a_producer_id_is_asked_for_without_a_transaction() {
    for version in INIT_PRODUCER_ID_VERSIONS {
        let mut out = Vec::new();
        write_init_producer_id(&mut out);
        let request: InitProducerIdRequest = decoded(out, version);
        assert_eq!((request.transactional_id, request.transaction_timeout_ms), (None, i32::MAX));
    }
}

#[test]
fn offsets_of_the_topic_and_no_other_are_read_in_every_version() {
    for version in LIST_OFFSETS_VERSIONS {
        let read = read_offsets(version, "events", &offsets(version)).unwrap();
        let expected = [
            PartitionOffset { index: 2, error: ErrorCode::NONE, offset: 1 << 40 },
            PartitionOffset { index: 5, error: ErrorCode(6), offset: -1 },
        ];
        assert_eq!(read, expected, "version {version}");
    }
}

#[test]
fn each_end_of_a_log_is_asked_for_in_every_version_and_the_leaders_own_as_a_replica() {
    let asked = [(End::Earliest, -2, -1), (End::LogEnd, -1, -2)];
    for (version, (end, timestamp, replica)) in
        LIST_OFFSETS_VERSIONS.flat_map(|version| asked.map(|asked| (version, asked)))
    {
        let mut out = Vec::new();
        write_list_offsets(version, "events", &[2, 5], end, &mut out);
        let request: ListOffsetsRequest = decoded(out, version);
        assert_eq!(request.replica_id, replica);
        assert_eq!(request.topics.len(), 1);
        assert_eq!(request.topics[0].name, topic("events"));
        let asked: Vec<_> = request.topics[0]
            .partitions
            .iter()
            .map(|asked| (asked.partition_index, asked.timestamp))
            .collect();
        assert_eq!(asked, [(2, timestamp), (5, timestamp)]);
    }
}

#[test]
fn every_shortened_response_is_an_error() {
    for length in 0..producer_id(1).len() {
        assert!(read_producer_id(&producer_id(1)[..length]).is_err());
    }
    for version in LIST_OFFSETS_VERSIONS {
        for length in 0..offsets(version).len() {
            assert!(read_offsets(version, "events", &offsets(version)[..length]).is_err());
        }
    }
}

proptest! {
    #[test]
    fn whatever_replaces_bytes_of_a_response_it_is_read_or_an_error(
        version in LIST_OFFSETS_VERSIONS, at in 0_usize..160, with in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let replaced = |mut bytes: Vec<u8>| {
            let at = at.min(bytes.len());
            bytes.splice(at..(at + with.len()).min(bytes.len()), with.iter().copied());
            bytes
        };
        let _result = read_offsets(version, "events", &replaced(offsets(version)));
        let _result = read_producer_id(&replaced(producer_id(1)));
    }
}
