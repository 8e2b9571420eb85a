//! A plan: a scenario fully resolved. No value is missing here, and [`Plan::origins`] says where each came from.

mod external;
mod labs;
mod load;
mod own_rate;
mod places;

pub use external::{ClientProgram, ExternalPlan, JavaClient};
pub use labs::heap_mib;
pub use load::{
    Keys, Length, LoadPlan, Mode, Payload, Purpose, RateStep, STAMP_HEADER, Schedule, SizePlan, WeightedSize,
};

use crate::settings_search::SettingsSearch;
use crate::trial::TrialPlan;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Client properties by librdkafka's names.
pub type Properties = BTreeMap<String, String>;

/// Everything that a run will do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Names the run and its directory.
    pub name: String,
    /// The purpose of the experiment; empty when the user gave none.
    pub description: String,
    /// Seed of everything random: payloads, keys, schedules, the order of blocks.
    pub seed: u64,
    /// The path under test.
    pub cluster: ClusterPlan,
    /// Confidence level of every interval, 0..1.
    pub level: f64,
    /// Published figures to show beside ours: the name of a set that ships with Plumb, or none.
    pub reference: Option<String>,
    /// The settings under test, in the order written.
    pub steps: Vec<StepPlan>,
    /// Rounds over all steps, each with fresh clients; a step's messages are split over them. In a search for a goal:
    /// full-length runs of each rate that is confirmed.
    pub blocks: u32,
    /// Unmeasured load before the first block, so that a cold broker is not what is measured.
    pub settle: Nanos,
    /// After the measured blocks, so many messages go to a twin of each own topic that keeps the broker's append times
    /// (LogAppendTime): they tell the publish stage. 0: none.
    pub twin: u64,
    /// Instead of the rates given: the highest rate at which each step holds this.
    #[serde(default)]
    pub goal: Option<Goal>,
    /// The steps that are arms of a trial; none in a plain run.
    #[serde(default)]
    pub trial: Option<TrialPlan>,
    /// The search for the best settings of the one step; none in a run of settings as they are.
    #[serde(default)]
    pub settings_search: Option<SettingsSearch>,
    /// The origin of each value, by its path (`steps.0.load.rate_per_s`).
    pub origins: BTreeMap<String, Origin>,
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Origin {
    /// Plumb's default.
    Default,
    /// Written in a file.
    File {
        /// As the user named it.
        path: String,
        /// 1-based.
        line: u32,
    },
    /// A command line flag.
    Flag {
        /// Its name with dashes.
        flag: String,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// Worked out from other values.
    Derived {
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{path}:{line}"),
            Origin::Flag { flag } => f.write_str(flag),
            Origin::Environment { variable } => write!(f, "${variable}"),
            Origin::Derived { reason } => f.write_str(reason),
        }
    }
}

/// The path under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ClusterPlan {
    /// Real Apache Kafka started on this machine for the run, and taken down after it.
    Lab {
        /// Number of brokers.
        brokers: u32,
        /// True if clients use TLS.
        tls: bool,
        /// The protocol between brokers: for replication, not the controllers' quorum.
        #[serde(default)]
        inter_broker: InterBroker,
        /// Broker properties on top of the lab's own.
        broker_properties: BTreeMap<String, String>,
        /// JVM flags on top of the lab's own.
        jvm_flags: Vec<String>,
        /// Heap of each broker, as the JVM writes it.
        heap: String,
        /// The directories of the logs; empty: the one where the lab keeps its other files.
        #[serde(default)]
        log_dirs: Vec<LogDirPlan>,
        /// The layout of log directories over brokers.
        #[serde(default)]
        log_dir_layout: LogDirLayout,
    },
    /// Brokers that are already there.
    Brokers {
        /// host:port, comma separated.
        bootstrap: String,
        /// Path of a client properties file, if any. Its content never enters the document.
        config: Option<String>,
        /// The addresses at which the brokers serve their metrics in Prometheus' format; read before and after each block.
        metrics: Vec<String>,
    },
}

/// The protocol between the brokers of a lab.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterBroker {
    /// In the clear.
    #[default]
    Plaintext,
    /// Over TLS: what a follower fetches is encrypted by the leader and decrypted by the follower.
    Tls,
}

/// A directory for logs, by the name under which results show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogDirPlan {
    /// The name in results, such as nvme.
    pub name: String,
    /// An existing directory.
    pub path: String,
}

/// The layout of log directories over the brokers of a lab.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogDirLayout {
    /// A broker for each directory; a step's topic is on one of them.
    #[default]
    BrokerEach,
    /// Every broker has all directories and spreads the partitions itself.
    Together,
}

/// The client that drives the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// The C client library: what an application sees.
    #[default]
    Librdkafka,
    /// Plumb's own data plane: batches prepared ahead, a fraction of a client's CPU time.
    Wire,
    /// Programs of their own, at least on one side: the step says which.
    External,
}

impl Driver {
    /// `librdkafka`, `wire`, `external`.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Librdkafka => "librdkafka",
            Driver::Wire => "wire",
            Driver::External => "external",
        }
    }
}

/// A latency that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// The latency.
    pub latency: GoalLatency,
    /// The quantile of it, 0..1.
    pub quantile: f64,
    /// The most that it may be.
    pub limit: Nanos,
}

/// The latency that a goal is about, from the intended send time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalLatency {
    /// To the acknowledgement: without consumers.
    Acknowledge,
    /// To the consumer: with consumers.
    EndToEnd,
}

/// One setting under test, with its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepPlan {
    /// Unique within the plan.
    pub name: String,
    /// The client that drives it.
    #[serde(default)]
    pub driver: Driver,
    /// The programs, where the driver is an external one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalPlan>,
    /// The topic that it uses.
    pub topic: TopicPlan,
    /// The load.
    pub load: LoadPlan,
    /// Producer properties as asked for, without connection and security.
    pub producer: Properties,
    /// Consumer properties as asked for, without connection and security.
    pub consumer: Properties,
    /// Its lab, where its brokers are not those of the plan: in a trial whose arms differ in them, and where the number of log
    /// directories is swept over.
    #[serde(default)]
    pub cluster: Option<ClusterPlan>,
}

impl StepPlan {
    /// The client or clients that drive it, by name.
    pub fn driver_name(&self) -> String {
        self.external.as_ref().map_or_else(|| self.driver.name().to_owned(), ExternalPlan::name)
    }

    /// The same as a scenario's `driver` has it.
    pub fn driver_words(&self) -> String {
        self.external.as_ref().map_or_else(|| self.driver.name().to_owned(), ExternalPlan::words)
    }

    /// True if a topic of the user's is read as it is: nothing in it is known beforehand but its length.
    pub fn reads_as_it_is(&self) -> bool {
        self.load.mode == Mode::Consume && matches!(self.topic, TopicPlan::Existing { .. })
    }
}

/// The topic of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum TopicPlan {
    /// Made for this step and deleted after it.
    Own {
        /// Partitions.
        partitions: u32,
        /// Replicas of each.
        replication: u32,
        /// Topic configs by Kafka's names.
        configs: BTreeMap<String, String>,
        /// The log directory that it is on, by its name in the lab; none: wherever the cluster puts it.
        #[serde(default)]
        log_dir: Option<String>,
    },
    /// The user's: never altered, never deleted.
    Existing {
        /// Its name.
        name: String,
    },
}
