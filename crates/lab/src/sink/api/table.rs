//! The requests that the sink answers: one row each, with the versions, the layout and the function that answers it.

use bytes::Bytes;
use kafka_protocol::{
    ResponseError,
    messages::{ApiKey, ApiVersionsResponse, api_versions_response::ApiVersion},
};

use super::{
    super::shape::{
        Part::{Blob, Fixed, In, List, Plain, Text},
        Shape,
    },
    Call, Reply, RequestError, admin, fetch, groups, metadata, offsets, produce,
};

const NEWEST: i16 = i16::MAX;

pub(super) struct ApiRow {
    pub(super) api: ApiKey,
    /// First and last.
    pub(super) versions: (i16, i16),
    pub(super) shape: Shape,
    pub(super) answer: fn(&Call, Bytes) -> Result<Reply, RequestError>,
}

/// Kafka names versions above these for some; what they add is of no use here (topic ids in commits, transactions of
/// version 2, new group protocols, fetch sessions' directory ids).
#[rustfmt::skip]
static ROWS: [ApiRow; 20] = [
    ApiRow {
        api: ApiKey::Produce, versions: (3, 13),
        shape: Shape { flexible_from: 9, fields: &[Text, Fixed(6), List(&[
            In(0, 12, &Text), In(13, NEWEST, &Fixed(16)), List(&[Fixed(4), Blob]),
        ])] },
        answer: |call, body| produce::answer(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::Fetch, versions: (4, 16),
        shape: Shape { flexible_from: 12, fields: &[
            In(0, 14, &Fixed(4)), Fixed(13), In(7, NEWEST, &Fixed(8)),
            List(&[In(0, 12, &Text), In(13, NEWEST, &Fixed(16)), List(&[
                Fixed(4), In(9, NEWEST, &Fixed(4)), Fixed(8), In(12, NEWEST, &Fixed(4)), In(5, NEWEST, &Fixed(8)),
                Fixed(4),
            ])]),
            In(7, NEWEST, &List(&[In(0, 12, &Text), In(13, NEWEST, &Fixed(16)), Plain(&Fixed(4))])),
            In(11, NEWEST, &Text),
        ] },
        answer: |call, body| fetch::answer(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::ListOffsets, versions: (1, 6),
        shape: Shape { flexible_from: 6, fields: &[Fixed(4), In(2, NEWEST, &Fixed(1)), List(&[Text, List(&[
            Fixed(4), In(4, NEWEST, &Fixed(4)), Fixed(8),
        ])])] },
        answer: |call, body| offsets::list(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::Metadata, versions: (1, 13),
        shape: Shape { flexible_from: 9, fields: &[
            List(&[In(10, NEWEST, &Fixed(16)), Text]),
            In(4, NEWEST, &Fixed(1)), In(8, NEWEST, &Fixed(1)), In(8, 10, &Fixed(1)),
        ] },
        answer: |call, body| metadata::answer(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::OffsetCommit, versions: (2, 9),
        shape: Shape { flexible_from: 8, fields: &[
            Text, Fixed(4), Text, In(7, NEWEST, &Text), In(2, 4, &Fixed(8)),
            List(&[Text, List(&[Fixed(12), In(6, NEWEST, &Fixed(4)), Text])]),
        ] },
        answer: |call, body| groups::commit(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::OffsetFetch, versions: (1, 7),
        shape: Shape { flexible_from: 6, fields: &[
            Text, List(&[Text, Plain(&Fixed(4))]), In(7, NEWEST, &Fixed(1)),
        ] },
        answer: |call, body| groups::committed(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::FindCoordinator, versions: (0, 3),
        shape: Shape { flexible_from: 3, fields: &[Text, In(1, NEWEST, &Fixed(1))] },
        answer: |call, body| groups::coordinator(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::JoinGroup, versions: (1, 7),
        shape: Shape { flexible_from: 6, fields: &[
            Text, Fixed(8), Text, In(5, NEWEST, &Text), Text, List(&[Text, Blob]),
        ] },
        answer: |call, body| groups::join(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::Heartbeat, versions: (0, 4),
        shape: Shape { flexible_from: 4, fields: &[Text, Fixed(4), Text, In(3, NEWEST, &Text)] },
        answer: |call, body| groups::heartbeat(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::LeaveGroup, versions: (0, 5),
        shape: Shape { flexible_from: 4, fields: &[
            Text, In(0, 2, &Text), In(3, NEWEST, &List(&[Text, Text, In(5, NEWEST, &Text)])),
        ] },
        answer: |call, body| groups::leave(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::SyncGroup, versions: (0, 5),
        shape: Shape { flexible_from: 4, fields: &[
            Text, Fixed(4), Text, In(3, NEWEST, &Text), In(5, NEWEST, &Text), In(5, NEWEST, &Text), List(&[Text, Blob]),
        ] },
        answer: |call, body| groups::sync(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::ApiVersions, versions: (0, 4),
        shape: Shape { flexible_from: 3, fields: &[In(3, NEWEST, &Text), In(3, NEWEST, &Text)] },
        answer: |call, _| versions(call),
    },
    ApiRow {
        api: ApiKey::CreateTopics, versions: (2, 7),
        shape: Shape { flexible_from: 5, fields: &[
            List(&[Text, Fixed(6), List(&[Fixed(4), Plain(&Fixed(4))]), List(&[Text, Text])]), Fixed(5),
        ] },
        answer: |call, body| admin::create_topics(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::DeleteTopics, versions: (1, 6),
        shape: Shape { flexible_from: 4, fields: &[
            In(6, NEWEST, &List(&[Text, Fixed(16)])), In(0, 5, &Plain(&Text)), Fixed(4),
        ] },
        answer: |call, body| admin::delete_topics(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::InitProducerId, versions: (0, 4),
        shape: Shape { flexible_from: 2, fields: &[Text, Fixed(4), In(3, NEWEST, &Fixed(10))] },
        answer: |call, body| produce::init_producer_id(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::OffsetForLeaderEpoch, versions: (2, 4),
        shape: Shape { flexible_from: 4, fields: &[In(3, NEWEST, &Fixed(4)), List(&[Text, List(&[Fixed(12)])])] },
        answer: |call, body| offsets::of_leader_epoch(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::DescribeConfigs, versions: (1, 4),
        shape: Shape { flexible_from: 4, fields: &[
            List(&[Fixed(1), Text, Plain(&Text)]), Fixed(1), In(3, NEWEST, &Fixed(1)),
        ] },
        answer: |call, body| admin::describe_configs(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::CreatePartitions, versions: (0, 3),
        shape: Shape { flexible_from: 2, fields: &[List(&[Text, Fixed(4), List(&[Plain(&Fixed(4))])]), Fixed(5)] },
        answer: |call, body| admin::create_partitions(call, call.decode(body)?),
    },
    ApiRow {
        api: ApiKey::DescribeCluster, versions: (0, 1),
        shape: Shape { flexible_from: 0, fields: &[Fixed(1), In(1, NEWEST, &Fixed(1))] },
        answer: |call, _| metadata::cluster(call),
    },
    ApiRow {
        api: ApiKey::DeleteGroups, versions: (0, 2),
        shape: Shape { flexible_from: 2, fields: &[Plain(&Text)] },
        answer: |call, body| groups::delete(call, call.decode(body)?),
    },
];

pub(super) fn row(key: i16) -> Option<&'static ApiRow> {
    ROWS.iter().find(|row| row.api as i16 == key)
}

/// The answer to ApiVersions.
fn versions(call: &Call) -> Result<Reply, RequestError> {
    let response = announced().with_error_code(call.code(Ok(())));
    if call.version == 0 {
        return call.reply(&response);
    }
    call.reply(&response.with_throttle_time_ms(call.throttle_ms()))
}

/// The answer to ApiVersions in a version that the sink does not know.
pub(super) fn unsupported_version(call: &Call) -> Result<Reply, RequestError> {
    let response = announced().with_error_code(ResponseError::UnsupportedVersion.code());
    call.encode_as(&response, 0).map(Reply::Now)
}

/// The rows as a client is told of them.
fn announced() -> ApiVersionsResponse {
    let announced = |row: &ApiRow| {
        let (first, last) = row.versions;
        ApiVersion::default().with_api_key(row.api as i16).with_min_version(first).with_max_version(last)
    };
    ApiVersionsResponse::default().with_api_keys(ROWS.iter().map(announced).collect())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpStream,
    };

    use bytes::BytesMut;
    use kafka_protocol::{
        messages::{
            ApiVersionsRequest, CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest,
            DeleteTopicsRequest, DescribeClusterRequest, DescribeConfigsRequest, FetchRequest,
            FindCoordinatorRequest, HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest,
            LeaveGroupRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest,
            OffsetForLeaderEpochRequest, ProduceRequest, RequestHeader, SyncGroupRequest,
        },
        protocol::{Decodable, Encodable},
    };
    use proptest::prelude::*;

    use super::{
        super::super::{SinkBroker, SinkOptions, shape::made},
        *,
    };

    /// The number of bytes that the decoder leaves, or that it cannot read the body.
    fn left_over(api: ApiKey, version: i16, body: Vec<u8>) -> Result<usize, String> {
        macro_rules! decode {
            ($($api:ident: $request:ty,)*) => {{
                let mut body = Bytes::from(body);
                let outcome = match api {
                    $(ApiKey::$api => <$request>::decode(&mut body, version).map(drop),)*
                    _ => unreachable!("{api:?} has no decoder here"),
                };
                outcome.map(|()| body.len()).map_err(|error| error.to_string())
            }};
        }
        decode! {
            ApiVersions: ApiVersionsRequest, CreatePartitions: CreatePartitionsRequest,
            CreateTopics: CreateTopicsRequest, DeleteGroups: DeleteGroupsRequest, DeleteTopics: DeleteTopicsRequest,
            DescribeCluster: DescribeClusterRequest, DescribeConfigs: DescribeConfigsRequest, Fetch: FetchRequest,
            FindCoordinator: FindCoordinatorRequest, Heartbeat: HeartbeatRequest,
            InitProducerId: InitProducerIdRequest, JoinGroup: JoinGroupRequest, LeaveGroup: LeaveGroupRequest,
            ListOffsets: ListOffsetsRequest, Metadata: MetadataRequest, OffsetCommit: OffsetCommitRequest,
            OffsetFetch: OffsetFetchRequest, OffsetForLeaderEpoch: OffsetForLeaderEpochRequest,
            Produce: ProduceRequest, SyncGroup: SyncGroupRequest,
        }
    }

    fn every_version() -> impl Iterator<Item = (&'static ApiRow, i16)> {
        ROWS.iter().flat_map(|row| (row.versions.0..=row.versions.1).map(move |version| (row, version)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_has_the_shape_of_a_request_is_what_the_decoder_reads(entropy in prop::collection::vec(any::<u8>(), 1..64)) {
            for (row, version) in every_version() {
                let body = made::body(&row.shape, version, &entropy);
                prop_assert_eq!(row.shape.check(&body, version), Ok(()), "{:?} {}", row.api, version);
                prop_assert_eq!(left_over(row.api, version, body), Ok(0), "{:?} {}", row.api, version);
            }
        }

        #[test]
        fn damaged_requests_are_refused_or_read_and_never_end_the_process(
            entropy in prop::collection::vec(any::<u8>(), 1..64),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            for (row, version) in every_version() {
                let mut body = made::body(&row.shape, version, &entropy);
                for (place, byte) in &damage {
                    if !body.is_empty() {
                        let place = place.index(body.len());
                        body[place] = *byte;
                    }
                }
                if row.shape.check(&body, version).is_ok() {
                    // Readable or not; a length that the body cannot hold would ask for terabytes here.
                    let _ = left_over(row.api, version, body);
                }
            }
        }
    }

    #[test]
    fn every_version_of_every_request_gets_an_answer_that_can_be_encoded() {
        let sink = SinkBroker::start(SinkOptions::default()).unwrap();
        let mut stream = TcpStream::connect(sink.bootstrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        for (correlation_id, (row, version)) in (1_i32..).zip(every_version()) {
            // Names, counts and numbers of 1: nobody and nothing is called so, so that every answer comes at once.
            let header = RequestHeader::default()
                .with_request_api_key(row.api as i16)
                .with_request_api_version(version)
                .with_correlation_id(correlation_id);
            let mut request = BytesMut::new();
            header.encode(&mut request, row.api.request_header_version(version)).unwrap();
            request.extend_from_slice(&made::body(&row.shape, version, &[1]));
            stream.write_all(&(request.len() as i32).to_be_bytes()).unwrap();
            stream.write_all(&request).unwrap();
            let mut start = [0; 8];
            let answered = stream.read_exact(&mut start);
            answered.unwrap_or_else(|_| {
                panic!("{:?} {version}: {:?}", row.api, sink.control().stats().connections)
            });
            assert_eq!(start[4..], correlation_id.to_be_bytes(), "{:?} {version}", row.api);
            let length = i32::from_be_bytes([start[0], start[1], start[2], start[3]]) as usize;
            stream.read_exact(&mut vec![0; length - 4]).unwrap();
        }
    }

    #[test]
    fn every_announced_version_is_one_that_the_encoder_knows() {
        for row in &ROWS {
            let known = row.api.valid_versions();
            assert!(known.min <= row.versions.0 && row.versions.1 <= known.max, "{:?}", row.api);
        }
    }
}
