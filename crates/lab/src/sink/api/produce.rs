//! Taking records in.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kafka_protocol::{
    ResponseError,
    messages::{
        InitProducerIdRequest, InitProducerIdResponse, ProduceRequest, ProduceResponse, ProducerId,
        produce_request::PartitionProduceData,
        produce_response::{PartitionProduceResponse, TopicProduceResponse},
    },
};
use uuid::Uuid;

use super::{
    super::{arrival::Arrival, arrival::Stored, batch::Batch, state::Core},
    Call, Reply, RequestError, topic_name,
};

pub(super) fn answer(call: &Call, mut request: ProduceRequest) -> Result<Reply, RequestError> {
    // Checksums are the costly part, and they need no lock.
    let parsed: Vec<Vec<Result<Batch, ResponseError>>> = request
        .topic_data
        .iter_mut()
        .map(|topic| topic.partition_data.iter_mut().map(batch).collect())
        .collect();
    let acks_known = matches!(request.acks, -1..=1);
    let mut failure = None;
    let mut responses = Vec::with_capacity(request.topic_data.len());
    {
        let core = &mut *call.broker.core();
        for (topic, batches) in request.topic_data.iter().zip(parsed) {
            let id = if call.version >= 13 { topic.topic_id } else { Uuid::nil() };
            let name = topic_name(core, &topic.name, id);
            let mut partitions = Vec::with_capacity(batches.len());
            for (partition, batch) in topic.partition_data.iter().zip(batches) {
                let stored = match &name {
                    Ok(_) if !acks_known => Err(ResponseError::InvalidRequiredAcks),
                    Ok(name) => store(call, core, name, partition.index, batch),
                    Err(error) => Err(*error),
                };
                failure = failure.or(stored.as_ref().err().copied());
                partitions.push(response(call, partition.index, stored));
            }
            responses.push(
                TopicProduceResponse::default()
                    .with_name(topic.name.clone())
                    .with_topic_id(id)
                    .with_partition_responses(partitions),
            );
        }
    }
    call.broker.shown.notify_waiters();
    match (request.acks, failure) {
        (0, Some(error)) => Err(RequestError::Unacknowledged(error)),
        (0, None) => Ok(Reply::Nothing),
        _ => call.reply(
            &ProduceResponse::default().with_responses(responses).with_throttle_time_ms(call.throttle_ms()),
        ),
    }
}

fn batch(partition: &mut PartitionProduceData) -> Result<Batch, ResponseError> {
    Batch::parse(partition.records.take().unwrap_or_default())
}

/// Stores a batch unless a fault says no; the error is what the client is to be told either way.
fn store(
    call: &Call,
    core: &mut Core,
    topic: &str,
    partition: i32,
    batch: Result<Batch, ResponseError>,
) -> Result<Stored, ResponseError> {
    let injected = call.partition_error(core, topic, partition);
    if let Some(error) = injected.filter(|_| call.forced.is_none() || call.is_void()) {
        return Err(error);
    }
    let batch = batch.inspect_err(|_| {
        let place = usize::try_from(partition).ok();
        let topic = core.topics.get_mut(topic);
        if let Some(partition) =
            place.and_then(|place| topic.and_then(|topic| topic.partitions.get_mut(place)))
        {
            partition.counts.batches_refused += 1;
        }
    })?;
    let at_ms = wall_clock_ms(call.arrived);
    let answered = call.answered.as_ref();
    let arrival = Arrival { topic, partition, batch, at: call.arrived, at_ms, answered };
    let options = &call.broker.options;
    let stored = arrival.store(core, options.keep, options.message_limit_bytes)?;
    if let Some((end, at)) = stored.show {
        let (broker, topic) = (call.broker.clone(), topic.to_owned());
        tokio::spawn(async move { broker.show(topic, partition, end, at).await });
    }
    injected.map_or(Ok(stored), Err)
}

fn response(call: &Call, partition: i32, stored: Result<Stored, ResponseError>) -> PartitionProduceResponse {
    let response = PartitionProduceResponse::default().with_index(partition);
    match stored {
        Ok(stored) => {
            let response = response
                .with_base_offset(stored.base_offset)
                .with_log_append_time_ms(stored.log_append_time_ms.unwrap_or(-1));
            if call.version >= 5 { response.with_log_start_offset(stored.log_start) } else { response }
        }
        Err(error) => response.with_error_code(error.code()).with_base_offset(-1).with_log_append_time_ms(-1),
    }
}

/// The wall-clock time at `at`.
fn wall_clock_ms(at: Instant) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.saturating_sub(at.elapsed()).as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn init_producer_id(call: &Call, request: InitProducerIdRequest) -> Result<Reply, RequestError> {
    let response = InitProducerIdResponse::default().with_throttle_time_ms(call.throttle_ms());
    let outcome = match request.transactional_id {
        Some(_) => Err(ResponseError::InvalidRequest),
        None => Ok(()),
    };
    let code = call.code(outcome);
    if code != 0 {
        return call
            .reply(&response.with_error_code(code).with_producer_id(ProducerId(-1)).with_producer_epoch(-1));
    }
    let mut core = call.broker.core();
    core.producers += 1;
    let producer_id = ProducerId(core.producers);
    drop(core);
    call.reply(&response.with_producer_id(producer_id).with_producer_epoch(0))
}
