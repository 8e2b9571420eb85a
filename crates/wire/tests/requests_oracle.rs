//! Produce and fetch against another implementation of the protocol, in every version.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::fetch_response::{AbortedTransaction, FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::{
    BrokerId, FetchRequest, FetchResponse, ProduceRequest, ProduceResponse, ProducerId, RequestHeader,
    TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use plumb_wire::batch::{BatchBuffer, Seal};
use plumb_wire::error::ErrorCode;
use plumb_wire::fetch::{self, FetchHead, FetchPartition};
use plumb_wire::produce::{self, RequestHead};

fn topic_name(name: &'static str) -> TopicName {
    TopicName(StrBytes::from_static_str(name))
}

/// The request without its size, which is right, and its header.
fn opened(request: Vec<u8>, api_key: i16, version: i16) -> Bytes {
    let mut bytes = Bytes::from(request);
    let size = i32::from_be_bytes(bytes.split_to(4)[..].try_into().unwrap());
    assert_eq!(bytes.len(), size as usize);
    let header = RequestHeader::decode(&mut bytes, 1).unwrap();
    assert_eq!((header.request_api_key, header.request_api_version), (api_key, version));
    assert_eq!((header.correlation_id, header.client_id.as_deref()), (77, Some("plumb-1")));
    bytes
}

#[test]
fn the_oracle_reads_a_produce_request_that_was_written_in_pieces() {
    let seal = Seal { timestamp_ms: 5, producer: None };
    let mut batches = [BatchBuffer::new(10_000), BatchBuffer::new(10_000)];
    for (index, batch) in batches.iter_mut().enumerate() {
        for _ in 0..=index {
            batch.push(None, b"value", &[]).unwrap();
        }
        batch.seal(index + 1, &seal);
    }
    for version in produce::VERSIONS {
        let head = RequestHead {
            version,
            correlation_id: 77,
            client_id: "plumb-1",
            acks: -1,
            timeout_ms: 3_000,
            topic: "orders",
        };
        let mut out = Vec::new();
        let batches_bytes = batches.iter().map(|batch| batch.bytes().len()).sum();
        produce::request_head(&mut out, &head, 2, batches_bytes);
        for (index, batch) in batches.iter().enumerate() {
            out.extend_from_slice(&produce::partition_head(index as i32 + 4, batch.bytes().len()));
            out.extend_from_slice(batch.bytes());
        }
        let mut body = opened(out, 0, version);
        let request = ProduceRequest::decode(&mut body, version).unwrap();
        assert!(body.is_empty());
        assert_eq!((request.acks, request.timeout_ms, request.transactional_id), (-1, 3_000, None));
        let [topic] = &request.topic_data[..] else { panic!("one topic") };
        assert_eq!(topic.name, topic_name("orders"));
        let partitions: Vec<_> =
            topic.partition_data.iter().map(|one| (one.index, one.records.as_deref().unwrap())).collect();
        assert_eq!(partitions, [(4, batches[0].bytes()), (5, batches[1].bytes())]);
    }
}

#[test]
fn a_produce_response_of_the_oracle_is_read() {
    for version in produce::VERSIONS {
        let good = PartitionProduceResponse::default()
            .with_index(3)
            .with_base_offset(1_234_567)
            .with_log_append_time_ms(99)
            .with_log_start_offset(12);
        let bad = PartitionProduceResponse::default()
            .with_index(4)
            .with_error_code(10)
            .with_base_offset(-1)
            .with_log_append_time_ms(-1)
            .with_log_start_offset(-1);
        let record_error = |words| {
            BatchIndexAndErrorMessage::default()
                .with_batch_index(1)
                .with_batch_index_error_message(Some(StrBytes::from_static_str(words)))
        };
        // Only version 8 has words.
        let (bad, good) = match version {
            8 => (
                bad.with_record_errors(vec![record_error("first"), record_error("second")]),
                good.with_error_message(Some(StrBytes::from_static_str("whole")))
                    .with_record_errors(vec![record_error("part")]),
            ),
            _ => (bad, good),
        };
        let topics = vec![
            TopicProduceResponse::default().with_name(topic_name("a")).with_partition_responses(vec![good]),
            TopicProduceResponse::default().with_name(topic_name("b")).with_partition_responses(vec![bad]),
        ];
        let mut body = BytesMut::new();
        ProduceResponse::default()
            .with_responses(topics)
            .with_throttle_time_ms(250)
            .encode(&mut body, version)
            .unwrap();

        let mut answers = Vec::new();
        let throttle = produce::read_response(version, &body, &mut |answer| answers.push(answer));
        assert_eq!(throttle, Ok(250), "version {version}");
        let [first, second] = &answers[..] else { panic!("two partitions") };
        assert_eq!((first.topic, first.index, first.base_offset), ("a", 3, 1_234_567));
        assert_eq!(first.error_code, ErrorCode::NONE);
        assert_eq!((second.topic, second.index), ("b", 4));
        assert_eq!(second.error_code, ErrorCode(10));
    }
}

#[test]
fn the_oracle_reads_a_fetch_request() {
    for version in fetch::VERSIONS {
        let head = FetchHead {
            version,
            correlation_id: 77,
            client_id: "plumb-1",
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: 50 << 20,
            topic: "orders",
        };
        let wanted = [2, 9].map(|index| FetchPartition {
            index,
            leader_epoch: 6,
            offset: 1_000 + i64::from(index),
            max_bytes: 1 << 20,
        });
        let mut out = Vec::new();
        fetch::request(&mut out, &head, wanted.into_iter());
        let mut body = opened(out, 1, version);
        let request = FetchRequest::decode(&mut body, version).unwrap();
        assert!(body.is_empty());
        assert_eq!((request.replica_id, request.isolation_level), (BrokerId(-1), 0));
        assert_eq!((request.max_wait_ms, request.min_bytes, request.max_bytes), (500, 1, 50 << 20));
        assert_eq!((request.session_id, request.session_epoch), (0, -1));
        assert!(request.forgotten_topics_data.is_empty() && request.rack_id.is_empty());
        let [topic] = &request.topics[..] else { panic!("one topic") };
        assert_eq!(topic.topic, topic_name("orders"));
        for (got, wanted) in topic.partitions.iter().zip(wanted) {
            assert_eq!((got.partition, got.fetch_offset), (wanted.index, wanted.offset));
            assert_eq!((got.partition_max_bytes, got.log_start_offset), (wanted.max_bytes, -1));
            assert_eq!(got.current_leader_epoch, if version >= 9 { 6 } else { -1 });
        }
        assert_eq!(topic.partitions.len(), 2);
    }
}

#[test]
fn a_fetch_response_of_the_oracle_is_read() {
    for version in fetch::VERSIONS {
        let aborted = AbortedTransaction::default().with_producer_id(ProducerId(1)).with_first_offset(7);
        let full = PartitionData::default()
            .with_partition_index(2)
            .with_high_watermark(900)
            .with_last_stable_offset(890)
            .with_log_start_offset(10)
            .with_aborted_transactions(Some(vec![aborted.clone(), aborted]))
            .with_records(Some(Bytes::from_static(b"some records")));
        let empty = PartitionData::default()
            .with_partition_index(5)
            .with_error_code(1)
            .with_high_watermark(-1)
            .with_last_stable_offset(-1)
            .with_log_start_offset(-1)
            .with_aborted_transactions(None)
            .with_records(None);
        let topic =
            FetchableTopicResponse::default().with_topic(topic_name("t")).with_partitions(vec![full, empty]);
        let mut response = FetchResponse::default().with_throttle_time_ms(31).with_responses(vec![topic]);
        if version >= 7 {
            response = response.with_error_code(71).with_session_id(0);
        }
        let mut body = BytesMut::new();
        response.encode(&mut body, version).unwrap();

        let mut partitions = Vec::new();
        let answer = fetch::read_response(version, &body, &mut |one| partitions.push(one)).unwrap();
        assert_eq!(answer.throttle_ms, 31);
        assert_eq!(answer.error_code, ErrorCode(if version >= 7 { 71 } else { 0 }));
        let [full, empty] = &partitions[..] else { panic!("two partitions") };
        assert_eq!((full.topic, full.index, full.error_code), ("t", 2, ErrorCode::NONE));
        assert_eq!(full.records, b"some records");
        assert_eq!((empty.index, empty.error_code, empty.records), (5, ErrorCode(1), &[][..]));
    }
}
