//! Making, enlarging and deleting topics, and reading settings.

use kafka_protocol::{
    ResponseError,
    messages::{
        CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse,
        DeleteTopicsRequest, DeleteTopicsResponse, DescribeConfigsRequest, DescribeConfigsResponse,
        TopicName,
        create_partitions_response::CreatePartitionsTopicResult,
        create_topics_request::CreatableTopic,
        create_topics_response::CreatableTopicResult,
        delete_topics_request::DeleteTopicState,
        delete_topics_response::DeletableTopicResult,
        describe_configs_request::DescribeConfigsResource,
        describe_configs_response::{DescribeConfigsResourceResult, DescribeConfigsResult},
    },
    protocol::StrBytes,
};
use uuid::Uuid;

use super::{
    super::{
        state::Core,
        topic::{MESSAGE_LIMIT, SETTINGS, Topics},
    },
    Call, NODE, Reply, RequestError, topic_name,
};

/// Resource types and sources of a setting, as numbered in Kafka's DescribeConfigs.
const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const SET_ON_TOPIC: i8 = 1;
const DEFAULT: i8 = 5;

pub(super) fn create_topics(call: &Call, request: CreateTopicsRequest) -> Result<Reply, RequestError> {
    let topics = {
        let core = &mut *call.broker.core();
        let apply = !request.validate_only && !call.is_void();
        request.topics.iter().map(|topic| created(call, core, topic, apply)).collect()
    };
    call.reply(&CreateTopicsResponse::default().with_throttle_time_ms(call.throttle_ms()).with_topics(topics))
}

fn created(call: &Call, core: &mut Core, asked: &CreatableTopic, apply: bool) -> CreatableTopicResult {
    let partitions =
        if asked.num_partitions == -1 { call.broker.options.partitions } else { asked.num_partitions };
    let outcome = create(core, asked, partitions, apply);
    let mut result = CreatableTopicResult::default()
        .with_name(asked.name.clone())
        .with_error_code(call.code(outcome.map(|_| ())));
    if call.version >= 5 {
        result = result.with_num_partitions(partitions).with_replication_factor(1);
    }
    if call.version >= 7 {
        result = result.with_topic_id(outcome.unwrap_or_default());
    }
    result
}

fn create(
    core: &mut Core,
    asked: &CreatableTopic,
    partitions: i32,
    apply: bool,
) -> Result<Uuid, ResponseError> {
    if !matches!(asked.replication_factor, -1 | 1) {
        return Err(ResponseError::InvalidReplicationFactor);
    }
    if !asked.assignments.is_empty() {
        return Err(ResponseError::InvalidReplicaAssignment);
    }
    // Made in a registry of its own first, so that a bad setting leaves nothing behind.
    let mut rehearsal = Topics::default();
    let topic = rehearsal.create(&asked.name, partitions)?;
    for config in &asked.configs {
        topic.set(&config.name, config.value.as_deref().unwrap_or_default())?;
    }
    let settings = topic.settings.clone();
    core.topics.check(&asked.name, partitions)?;
    if !apply {
        return Ok(Uuid::nil());
    }
    let topic = core.topics.create(&asked.name, partitions)?;
    topic.settings = settings;
    Ok(topic.id)
}

pub(super) fn delete_topics(call: &Call, request: DeleteTopicsRequest) -> Result<Reply, RequestError> {
    let named = request.topic_names.into_iter().map(|name| DeleteTopicState::default().with_name(Some(name)));
    let responses = {
        let core = &mut *call.broker.core();
        named.chain(request.topics).map(|topic| deleted(call, core, &topic)).collect()
    };
    // Fetches that wait for a deleted topic have an answer now.
    call.broker.shown.notify_waiters();
    call.reply(
        &DeleteTopicsResponse::default().with_throttle_time_ms(call.throttle_ms()).with_responses(responses),
    )
}

fn deleted(call: &Call, core: &mut Core, asked: &DeleteTopicState) -> DeletableTopicResult {
    let name = topic_name(core, &asked.name.clone().unwrap_or_default(), asked.topic_id);
    let outcome = match &name {
        Ok(_) if call.is_void() => Ok(()),
        Ok(name) => core.topics.delete(name).map(|_| ()),
        Err(error) => Err(*error),
    };
    let result = DeletableTopicResult::default()
        .with_name(name.ok().map(|name| TopicName(StrBytes::from_string(name))))
        .with_error_code(call.code(outcome));
    if call.version >= 6 { result.with_topic_id(asked.topic_id) } else { result }
}

pub(super) fn create_partitions(
    call: &Call,
    request: CreatePartitionsRequest,
) -> Result<Reply, RequestError> {
    let results = {
        let core = &mut *call.broker.core();
        let apply = !request.validate_only && !call.is_void();
        let mut results = Vec::with_capacity(request.topics.len());
        for asked in &request.topics {
            let outcome = core.topics.enlarge(&asked.name, asked.count, apply);
            results.push(
                CreatePartitionsTopicResult::default()
                    .with_name(asked.name.clone())
                    .with_error_code(call.code(outcome)),
            );
        }
        results
    };
    call.reply(
        &CreatePartitionsResponse::default().with_throttle_time_ms(call.throttle_ms()).with_results(results),
    )
}

pub(super) fn describe_configs(call: &Call, request: DescribeConfigsRequest) -> Result<Reply, RequestError> {
    let results = {
        let core = call.broker.core();
        request.resources.iter().map(|resource| described(call, &core, resource)).collect()
    };
    call.reply(
        &DescribeConfigsResponse::default().with_throttle_time_ms(call.throttle_ms()).with_results(results),
    )
}

fn described(call: &Call, core: &Core, asked: &DescribeConfigsResource) -> DescribeConfigsResult {
    let wanted = |name: &str| {
        asked.configuration_keys.as_ref().is_none_or(|keys| keys.iter().any(|key| &**key == name))
    };
    let settings = match asked.resource_type {
        TOPIC => core.topics.get(&asked.resource_name).map(|topic| {
            let shown = SETTINGS.iter().filter(|(name, _)| wanted(name));
            shown
                .map(|(name, default)| match topic.settings.get(name) {
                    Some(value) => setting(name, value, SET_ON_TOPIC),
                    None if *name == MESSAGE_LIMIT => {
                        setting(name, &call.broker.options.message_limit_bytes.to_string(), DEFAULT)
                    }
                    None => setting(name, default, DEFAULT),
                })
                .collect()
        }),
        BROKER => Some(broker_settings(call).into_iter().filter(|setting| wanted(&setting.name)).collect()),
        _ => None,
    };
    let outcome = settings.as_ref().map(|_| ()).ok_or(ResponseError::UnknownTopicOrPartition);
    DescribeConfigsResult::default()
        .with_error_code(call.code(outcome))
        .with_resource_type(asked.resource_type)
        .with_resource_name(asked.resource_name.clone())
        .with_configs(settings.unwrap_or_default())
}

fn broker_settings(call: &Call) -> Vec<DescribeConfigsResourceResult> {
    let options = &call.broker.options;
    [
        ("auto.create.topics.enable", options.auto_create.to_string()),
        ("message.max.bytes", options.message_limit_bytes.to_string()),
        ("node.id", NODE.to_string()),
        ("num.partitions", options.partitions.to_string()),
        ("socket.request.max.bytes", options.frame_limit_bytes.to_string()),
    ]
    .iter()
    .map(|(name, value)| setting(name, value, DEFAULT))
    .collect()
}

fn setting(name: &str, value: &str, source: i8) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult::default()
        .with_name(StrBytes::from_string(name.to_owned()))
        .with_value(Some(StrBytes::from_string(value.to_owned())))
        .with_config_source(source)
}
