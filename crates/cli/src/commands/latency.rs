//! `plumb latency`: latency at a rate, from flags alone.

use super::driver::{no_java, use_class_path};
use super::property::{place, place_acks};
use super::{End, carry_out};
use crate::args::LatencyArgs;
use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::plan::{Origin, SizePlan};
use plumb_model::resolve::{Sources, resolve};
use plumb_model::scenario::{
    ClusterWords, DriverWords, LabWords, LoadWords, OneOrMany, RateWords, Scenario, SetupWords, SizeWords,
    TopicWords,
};
use plumb_model::units::Nanos;
use std::collections::BTreeMap;

pub(super) fn latency(arguments: &LatencyArgs) -> Result<End> {
    let (scenario, sources) = scenario(arguments)?;
    carry_out(resolve(&scenario, &sources)?, &arguments.output)
}

/// The flags as a scenario.
pub(super) fn scenario(arguments: &LatencyArgs) -> Result<(Scenario, Sources), UsageError> {
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
    if let Some(acks) = &arguments.acks {
        place_acks(&OneOrMany::One(acks.clone()), &mut setup, &mut sources)?;
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
        ("blocks", "--blocks"),
        ("seed", "--seed"),
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
    if arguments.blocks.is_none() {
        let reason = "no block is shorter than its warm-up, or than two seconds".to_owned();
        sources.insert("blocks".to_owned(), Origin::Derived { reason });
    }
    let scenario = Scenario {
        cluster: Some(cluster),
        driver: driver(arguments)?,
        seed: arguments.seed,
        blocks: Some(arguments.blocks.unwrap_or_else(|| blocks(arguments))),
        load,
        topic,
        setups: vec![setup],
        ..Scenario::default()
    };
    Ok((scenario, sources))
}

/// The driver, with the class path of a client for Java.
fn driver(arguments: &LatencyArgs) -> Result<Option<OneOrMany<DriverWords>>, UsageError> {
    let mut driver = arguments.driver.clone();
    if let Some(path) = &arguments.java_classpath
        && !driver.as_mut().is_some_and(|driver| use_class_path(driver, path))
    {
        return Err(no_java());
    }
    Ok(driver)
}

/// Measured time where nobody says.
const DURATION: Nanos = Nanos::from_secs(30);
/// Most blocks where nobody says how many, as of settings that are compared: an interval of five is worth having.
const BLOCKS: u64 = 5;
/// Shortest block where nobody says how many (ours): at 100 messages a second it still has a p95.
const BLOCK_MIN: Nanos = Nanos::from_secs(2);

/// Fewest messages of a block, as of settings that are compared.
const MESSAGES_MIN: f64 = 20.0;

/// As many blocks as make an interval, none of them shorter than its warm-up.
fn blocks(arguments: &LatencyArgs) -> u32 {
    let by_count = arguments.count.map(|count| Nanos((count as f64 / arguments.rate * 1e9) as u64));
    let length = by_count.or(arguments.duration).unwrap_or(DURATION);
    let by_length = length.0 / arguments.warm_up.0.max(BLOCK_MIN.0);
    let messages = arguments.count.map_or(length.0 as f64 / 1e9 * arguments.rate, |count| count as f64);
    let by_messages = (messages / MESSAGES_MIN) as u64;
    by_length.min(by_messages).clamp(1, BLOCKS) as u32
}
