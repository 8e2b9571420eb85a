//! Valid messages to begin from, for every target: another implementation's responses, and our batches.

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::fetch_response::{AbortedTransaction, FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, PartitionProduceResponse, TopicProduceResponse,
};
use kafka_protocol::messages::*;
use kafka_protocol::protocol::{Encodable, StrBytes};
use plumb_wire::batch::{BatchBuffer, CompressedBatch, ProducerSequence, RecordHeader, Seal};
use plumb_wire::compression::{Codec, Compressor};

/// Some for the target of this name.
///
/// # Panics
/// Where the other implementation cannot encode them, or there is no such target.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "api_versions" => {
            let key = ApiVersion::default().with_api_key(3).with_max_version(12);
            encoded(0..=0, |_| ApiVersionsResponse::default().with_api_keys(vec![key.clone(), key.clone()]))
                .into_iter()
                .map(|seed| seed[1..].to_vec())
                .collect()
        }
        "decompress" => Codec::ALL
            .into_iter()
            .map(|codec| {
                let mut seed = vec![codec.number() as u8];
                let plain = b"some plain bytes, some plain bytes, some plain bytes";
                compressor(codec).compress(plain, &mut seed).expect("compresses");
                seed
            })
            .collect(),
        "fetch_response" => encoded(4..=11, fetch),
        "frames" => (1..4).map(frames).collect(),
        "list_offsets" => encoded(1..=5, list_offsets),
        "metadata" => encoded(1..=8, metadata),
        "produce_response" => encoded(3..=8, produce),
        "producer_id" => {
            encoded(0..=1, |_| InitProducerIdResponse::default().with_producer_id(ProducerId(7)))
                .into_iter()
                .map(|seed| seed[1..].to_vec())
                .collect()
        }
        "records" => Codec::ALL.into_iter().map(batches).collect(),
        "sasl" => sasl(),
        _ => panic!("no target {target}"),
    }
}

/// A message in each version, behind the byte that chooses it.
fn encoded<M: Encodable>(
    versions: std::ops::RangeInclusive<i16>,
    message: impl Fn(i16) -> M,
) -> Vec<Vec<u8>> {
    let first = *versions.start();
    versions
        .map(|version| {
            let mut body = BytesMut::new();
            message(version).encode(&mut body, version).expect("encodes");
            [&[(version - first) as u8][..], &body].concat()
        })
        .collect()
}

fn text(words: &'static str) -> StrBytes {
    StrBytes::from_static_str(words)
}

fn topic() -> TopicName {
    TopicName(text("t"))
}

fn compressor(codec: Codec) -> Compressor {
    Compressor::new(codec, None).expect("the usual level is right")
}

/// Two batches, the second with headers.
fn batches(codec: Codec) -> Vec<u8> {
    let producer = ProducerSequence { id: 4, epoch: 1, base_sequence: 9 };
    let seal = Seal { timestamp_ms: 1_700_000_000_000, producer: Some(producer) };
    let mut all = Vec::new();
    for headers in [
        &[][..],
        &[RecordHeader { name: b"plumb", value: &[1; 48] }, RecordHeader { name: b"h", value: b"" }],
    ] {
        let mut batch = BatchBuffer::new(1 << 16);
        for length in [0, 3, 70, 200] {
            batch.push((length > 0).then_some(b"key"), &vec![b'v'; length], headers).expect("there is room");
        }
        let mut out = CompressedBatch::new();
        let sealed = batch.seal_compressed(4, &seal, &mut compressor(codec), &mut out).expect("compresses");
        all.extend_from_slice(sealed);
    }
    all
}

fn fetch(version: i16) -> FetchResponse {
    let aborted = AbortedTransaction::default().with_producer_id(ProducerId(1)).with_first_offset(7);
    let codec = Codec::ALL[version as usize % Codec::ALL.len()];
    let partition = |index| {
        PartitionData::default()
            .with_partition_index(index)
            .with_high_watermark(9)
            .with_aborted_transactions(Some(vec![aborted.clone()]))
            .with_records(Some(Bytes::from(batches(codec))))
    };
    let topic = FetchableTopicResponse::default()
        .with_topic(topic())
        .with_partitions(vec![partition(0), partition(1)]);
    FetchResponse::default().with_responses(vec![topic])
}

fn produce(version: i16) -> ProduceResponse {
    let mut partition = PartitionProduceResponse::default().with_index(1).with_base_offset(5);
    if version >= 8 {
        let error = BatchIndexAndErrorMessage::default().with_batch_index_error_message(Some(text("why")));
        partition = partition.with_record_errors(vec![error]).with_error_message(Some(text("so")));
    }
    let topic = TopicProduceResponse::default()
        .with_name(topic())
        .with_partition_responses(vec![partition.clone(), partition]);
    ProduceResponse::default().with_responses(vec![topic])
}

fn metadata(_version: i16) -> MetadataResponse {
    let broker = MetadataResponseBroker::default().with_host(text("localhost")).with_port(9092);
    let partition = MetadataResponsePartition::default()
        .with_replica_nodes(vec![BrokerId(0)])
        .with_isr_nodes(vec![BrokerId(0)]);
    let topic = MetadataResponseTopic::default().with_name(Some(topic())).with_partitions(vec![partition]);
    MetadataResponse::default().with_brokers(vec![broker]).with_topics(vec![topic])
}

fn list_offsets(_version: i16) -> ListOffsetsResponse {
    let partition = ListOffsetsPartitionResponse::default().with_offset(88);
    let topic = ListOffsetsTopicResponse::default().with_name(topic()).with_partitions(vec![partition]);
    ListOffsetsResponse::default().with_topics(vec![topic])
}

fn sasl() -> Vec<Vec<u8>> {
    let handshake = SaslHandshakeResponse::default().with_mechanisms(vec![text("PLAIN"), text("GSSAPI")]);
    let mut body = BytesMut::new();
    handshake.encode(&mut body, 1).expect("encodes");
    let answer = |_| SaslAuthenticateResponse::default().with_auth_bytes(Bytes::from_static(b"r=x,s=y"));
    let mut all = encoded(0..=1, answer);
    all.push(body.to_vec());
    all
}

/// Some frames in a stream that is read in pieces of `piece` bytes.
fn frames(piece: u8) -> Vec<u8> {
    let mut stream = vec![piece];
    for length in [4_u32, 9, 300] {
        stream.extend_from_slice(&length.to_be_bytes());
        stream.extend(std::iter::repeat_n(3, length as usize));
    }
    stream
}
