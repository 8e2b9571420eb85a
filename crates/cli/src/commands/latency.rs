//! `plumb latency`: latency at a rate, from flags alone.

use super::property::place;
use super::{End, carry_out};
use crate::args::LatencyArgs;
use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::plan::{Origin, SizePlan};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{
    ClusterWords, LabWords, LoadWords, OneOrMany, RateWords, Scenario, SetupWords, SizeWords, TopicWords,
};
use std::collections::BTreeMap;

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
        ("driver", "--driver"),
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
    let driver = arguments.driver.clone();
    let scenario =
        Scenario { cluster: Some(cluster), driver, load, topic, setups: vec![setup], ..Scenario::default() };
    Ok((scenario, sources))
}
