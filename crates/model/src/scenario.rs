//! A scenario: what the user wrote. Every part is optional and nothing here is a default or derived.
//!
//! Strict: a key that is not known is an error that lists the choices. Any value under `load`, `topic` or a setup may be
//! a list: a sweep. [`crate::resolve`] turns a scenario into a [`crate::plan::Plan`].

mod cluster;
mod driver;
mod goal;
mod one_or_many;
mod scalar;
mod search;
mod size;
mod trial;

pub use crate::rate::RateWords;
pub use cluster::{ClusterWords, LabWords, LogDirsWords};
pub use driver::DriverWords;
pub use goal::GoalWords;
pub use one_or_many::OneOrMany;
pub use scalar::Scalar;
pub use search::{SearchAllow, SearchWords};
pub use size::SizeWords;
pub use trial::{ArmClusterWords, ArmLabWords, ArmWords, ArmsWords, MarginWords, TrialWords};

use crate::plan::{Keys, Mode, Payload, Purpose, Schedule};
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An experiment, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Names the run and its directory.
    pub name: Option<String>,
    /// The purpose of the experiment.
    pub description: Option<String>,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// `lab`, or the brokers to use.
    pub cluster: Option<ClusterWords>,
    /// Instead of one cluster: several by name. Each setup or arm says which is its own.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterWords>,
    /// The client that drives the path, for every setup that says nothing else.
    pub driver: Option<OneOrMany<DriverWords>>,
    /// Confidence level of every interval, such as 0.95.
    pub level: Option<f64>,
    /// Rounds over all steps, each with fresh clients.
    pub blocks: Option<u32>,
    /// Unmeasured load before the first block.
    pub settle: Option<Nanos>,
    /// Messages sent to a twin of each own topic that keeps the broker's append times.
    pub twin: Option<u64>,
    /// Instead of a rate: the highest rate at which a latency holds, such as p99=20ms.
    pub goal: Option<GoalWords>,
    /// Published figures to show beside ours.
    pub reference: Option<String>,
    /// The topic, for every setup that says nothing else.
    #[serde(default)]
    pub topic: TopicWords,
    /// The load, for every setup that says nothing else.
    #[serde(default)]
    pub load: LoadWords,
    /// The settings under test.
    #[serde(default)]
    pub setups: Vec<SetupWords>,
    /// Instead of setups: the arms of a trial by name, the reference first.
    #[serde(default)]
    pub arms: ArmsWords,
    /// The comparison of the arms.
    pub trial: Option<TrialWords>,
    /// The search for the best settings: what `plumb search` makes as good as possible.
    pub search: Option<SearchWords>,
}

/// One setting under test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupWords {
    /// Its name.
    pub name: Option<String>,
    /// Its cluster, one of `clusters`.
    pub cluster: Option<String>,
    /// The client that drives it, over the scenario's.
    pub driver: Option<OneOrMany<DriverWords>>,
    /// Producer properties by librdkafka's names.
    #[serde(default)]
    pub producer: BTreeMap<String, OneOrMany<Scalar>>,
    /// Consumer properties by librdkafka's names.
    #[serde(default)]
    pub consumer: BTreeMap<String, OneOrMany<Scalar>>,
    /// Load of this setup, over the scenario's.
    #[serde(default)]
    pub load: LoadWords,
    /// Topic of this setup, over the scenario's.
    #[serde(default)]
    pub topic: TopicWords,
}

/// The topic, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopicWords {
    /// An existing topic, never altered nor deleted.
    pub name: Option<String>,
    /// Partitions of an own topic.
    pub partitions: Option<OneOrMany<u32>>,
    /// Replicas of an own topic.
    pub replication: Option<OneOrMany<u32>>,
    /// Configs of an own topic.
    #[serde(default)]
    pub configs: BTreeMap<String, OneOrMany<Scalar>>,
    /// The log directory of the lab that an own topic is on; a list, or `each` for one step a directory.
    pub log_dir: Option<OneOrMany<Scalar>>,
}

/// The load, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadWords {
    /// The purpose of the step: `path` (latency, or throughput), or `queue`: the growth of the producers' queue.
    pub purpose: Option<Purpose>,
    /// Messages per second over all producers, or `max`: as fast as possible.
    pub rate: Option<OneOrMany<RateWords>>,
    /// The clients at work in the measured part.
    pub mode: Option<Mode>,
    /// The layout of the intended times.
    pub schedule: Option<Schedule>,
    /// Measured messages.
    pub count: Option<OneOrMany<u64>>,
    /// Measured time, instead of a count.
    pub duration: Option<OneOrMany<Nanos>>,
    /// Before the measured part, in every block.
    pub warm_up: Option<Nanos>,
    /// Longest wait for what is still under way at the end.
    pub drain: Option<Nanos>,
    /// Producer clients.
    pub producers: Option<OneOrMany<u32>>,
    /// Consumer clients.
    pub consumers: Option<OneOrMany<u32>>,
    /// Worker processes, on other hosts, that run the clients; 0 or left out: this process does.
    pub workers: Option<OneOrMany<u32>>,
    /// Size of the value.
    pub size: Option<OneOrMany<SizeWords>>,
    /// Keys.
    pub keys: Option<Keys>,
    /// Headers on each record.
    pub headers: Option<BTreeMap<String, String>>,
    /// The content of the value.
    pub payload: Option<Payload>,
    /// Unacknowledged messages that one producer may have.
    pub in_flight: Option<OneOrMany<u32>>,
    /// Warm up until the log's device, not the page cache, takes what is written.
    pub until_device: Option<bool>,
}
