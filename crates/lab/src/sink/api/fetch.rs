//! Giving records out: waits for as much as the client wants, and no longer than it wants.

use std::time::Duration;

use kafka_protocol::{
    ResponseError,
    messages::{
        FetchRequest, FetchResponse,
        fetch_response::{FetchableTopicResponse, PartitionData},
    },
};
use uuid::Uuid;

use super::{super::state::Core, Call, Reply, RequestError, topic_name};

pub(super) fn answer(call: &Call, request: FetchRequest) -> Result<Reply, RequestError> {
    let (call, request) = (call.clone(), request);
    Ok(Reply::Later(Box::pin(async move {
        wait(&call, &request).await;
        // A stall ends before the log is read, so that the answer has what arrived meanwhile.
        call.broker.hold(call.api).await;
        let response = read(&call, &request);
        call.encode(&response)
    })))
}

/// Completes when the fetch can be answered: enough bytes, an error, or time is up.
async fn wait(call: &Call, request: &FetchRequest) {
    let max_wait = Duration::from_millis(request.max_wait_ms.max(0) as u64);
    let deadline = tokio::time::Instant::from_std(call.arrived) + max_wait;
    let timeout = tokio::time::sleep_until(deadline);
    tokio::pin!(timeout);
    loop {
        let shown = call.broker.shown.notified();
        tokio::pin!(shown);
        shown.as_mut().enable();
        if is_satisfied(call, request) || max_wait.is_zero() {
            return;
        }
        tokio::select! {
            () = shown => {}
            () = &mut timeout => return,
        }
    }
}

fn is_satisfied(call: &Call, request: &FetchRequest) -> bool {
    let min_bytes = request.min_bytes.max(0) as usize;
    let core = call.broker.core();
    let mut bytes = 0;
    for (topic, partition) in request
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(move |partition| (topic, partition)))
    {
        let Ok(name) = topic_name(&core, &topic.topic, topic_id(call, topic.topic_id)) else { return true };
        let log = core.topics.partition(&name, partition.partition).map(|partition| &partition.log);
        match log.map(|log| log.readable_bytes(partition.fetch_offset, min_bytes.max(1))) {
            Some(Ok(readable)) => bytes += readable,
            Some(Err(_)) | None => return true,
        }
    }
    bytes >= min_bytes
}

fn read(call: &Call, request: &FetchRequest) -> FetchResponse {
    let core = &mut *call.broker.core();
    let mut left_bytes = request.max_bytes.max(0) as usize;
    let mut responses = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let id = topic_id(call, topic.topic_id);
        let name = topic_name(core, &topic.topic, id);
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let limit_bytes = left_bytes.min(partition.partition_max_bytes.max(0) as usize);
            let data = match &name {
                Ok(name) => {
                    partition_data(call, core, name, partition.partition, partition.fetch_offset, limit_bytes)
                }
                Err(error) => failed(partition.partition, *error),
            };
            left_bytes = left_bytes.saturating_sub(data.records.as_ref().map_or(0, bytes::Bytes::len));
            partitions.push(data);
        }
        responses.push(
            FetchableTopicResponse::default()
                .with_topic(topic.topic.clone())
                .with_topic_id(id)
                .with_partitions(partitions),
        );
    }
    FetchResponse::default().with_throttle_time_ms(call.throttle_ms()).with_responses(responses)
}

fn partition_data(
    call: &Call,
    core: &mut Core,
    topic: &str,
    partition: i32,
    offset: i64,
    limit_bytes: usize,
) -> PartitionData {
    if let Some(error) = call.partition_error(core, topic, partition) {
        return failed(partition, error);
    }
    let Some(log) = core.topics.partition(topic, partition).map(|partition| &partition.log) else {
        return failed(partition, ResponseError::UnknownTopicOrPartition);
    };
    // A client that has filled its limit with other partitions gets nothing of this one, not one batch.
    let records = if limit_bytes == 0 { Ok(bytes::Bytes::new()) } else { log.read(offset, limit_bytes) };
    // As Kafka does it: who is refused is told nothing of the log.
    let records = match records {
        Ok(records) => records,
        Err(error) => return failed(partition, error),
    };
    let data = PartitionData::default()
        .with_partition_index(partition)
        .with_high_watermark(log.visible_end())
        .with_last_stable_offset(log.visible_end())
        .with_records(Some(records));
    if call.version >= 5 { data.with_log_start_offset(log.start()) } else { data }
}

fn failed(partition: i32, error: ResponseError) -> PartitionData {
    PartitionData::default()
        .with_partition_index(partition)
        .with_error_code(error.code())
        .with_high_watermark(-1)
        .with_records(Some(bytes::Bytes::new()))
}

fn topic_id(call: &Call, id: Uuid) -> Uuid {
    if call.version >= 13 { id } else { Uuid::nil() }
}
