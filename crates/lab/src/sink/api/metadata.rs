//! Answers about the cluster: versions, its one node, topics and their partitions.

use kafka_protocol::{
    ResponseError,
    messages::{
        BrokerId, DescribeClusterResponse, MetadataRequest, MetadataResponse, TopicName,
        describe_cluster_response::DescribeClusterBroker,
        metadata_response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic},
    },
    protocol::StrBytes,
};
use uuid::Uuid;

use super::{
    super::{batch::EPOCH_OF_LEADER, state::Core, topic::Topic},
    CLUSTER, Call, NODE, Reply, RequestError, topic_name,
};

pub(super) fn host(call: &Call) -> (StrBytes, i32) {
    let address = call.broker.address;
    (StrBytes::from_string(address.ip().to_string()), i32::from(address.port()))
}

pub(super) fn cluster(call: &Call) -> Result<Reply, RequestError> {
    let (host, port) = host(call);
    let node =
        DescribeClusterBroker::default().with_broker_id(BrokerId(NODE)).with_host(host).with_port(port);
    call.reply(
        &DescribeClusterResponse::default()
            .with_throttle_time_ms(call.throttle_ms())
            .with_error_code(call.code(Ok(())))
            .with_cluster_id(CLUSTER)
            .with_controller_id(BrokerId(NODE))
            .with_brokers(vec![node]),
    )
}

pub(super) fn answer(call: &Call, request: MetadataRequest) -> Result<Reply, RequestError> {
    let topics = {
        let core = &mut *call.broker.core();
        match &request.topics {
            None => {
                let described =
                    |(name, topic): (&str, _)| described(call, name, topic, core.faults.has_follower(name));
                core.topics.iter().map(described).collect()
            }
            Some(asked) => asked
                .iter()
                .map(|asked| {
                    let name = asked.name.clone().unwrap_or_default();
                    let id = if call.version >= 10 { asked.topic_id } else { Uuid::nil() };
                    found(call, core, &name, id, request.allow_auto_topic_creation)
                })
                .collect(),
        }
    };
    let (host, port) = host(call);
    let node = MetadataResponseBroker::default().with_node_id(BrokerId(NODE)).with_host(host).with_port(port);
    let mut response = MetadataResponse::default()
        .with_throttle_time_ms(call.throttle_ms())
        .with_brokers(vec![node])
        .with_controller_id(BrokerId(NODE))
        .with_cluster_id(Some(CLUSTER))
        .with_topics(topics);
    if call.version >= 13 {
        response = response.with_error_code(call.code(Ok(())));
    }
    call.reply(&response)
}

fn found(
    call: &Call,
    core: &mut Core,
    name: &TopicName,
    id: Uuid,
    allow_auto_create: bool,
) -> MetadataResponseTopic {
    let name = match topic_name(core, name, id) {
        Ok(name) => name,
        Err(error) => {
            return MetadataResponseTopic::default().with_topic_id(id).with_error_code(error.code());
        }
    };
    let options = &call.broker.options;
    if core.topics.get(&name).is_none() && options.auto_create && allow_auto_create && !call.is_void() {
        // A bad name is reported below, as missing.
        let _ = core.topics.create(&name, options.partitions);
    }
    match core.topics.get(&name) {
        Some(topic) => described(call, &name, topic, core.faults.has_follower(&name)),
        None => MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from_string(name))))
            .with_error_code(call.code(Err(ResponseError::UnknownTopicOrPartition))),
    }
}

/// Node id of the follower of a topic that has one.
const FOLLOWER: i32 = NODE + 1;

fn described(call: &Call, name: &str, topic: &Topic, followed: bool) -> MetadataResponseTopic {
    let code = call.code(Ok(()));
    let mut replicas = vec![BrokerId(NODE)];
    if followed {
        replicas.push(BrokerId(FOLLOWER));
    }
    let partition = |number| {
        MetadataResponsePartition::default()
            .with_partition_index(number)
            .with_leader_id(BrokerId(NODE))
            .with_leader_epoch(EPOCH_OF_LEADER)
            .with_replica_nodes(replicas.clone())
            .with_isr_nodes(replicas.clone())
    };
    MetadataResponseTopic::default()
        .with_error_code(code)
        .with_name(Some(TopicName(StrBytes::from_string(name.to_owned()))))
        .with_topic_id(topic.id)
        .with_partitions((0..).zip(&topic.partitions).map(|(number, _)| partition(number)).collect())
}
