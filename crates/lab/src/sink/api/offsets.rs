//! Answers about a log's offsets: its beginning, its end, and the one at a time.

use kafka_protocol::{
    ResponseError,
    messages::{
        ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
        list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse},
        offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult},
    },
};

use super::{
    super::{batch::EPOCH_OF_LEADER, log::Log},
    Call, Reply, RequestError,
};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
/// The replica id for debugging, which is told what only the leader has, too.
const DEBUGGING_REPLICA: i32 = -2;

pub(super) fn list(call: &Call, request: ListOffsetsRequest) -> Result<Reply, RequestError> {
    let as_replica = request.replica_id.0 == DEBUGGING_REPLICA;
    let topics = {
        let core = &mut *call.broker.core();
        let mut topics = Vec::with_capacity(request.topics.len());
        for topic in &request.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for asked in &topic.partitions {
                let injected = call.partition_error(core, &topic.name, asked.partition_index);
                let partition = core.topics.partition(&topic.name, asked.partition_index);
                let found = partition.ok_or(ResponseError::UnknownTopicOrPartition);
                let found = found.map(|partition| place(&partition.log, asked.timestamp, as_replica));
                let outcome = injected.map_or(found, Err);
                let (offset, timestamp) = outcome.unwrap_or((-1, -1));
                let mut response = ListOffsetsPartitionResponse::default()
                    .with_partition_index(asked.partition_index)
                    .with_error_code(outcome.err().map_or(0, |error| error.code()))
                    .with_offset(offset)
                    .with_timestamp(timestamp);
                if call.version >= 4 {
                    response = response.with_leader_epoch(EPOCH_OF_LEADER);
                }
                partitions.push(response);
            }
            let response = ListOffsetsTopicResponse::default().with_name(topic.name.clone());
            topics.push(response.with_partitions(partitions));
        }
        topics
    };
    let mut response = ListOffsetsResponse::default().with_topics(topics);
    if call.version >= 2 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    call.reply(&response)
}

/// Offset and timestamp; -1 for either stands for none.
fn place(log: &Log, timestamp: i64, as_replica: bool) -> (i64, i64) {
    match timestamp {
        LATEST if as_replica => (log.end(), -1),
        LATEST => (log.visible_end(), -1),
        EARLIEST => (log.start(), -1),
        timestamp => log.offset_at(timestamp).unwrap_or((-1, -1)),
    }
}

pub(super) fn of_leader_epoch(
    call: &Call,
    request: OffsetForLeaderEpochRequest,
) -> Result<Reply, RequestError> {
    let core = call.broker.core();
    let mut topics = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|asked| {
            let partition = core.topics.partition(&topic.topic, asked.partition);
            let end = partition.map(|partition| partition.log.visible_end());
            let outcome = end.ok_or(ResponseError::UnknownTopicOrPartition);
            EpochEndOffset::default()
                .with_partition(asked.partition)
                .with_error_code(call.code(outcome.map(|_| ())))
                .with_leader_epoch(EPOCH_OF_LEADER)
                .with_end_offset(outcome.unwrap_or(-1))
        });
        let partitions = partitions.collect();
        topics.push(
            OffsetForLeaderTopicResult::default().with_topic(topic.topic.clone()).with_partitions(partitions),
        );
    }
    drop(core);
    call.reply(
        &OffsetForLeaderEpochResponse::default()
            .with_throttle_time_ms(call.throttle_ms())
            .with_topics(topics),
    )
}
