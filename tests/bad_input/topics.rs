//! Topics that are not there, and messages that do not fit into one.

use super::{assert_says, complaint, latency};
use crate::kafka::{Broker, lab};
use crate::program::Program;
use plumb_lab::kafka::PlainClient;
use std::collections::BTreeSet;
use std::time::Duration;

/// The topics of others: the tests beside this one make theirs at the same time, each named after it or its run.
fn topics_like(broker: &Broker, part: &str) -> BTreeSet<String> {
    broker.topics().into_iter().filter(|topic| topic.contains(part)).collect()
}

#[test]
fn asking_for_a_topic_does_not_make_it() {
    let bootstrap = lab().plaintext_bootstrap();
    let mut client = PlainClient::connect(lab().plaintext_addresses()[0], Duration::from_secs(10)).unwrap();
    let makes_topics = client.broker_property(1, "auto.create.topics.enable").unwrap();
    assert_eq!(makes_topics.as_deref(), Some("true"), "or this shows nothing");
    assert_says!(complaint(&latency(&bootstrap).args(["--topic", "not-there"]).run()), @r#"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: topic "not-there" does not exist
    hint: plumb does not create a topic that you name; leave it out and a topic is made and deleted for the run
    "#);
    assert_eq!(topics_like(&Broker::at(&bootstrap), "not-there"), BTreeSet::new());
}

#[test]
fn a_topic_name_that_kafka_does_not_allow() {
    assert_says!(complaint(&latency(&lab().plaintext_bootstrap()).args(["--topic", "a b/c"]).run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: cannot look at topic a b/c: Broker: Invalid topic (TOPIC_EXCEPTION)
    hint: a topic's name has letters, digits, dots, underscores and hyphens, at most 249 of them
    ");
}

#[test]
fn messages_larger_than_the_topic_allows() {
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    broker.create_topic("small-messages", 1, &[("max.message.bytes", "10000")]);
    let program = latency(&bootstrap).args(["--topic", "small-messages", "--size", "20KB"]);
    assert_says!(complaint(&program.run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: a record of 20000 B is larger than allowed: Broker: Message size too large (topic max.message.bytes, or the broker's message.max.bytes)
    hint: raise max.message.bytes of the topic, or send smaller values
    ");
    assert_eq!(broker.offsets("small-messages", 0), (0, 0));
}

#[test]
fn messages_larger_than_the_producer_allows_leave_no_topic() {
    let bootstrap = lab().plaintext_bootstrap();
    let program = Program::new(["run", "s.yaml", "--bootstrap", &bootstrap]);
    let scenario = "load: {rate: 10, count: 10, size: 2MiB}\ntopic: {configs: {max.message.bytes: 3000001}}\n\
         setups: [{producer: {message.max.bytes: 1000000}}]\n";
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    assert_says!(complaint(&program.run()), @r"
    exit 2
    error: s.yaml:3: a record of 2097152 B is larger than the producer's message.max.bytes allows
    hint: raise it (-X message.max.bytes=N, or setups[].producer), and the topic's max.message.bytes with it; or send smaller values
    ");
    // The odd limit marks the topic of this run.
    let broker = Broker::at(&bootstrap);
    let own = topics_like(&broker, "plumb-");
    let left =
        own.iter().filter(|topic| broker.topic_configs(topic).values().flatten().any(|v| v == "3000001"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_topic_config_that_the_broker_does_not_know() {
    let program = Program::new(["run", "s.yaml", "--bootstrap", &lab().plaintext_bootstrap()]);
    let scenario = "load: {rate: 10, count: 10}\ntopic: {configs: {retention.mz: 5}}\n";
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    assert_says!(complaint(&program.run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: cannot create topic plumb-[id]-1: Unknown topic config name: retention.mz (INVALID_CONFIG)
    hint: topic.configs takes Kafka's topic configs (kafka.apache.org/documentation/#topicconfigs)
    ");
}

#[test]
fn more_replicas_than_brokers() {
    let program = latency(&lab().plaintext_bootstrap()).args(["--replication", "3"]);
    assert_says!(complaint(&program.run()), @r"
    exit 4
    plumb: latency in 1 block, about [n] s
    error: cannot create topic plumb-[id]-1: Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned. (INVALID_REPLICATION_FACTOR)
    hint: a replica needs a broker of its own: lower topic.replication (--replication)
    ");
}
