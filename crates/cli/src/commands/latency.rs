//! `plumb latency`: latency at a rate, from flags alone.

use super::{End, carry_out};
use crate::args::LatencyArgs;
use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::plan::{Origin, SizePlan};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{
    ClusterWords, LabWords, LoadWords, OneOrMany, RateWords, Scalar, Scenario, SetupWords, SizeWords,
    TopicWords,
};
use std::collections::BTreeMap;

/// Properties that only one kind of client has. Others go to both.
const PRODUCER_ONLY: &[&str] = &[
    "acks",
    "request.required.acks",
    "linger.ms",
    "queue.buffering.max.ms",
    "batch.size",
    "batch.num.messages",
    "compression.type",
    "compression.codec",
    "compression.level",
    "enable.idempotence",
    "partitioner",
    "max.in.flight.requests.per.connection",
    "max.in.flight",
    "request.timeout.ms",
    "message.timeout.ms",
    "delivery.timeout.ms",
    "queue.buffering.max.messages",
    "queue.buffering.max.kbytes",
    "retries",
    "message.send.max.retries",
    "sticky.partitioning.linger.ms",
    "enable.gapless.guarantee",
];
const CONSUMER_ONLY_STARTS: &[&str] = &[
    "fetch.",
    "auto.",
    "enable.auto.",
    "queued.",
    "session.",
    "max.poll.",
    "group.",
    "heartbeat.",
    "isolation.",
    "check.crcs",
    "partition.assignment.",
    "enable.partition.eof",
    "max.partition.fetch",
];

pub(super) fn latency(arguments: &LatencyArgs) -> Result<End> {
    let (scenario, sources) = scenario(arguments)?;
    carry_out(resolve(&scenario, &sources)?, &arguments.output)
}

/// The flags as a scenario.
fn scenario(arguments: &LatencyArgs) -> Result<(Scenario, Sources), UsageError> {
    let lab = arguments.lab.then(LabWords::default);
    let metrics = arguments.metrics.clone();
    let cluster = ClusterWords {
        lab,
        bootstrap: arguments.bootstrap.clone(),
        config: arguments.config.clone(),
        metrics,
    };
    let mut setup = SetupWords { name: Some("as asked".to_owned()), ..SetupWords::default() };
    let mut sources = Sources::new();
    for property in &arguments.property {
        place(property, &mut setup, &mut sources)?;
    }
    let load = LoadWords {
        rate: Some(OneOrMany::One(RateWords::PerSecond(arguments.rate))),
        size: Some(OneOrMany::One(SizeWords(SizePlan::Fixed(arguments.size)))),
        count: arguments.count.map(OneOrMany::One),
        duration: arguments.duration.map(OneOrMany::One),
        warm_up: Some(arguments.warm_up),
        producers: Some(OneOrMany::One(arguments.producers)),
        consumers: Some(OneOrMany::One(arguments.consumers)),
        in_flight: arguments.in_flight.map(OneOrMany::One),
        ..LoadWords::default()
    };
    let topic = TopicWords {
        name: arguments.topic.clone(),
        partitions: arguments.partitions.map(OneOrMany::One),
        replication: arguments.replication.map(OneOrMany::One),
        configs: BTreeMap::new(),
        log_dir: None,
    };
    for (path, flag) in [
        ("load.rate", "--rate"),
        ("load.size", "--size"),
        ("load.count", "--count"),
        ("load.duration", "--duration"),
        ("load.warm_up", "--warm-up"),
        ("load.producers", "--producers"),
        ("load.consumers", "--consumers"),
        ("load.in_flight", "--in-flight"),
        ("topic.name", "--topic"),
        ("topic.partitions", "--partitions"),
        ("topic.replication", "--replication"),
        ("cluster", if arguments.lab { "--lab" } else { "--bootstrap" }),
        ("cluster.bootstrap", "--bootstrap"),
        ("cluster.config", "--config"),
        ("cluster.metrics", "--metrics"),
    ] {
        sources.insert(path.to_owned(), Origin::Flag { flag: flag.to_owned() });
    }
    let scenario =
        Scenario { cluster: Some(cluster), load, topic, setups: vec![setup], ..Scenario::default() };
    Ok((scenario, sources))
}

/// Puts a property to the client that it belongs to, or to both.
fn place(property: &str, setup: &mut SetupWords, sources: &mut Sources) -> Result<(), UsageError> {
    let Some((key, value)) = property.split_once('=') else {
        let hint = "write it as -X KEY=VALUE, such as -X linger.ms=0 or -X consumer.fetch.wait.max.ms=10";
        return Err(UsageError::new(format!("-X {property:?} has no value"), hint));
    };
    let (producer, consumer, key) = match (key.strip_prefix("producer."), key.strip_prefix("consumer.")) {
        (Some(key), _) => (true, false, key),
        (_, Some(key)) => (false, true, key),
        _ => {
            let producer_only = PRODUCER_ONLY.contains(&key);
            let consumer_only = CONSUMER_ONLY_STARTS.iter().any(|start| key.starts_with(start));
            (!consumer_only, !producer_only, key)
        }
    };
    for (wanted, role, properties) in
        [(producer, "producer", &mut setup.producer), (consumer, "consumer", &mut setup.consumer)]
    {
        if wanted {
            properties.insert(key.to_owned(), OneOrMany::One(Scalar(value.to_owned())));
            sources.insert(format!("setups.0.{role}.{key}"), Origin::Flag { flag: "-X".to_owned() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_goes_to_the_client_that_it_belongs_to() {
        let mut setup = SetupWords::default();
        let mut sources = Sources::new();
        for property in
            ["linger.ms=0", "fetch.wait.max.ms=10", "socket.nagle.disable=true", "consumer.client.rack=a"]
        {
            place(property, &mut setup, &mut sources).unwrap();
        }
        let keys = |map: &BTreeMap<String, OneOrMany<Scalar>>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&setup.producer), ["linger.ms", "socket.nagle.disable"]);
        assert_eq!(keys(&setup.consumer), ["client.rack", "fetch.wait.max.ms", "socket.nagle.disable"]);
        assert!(place("linger.ms", &mut setup, &mut sources).is_err());
    }
}
