use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{MetadataRequest, MetadataResponse, TopicName};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use proptest::prelude::*;

use super::*;

fn topic(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

/// A cluster of two brokers with two topics, as the protocol crate writes it.
fn response(version: i16) -> Vec<u8> {
    let partition = |index, leader: i32, error_code| {
        MetadataResponsePartition::default()
            .with_partition_index(index)
            .with_leader_id(leader.into())
            .with_leader_epoch(if version >= 7 { 40 + index } else { -1 })
            .with_replica_nodes(vec![1.into(), 2.into()])
            .with_isr_nodes(vec![2.into()])
            .with_offline_replicas(if version >= 5 { vec![1.into()] } else { vec![] })
            .with_error_code(error_code)
    };
    let broker = |id: i32, rack| {
        MetadataResponseBroker::default()
            .with_node_id(id.into())
            .with_host(StrBytes::from_string(format!("kafka-{id}")))
            .with_port(9090 + id)
            .with_rack(rack)
    };
    let mut bytes = BytesMut::new();
    MetadataResponse::default()
        .with_brokers(vec![broker(1, Some("a".into())), broker(2, None)])
        .with_cluster_id((version >= 2).then(|| "cluster".into()))
        .with_controller_id(2.into())
        .with_topics(vec![
            MetadataResponseTopic::default()
                .with_name(Some(topic("events")))
                .with_partitions(vec![partition(1, 2, 0), partition(0, -1, 5)]),
            MetadataResponseTopic::default().with_name(Some(topic("nobody"))).with_error_code(3),
        ])
        .encode(&mut bytes, version)
        .unwrap();
    bytes.to_vec()
}

#[test]
fn every_version_reads_what_the_protocol_crate_writes() {
    for version in VERSIONS {
        let metadata = read_response(version, "events", &response(version)).unwrap();
        let epoch = |index| if version >= 7 { 40 + index } else { -1 };
        assert_eq!(
            metadata,
            TopicMetadata {
                brokers: vec![
                    Broker { id: 1, host: "kafka-1".into(), port: 9091 },
                    Broker { id: 2, host: "kafka-2".into(), port: 9092 },
                ],
                controller: Some(2),
                cluster_id: (version >= 2).then(|| "cluster".into()),
                error: ErrorCode::NONE,
                partitions: vec![
                    PartitionLeader { index: 0, leader: None, epoch: epoch(0), error: ErrorCode(5) },
                    PartitionLeader { index: 1, leader: Some(2), epoch: epoch(1), error: ErrorCode::NONE },
                ],
            },
            "version {version}"
        );
    }
}

#[test]
fn a_topic_that_is_not_there_has_the_brokers_error_and_one_that_was_not_answered_is_ours() {
    let absent = read_response(8, "nobody", &response(8)).unwrap();
    assert_eq!((absent.error, absent.partitions), (ErrorCode(3), vec![]));
    assert!(read_response(8, "other", &response(8)).is_err());
}

#[test]
fn every_version_asks_for_one_topic_without_making_it() {
    for version in VERSIONS {
        let mut out = Vec::new();
        write_request(version, "events", &mut out);
        let mut bytes = Bytes::from(out);
        let request = MetadataRequest::decode(&mut bytes, version).unwrap();
        assert!(bytes.is_empty(), "version {version}");
        let topics: Vec<_> = request.topics.unwrap().into_iter().map(|topic| topic.name).collect();
        assert_eq!(topics, [Some(topic("events"))]);
        // Before version 4 there is no way to say so.
        assert_eq!(request.allow_auto_topic_creation, version < 4);
    }
}

#[test]
fn every_shortened_response_is_an_error() {
    for version in VERSIONS {
        let whole = response(version);
        for length in 0..whole.len() {
            assert!(
                read_response(version, "events", &whole[..length]).is_err(),
                "{length} bytes of version {version}"
            );
        }
    }
}

#[test]
fn a_port_that_is_none_is_an_error_that_says_so() {
    let mut bytes = response(1);
    // After the count, the node id and "kafka-1".
    bytes[17..21].copy_from_slice(&70_000_i32.to_be_bytes());
    let error = read_response(1, "events", &bytes).unwrap_err();
    assert_eq!(error.to_string(), "port at byte 17: 70000 is not within 0 to 65535");
}

proptest! {
    #[test]
    fn whatever_replaces_bytes_of_a_response_it_is_read_or_an_error(
        version in VERSIONS, at in 0_usize..120, with in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let mut bytes = response(version);
        let at = at.min(bytes.len());
        bytes.splice(at..(at + with.len()).min(bytes.len()), with);
        let _result = read_response(version, "events", &bytes);
    }

    #[test]
    fn arrays_that_claim_more_than_there_is_are_errors(claimed in 1_000_i32..) {
        let mut bytes = claimed.to_be_bytes().to_vec();
        bytes.resize(200, 0);
        prop_assert!(read_response(1, "events", &bytes).is_err());
    }
}
