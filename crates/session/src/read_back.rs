//! Settings as client, topic, broker and cluster tell them, and the differences since before a run went on.

use super::target::Target;
use plumb_load::BlockOutcome;
use plumb_load::librdkafka::admin::TopicShape;
use plumb_model::document::{Durability, Effective};
use plumb_model::plan::Properties;
use plumb_model::property::is_identity;
use std::collections::BTreeSet;

pub(super) fn effective(outcome: &BlockOutcome, target: &Target, topic: &TopicShape) -> Effective {
    let leader = topic.leaders.first().copied().unwrap_or(-1);
    Effective {
        topic_name: topic.name.clone(),
        partitions: u32::try_from(topic.leaders.len()).ok(),
        replication: (topic.replication > 0).then_some(topic.replication),
        log_dirs: target.log_dirs(&topic.name),
        producer: outcome.producer_properties.clone(),
        consumer: outcome.consumer_properties.clone(),
        topic: target.cluster.topic_configs(&topic.name),
        broker: target.cluster.broker_configs(leader),
        jvm_flags: target.jvm_flags(),
        host: Properties::new(),
    }
}

pub(super) fn durability(effective: &Effective) -> Durability {
    let of = |properties: &Properties, key: &str| properties.get(key).cloned();
    let acks = of(&effective.producer, "acks");
    Durability {
        acks: acks.map(|acks| if acks == "-1" { "all".to_owned() } else { acks }),
        replication: effective.replication,
        min_insync_replicas: of(&effective.topic, "min.insync.replicas").and_then(|value| value.parse().ok()),
        flush_messages: of(&effective.topic, "flush.messages"),
        flush_ms: of(&effective.topic, "flush.ms"),
        idempotence: of(&effective.producer, "enable.idempotence").and_then(|value| value.parse().ok()),
    }
}

/// Settings that are not as they were, in words. The topic's name and place may differ: it is another one.
pub(super) fn differences(before: &Effective, now: &Effective) -> Vec<String> {
    let of = |role: &str, before: &Properties, now: &Properties| -> Vec<String> {
        let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let differs = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
        let word = |value: Option<&String>| value.cloned().unwrap_or_else(|| "absent".to_owned());
        differs
            .filter(|key| !is_identity(key))
            .map(|key| format!("{role} {key} was {}, is {}", word(before.get(key)), word(now.get(key))))
            .collect()
    };
    let mut all = of("producer", &before.producer, &now.producer);
    all.extend(of("consumer", &before.consumer, &now.consumer));
    all.extend(of("topic", &before.topic, &now.topic));
    all.extend(of("broker", &before.broker, &now.broker));
    if (before.partitions, before.replication) != (now.partitions, now.replication) {
        all.push("the topic's partitions or replicas".to_owned());
    }
    all
}
