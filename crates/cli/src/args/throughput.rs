//! The words of `plumb throughput`. Where a value may be a list or a range, each value is a setting of its own: a sweep.

use super::{OutputArgs, parse_bytes, parse_nanos};
use clap::{Args, ValueEnum};
use plumb_model::plan::SizePlan;
use plumb_model::scenario::{DriverWords, GoalWords, OneOrMany, RateWords, Scalar, SizeWords};
use plumb_model::units::{Bytes, Nanos};
use serde::Deserialize;
use serde::de::value::{Error as ReadError, StrDeserializer};
use std::path::PathBuf;

const CLUSTER: &str = "The cluster";
const LOAD: &str = "The load (lists and ranges are swept over)";
const RUN: &str = "The run";

/// `plumb throughput`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("cluster").required(true).args(["lab", "bootstrap", "resume"]))]
#[command(group = clap::ArgGroup::new("length").args(["count", "duration"]))]
pub(crate) struct ThroughputArgs {
    /// A real broker on this machine, for this run
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) lab: bool,
    /// The cluster: host:port,...
    #[arg(short, long, visible_alias = "bootstrap-server", value_name = "HOSTS", help_heading = CLUSTER)]
    pub(crate) bootstrap: Option<String>,
    /// Client properties (security), as for the Java client or librdkafka
    #[arg(long, value_name = "FILE", requires = "bootstrap", help_heading = CLUSTER)]
    pub(crate) config: Option<String>,
    /// Where a broker serves its metrics in Prometheus' format (JMX exporter), http or https; once for each broker
    #[arg(long, value_name = "URL", requires = "bootstrap", help_heading = CLUSTER)]
    pub(crate) metrics: Vec<String>,
    /// A directory for the lab's logs, by the name under which results show it; once for each device, the reference of the others first
    #[arg(long, value_name = "NAME=DIR", requires = "lab", value_parser = parse_log_dir, help_heading = CLUSTER)]
    pub(crate) log_dir: Vec<(String, String)>,
    /// Every broker of the lab has all log directories, instead of a broker for each; with 1..4, the first one, two, three and four
    /// of them in turns, each on a lab of its own
    #[arg(long, requires = "log_dir", value_parser = parse_numbers, value_name = "RANGE", num_args = 0..=1, help_heading = CLUSTER)]
    pub(crate) log_dirs_together: Option<Option<OneOrMany<u32>>>,
    /// Partitions of the topics that are made for the run [default: 6]
    #[arg(long, conflicts_with = "topic", value_parser = parse_numbers, value_name = "N", help_heading = CLUSTER)]
    pub(crate) partitions: Option<OneOrMany<u32>>,
    /// Replicas of each [default: 1]
    #[arg(long, conflicts_with = "topic", value_parser = parse_numbers, value_name = "N", help_heading = CLUSTER)]
    pub(crate) replication: Option<OneOrMany<u32>>,
    /// An existing topic to use as it is; it is never altered or deleted
    #[arg(long, help_heading = CLUSTER)]
    pub(crate) topic: Option<String>,

    /// Size of each value: 1KiB, or a list such as 100B,1KiB,240KiB; of a topic that is only read, the records tell it
    #[arg(long, value_name = "SIZES", value_parser = parse_sizes, help_heading = LOAD)]
    pub(crate) size: Option<OneOrMany<SizeWords>>,
    /// The client that drives it: wire (Plumb's own), librdkafka, java, or several [default: wire]
    #[arg(long, value_name = "DRIVER", value_parser = parse_drivers, help_heading = LOAD)]
    pub(crate) driver: Option<OneOrMany<DriverWords>>,
    /// Producer clients: 4, a list 1,2,4, or a range 1..30 or "1..30 step 5" [default: 1]
    #[arg(long, value_name = "RANGE", value_parser = parse_numbers, help_heading = LOAD)]
    pub(crate) producers: Option<OneOrMany<u32>>,
    /// Consumer clients, in one group [default: 1 where the mode has consumers]
    #[arg(long, value_name = "RANGE", value_parser = parse_numbers, help_heading = LOAD)]
    pub(crate) consumers: Option<OneOrMany<u32>>,
    /// Who is at work in the measured part [default: produce]
    #[arg(long, value_enum, help_heading = LOAD)]
    pub(crate) mode: Option<ModeWord>,
    /// With --mode backlog: bytes of values that wait before the consumers begin [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = LOAD)]
    pub(crate) backlog: Option<Bytes>,
    /// Which acknowledgement a producer waits for: 0, 1 or all [default: all]
    #[arg(long, value_name = "ACKS", value_parser = parse_acks, help_heading = LOAD)]
    pub(crate) acks: Option<OneOrMany<Scalar>>,
    /// A client property under test; `producer.` or `consumer.` in front limits it to one side
    #[arg(short = 'X', value_name = "KEY=VALUE", help_heading = LOAD)]
    pub(crate) property: Vec<String>,
    /// Messages per second (5000, 10k, 1.6M/s), or max: as fast as possible [default: max]
    #[arg(long, value_name = "RATE", value_parser = parse_rates, conflicts_with = "goal", help_heading = LOAD)]
    pub(crate) rate: Option<OneOrMany<RateWords>>,
    /// Find the highest rate at which this holds: p99=20ms, 'p99<20ms', "acknowledge p99.9=50ms"
    #[arg(long, value_name = "GOAL", value_parser = parse_goal, help_heading = LOAD)]
    pub(crate) goal: Option<GoalWords>,

    /// Measure so many messages for each setting
    #[arg(long, conflicts_with = "goal", help_heading = RUN)]
    pub(crate) count: Option<u64>,
    /// Measure each setting for so long, over all its blocks; with --goal, each confirming run [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos, help_heading = RUN)]
    pub(crate) duration: Option<Nanos>,
    /// The same load before the measured part of each block [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos, help_heading = RUN)]
    pub(crate) warm_up: Option<Nanos>,
    /// Warm up until the log's device, not the page cache, takes what is written
    #[arg(long, help_heading = RUN)]
    pub(crate) until_device: bool,
    /// Rounds over all settings, each with fresh clients, in random order [default: 5; with --goal 3]
    #[arg(long, value_name = "N", help_heading = RUN)]
    pub(crate) blocks: Option<u32>,
    /// Seed of everything random
    #[arg(long, value_name = "N", help_heading = RUN)]
    pub(crate) seed: Option<u64>,
    /// Measure the generator's own ceiling again, instead of taking what is stored
    #[arg(long, help_heading = RUN)]
    pub(crate) calibrate: bool,
    /// Go on with a run that was stopped or killed, in its directory
    #[arg(
        long,
        value_name = "DIR",
        help_heading = RUN,
        conflicts_with_all = [
            "partitions", "replication", "topic", "size", "driver", "producers", "consumers", "mode", "backlog",
            "acks", "property", "rate", "goal", "count", "duration", "warm_up", "until_device", "blocks", "seed",
            "calibrate", "out", "dry_run",
        ]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// Output.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The clients at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeWord {
    /// Producers only.
    Produce,
    /// Consumers only: the topic is filled before, unmeasured, and read from its beginning.
    Consume,
    /// Producers and consumers at the same time.
    Mixed,
    /// Consumers wait until a backlog is in the log, then drain it while the producers go on.
    Backlog,
}

/// The parts of a comma list: one value where there is one, else a sweep.
fn list<T>(text: &str, read: impl Fn(&str) -> Result<Vec<T>, String>) -> Result<OneOrMany<T>, String> {
    let mut values = Vec::new();
    for part in text.split(',') {
        values.extend(read(part.trim())?);
    }
    let one = values.len() == 1 && !text.contains("..");
    match values.pop() {
        Some(value) if one => Ok(OneOrMany::One(value)),
        Some(value) => {
            values.push(value);
            Ok(OneOrMany::Many(values))
        }
        None => Err("nothing is in it".to_owned()),
    }
}

/// `4`, `1,2,4`, `1..30`, `1..30 step 5`, or several of them.
fn parse_numbers(text: &str) -> Result<OneOrMany<u32>, String> {
    list(text, |part| {
        if part.contains("..") {
            let range = StrDeserializer::<ReadError>::new(part);
            let values = OneOrMany::<u32>::deserialize(range).map_err(|error| error.to_string())?;
            return Ok(values.values().to_vec());
        }
        let number = part.parse().map_err(|_| format!("{part:?} is no number; write 4, 1,2,4 or 1..30"))?;
        Ok(vec![number])
    })
}

fn parse_sizes(text: &str) -> Result<OneOrMany<SizeWords>, String> {
    list(text, |part| Ok(vec![SizeWords(SizePlan::Fixed(parse_bytes(part)?))]))
}

/// `wire`, `librdkafka`, `java`, or several.
pub(super) fn parse_drivers(text: &str) -> Result<OneOrMany<DriverWords>, String> {
    list(text, |part| match DriverWords::of_name(part) {
        Some(driver) => Ok(vec![driver]),
        None => Err(format!("{part:?} is no driver; there are wire, librdkafka and java")),
    })
}

fn parse_acks(text: &str) -> Result<OneOrMany<Scalar>, String> {
    list(text, |part| Ok(vec![parse_one_acks(part)?]))
}

pub(super) fn parse_one_acks(text: &str) -> Result<Scalar, String> {
    match text {
        "0" | "1" | "all" => Ok(Scalar(text.to_owned())),
        "-1" => Ok(Scalar("all".to_owned())),
        _ => Err(format!("acks is 0, 1 or all, not {text:?}")),
    }
}

fn parse_rates(text: &str) -> Result<OneOrMany<RateWords>, String> {
    list(text, |part| Ok(vec![part.parse()?]))
}

fn parse_goal(text: &str) -> Result<GoalWords, String> {
    text.parse()
}

fn parse_log_dir(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.to_owned(), path.to_owned())),
        _ => Err(format!("{text:?} is no log directory; write NAME=DIR, such as nvme=/mnt/nvme")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_one_a_list_or_a_range() {
        assert_eq!(parse_numbers("4"), Ok(OneOrMany::One(4)));
        assert_eq!(parse_numbers("1,2, 4"), Ok(OneOrMany::Many(vec![1, 2, 4])));
        assert_eq!(parse_numbers("1..3"), Ok(OneOrMany::Many(vec![1, 2, 3])));
        assert_eq!(parse_numbers("1,5..15 step 5"), Ok(OneOrMany::Many(vec![1, 5, 10, 15])));
        for wrong in ["", "x", "3..1", "1..9 step 0", "-1", "1,,2"] {
            assert!(parse_numbers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_a_list_of_bytes_with_their_units() {
        let sizes = parse_sizes("100B,240KiB").unwrap();
        let bytes: Vec<u64> = sizes.values().iter().map(|size| size.0.smallest().0).collect();
        assert_eq!(bytes, [100, 245_760]);
        assert!(parse_sizes("1KiB,").is_err());
    }
}
