//! The two families of Open Messaging Benchmark: the project itself, and Redpanda's fork of it.

use super::file::Entry;
use clap::ValueEnum;
use plumb_model::fault::UsageError;

const UPSTREAM_ONLY: &[&str] = &["backlogDrainRatio", "messageSizeDistribution"];
const REDPANDA_ONLY: &[&str] =
    &["sampleRateMillis", "existingTopicList", "existingProduceTopicList", "existingConsumeTopicList"];

/// Only the fork has this driver.
const REDPANDA_DRIVER: &str = "RedpandaBenchmarkDriver";

/// The Open Messaging Benchmark that a workload was written for. The same file means another run in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// The Open Messaging Benchmark itself
    Upstream,
    /// Redpanda's fork
    Redpanda,
}

impl Dialect {
    pub(super) fn name(self) -> &'static str {
        match self {
            Dialect::Upstream => "upstream",
            Dialect::Redpanda => "redpanda",
        }
    }

    /// Warm-up where the workload says nothing.
    pub(super) fn warm_up_minutes(self) -> u64 {
        match self {
            Dialect::Upstream => 1,
            Dialect::Redpanda => 30,
        }
    }

    /// True if only the other dialect has this key.
    pub(super) fn lacks(self, key: &str) -> bool {
        match self {
            Dialect::Upstream => REDPANDA_ONLY.contains(&key),
            Dialect::Redpanda => UPSTREAM_ONLY.contains(&key),
        }
    }
}

/// The dialect that the user named, or that only one of the workload's keys can be of, or the driver's class. None: it could be
/// either.
pub(super) fn of(
    workload: &[Entry],
    driver: &[Entry],
    named: Option<Dialect>,
) -> Result<Option<Dialect>, UsageError> {
    let only = |keys: &[&str]| workload.iter().find(|entry| keys.contains(&entry.key.as_str()));
    match (named, only(UPSTREAM_ONLY), only(REDPANDA_ONLY)) {
        (Some(named), ..) => Ok(Some(named)),
        (None, Some(upstream), Some(redpanda)) => Err(UsageError::new(
            format!(
                "{}: {} is a key of the upstream dialect, and {} (line {}) of redpanda's",
                upstream.place, upstream.key, redpanda.key, redpanda.place.line
            ),
            "no benchmark reads both: take one of them out",
        )),
        (None, Some(_), None) => Ok(Some(Dialect::Upstream)),
        (None, None, Some(_)) => Ok(Some(Dialect::Redpanda)),
        (None, None, None) => {
            let class = driver.iter().find(|entry| entry.key == "driverClass");
            let of_fork = class.is_some_and(|entry| entry.value.to_string().contains(REDPANDA_DRIVER));
            Ok(of_fork.then_some(Dialect::Redpanda))
        }
    }
}
