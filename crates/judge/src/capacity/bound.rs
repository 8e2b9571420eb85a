//! A bound: what one resource allows, what the load therefore needs of it, and how much is left.

use super::machine::Source;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What one resource asks of the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Which.
    pub name: BoundName,
    /// What would have to be raised to move it.
    pub resource: Resource,
    /// The hard bound in words; P is what producers send after compression, r copies, c consumer groups, N brokers.
    pub formula: Cow<'static, str>,
    /// What is known of it.
    #[serde(flatten)]
    pub standing: Standing,
}

/// What is known of a bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "standing")]
pub enum Standing {
    /// It could be worked out.
    Known(Known),
    /// A figure is missing.
    Unknown {
        /// The flags that would give it.
        missing: Vec<String>,
    },
    /// The target does not meet it.
    NotAsked {
        /// Why not.
        why: String,
    },
}

/// A bound that could be worked out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// What is counted.
    pub unit: Unit,
    /// What one unit's resource can do.
    pub limit: Limit,
    /// How many the hard bound asks for; absent where only planning has a rule.
    pub physics: Option<Need>,
    /// How many a plan asks for; absent where more brokers do not help.
    pub plan: Option<Planned>,
    /// How many there are, where the target says so (partitions, connections).
    pub have: Option<f64>,
    /// What is left at the counts that the whole sizing came to.
    pub slack: Option<Slack>,
    /// What it was worked out from.
    pub inputs: Vec<Input>,
}

/// A limit with its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The value.
    pub value: f64,
    /// Its unit, and whose.
    pub unit: Cow<'static, str>,
}

/// How many of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Before rounding up.
    pub exact: f64,
    /// Whole.
    pub count: u64,
    /// How what the units carry grows with their number.
    pub growth: Growth,
}

/// How many a plan asks for, and by whose rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// How many.
    pub need: Need,
    /// The rule in words, and whose it is.
    pub rule: String,
}

/// How much more load the bound would carry, as a multiple: 1 is full, 2 is half used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slack {
    /// Hard bound, at the count of physics.
    pub at_physics: Option<f64>,
    /// Hard bound, at the count of the plan.
    pub at_plan: Option<f64>,
}

/// A figure that a bound was worked out from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// What it is.
    pub name: String,
    /// Its value with its unit.
    pub shown: String,
    /// Where it is from.
    pub source: Source,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Brokers.
    Brokers,
    /// Partitions: more brokers do not help.
    Partitions,
    /// Producing connections: more brokers do not help.
    Connections,
}

/// How what the units carry grows with their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// In proportion.
    Load,
    /// With the pairs of brokers.
    Pairs,
    /// The need does not depend on the load.
    Fixed,
}

/// The bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own name; the registry has its formula")]
pub enum BoundName {
    Disk,
    StorageNetwork,
    NicIn,
    NicOut,
    VendorIngress,
    VendorEgress,
    Fsync,
    FsyncPartition,
    Tls,
    Cpu,
    Connection,
    PartitionAppend,
    FollowerFetch,
    FollowerFetchPartition,
    MemoryBandwidth,
    PageCache,
    ReplicaMemory,
    Replicas,
    Storage,
    Copies,
}

/// What would have to be raised to move a bound. Bounds that share one move together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Resource {
    Disk,
    StorageNetwork,
    Nic,
    VendorLimit,
    Fsync,
    Cores,
    Connections,
    Partitions,
    FetchRoundTrip,
    MemoryBandwidth,
    Memory,
    Storage,
    Brokers,
}

/// The whole number that is enough. An error of the arithmetic does not cost a broker: what is above a whole number by a billionth of
/// itself, or by a millionth of one where that is less, is that number.
pub(super) fn rounded_up(exact: f64) -> u64 {
    let error_of_arithmetic = (exact * 1e-9).min(1e-6);
    (exact - error_of_arithmetic).ceil() as u64
}

impl Need {
    /// So many, rounded up; a rounding error of the arithmetic does not cost a broker.
    pub(super) fn of(exact: f64, growth: Growth) -> Self {
        Need { exact, count: rounded_up(exact).max(1), growth }
    }

    /// The multiple of the load that so many units carry; for a need that is no matter of load, of the need.
    pub(super) fn carried_by(&self, units: f64) -> f64 {
        match self.growth {
            Growth::Load | Growth::Fixed => units / self.exact,
            Growth::Pairs => units * (units - 1.0) / (self.exact * (self.exact - 1.0)),
        }
    }
}

impl Input {
    /// Whether nobody knows it.
    pub fn is_assumed(&self) -> bool {
        matches!(self.source, Source::Assumed(_))
    }
}

impl Bound {
    /// What it was worked out from.
    pub fn inputs(&self) -> &[Input] {
        self.known().map_or(&[], |known| &known.inputs)
    }

    /// What is known of it, if anything.
    pub fn known(&self) -> Option<&Known> {
        match &self.standing {
            Standing::Known(known) => Some(known),
            Standing::Unknown { .. } | Standing::NotAsked { .. } => None,
        }
    }

    /// Whether there are too few of what more brokers do not add: connections or partitions.
    pub(crate) fn is_short(&self) -> bool {
        let short = |known: &Known| Some(known.physics?.carried_by(known.have?) < 1.0);
        self.known().filter(|known| known.unit != Unit::Brokers).and_then(short).unwrap_or(false)
    }

    /// The brokers that its hard bound asks for.
    pub(crate) fn physics_brokers(&self) -> Option<Need> {
        self.known().filter(|known| known.unit == Unit::Brokers)?.physics
    }

    /// Whether it is about a rate: of bytes, syncs or cycles, not of space, copies or numbers of things.
    pub(crate) fn is_throughput(&self) -> bool {
        !matches!(self.resource, Resource::Storage | Resource::Memory | Resource::Brokers)
            && !matches!(self.name, BoundName::Replicas)
    }
}

impl BoundName {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            BoundName::Disk => "disk",
            BoundName::StorageNetwork => "storage network",
            BoundName::NicIn => "NIC in",
            BoundName::NicOut => "NIC out",
            BoundName::VendorIngress => "vendor's limit in",
            BoundName::VendorEgress => "vendor's limit out",
            BoundName::Fsync => "fsync",
            BoundName::FsyncPartition => "fsync of a partition",
            BoundName::Tls => "TLS",
            BoundName::Cpu => "CPU",
            BoundName::Connection => "connection",
            BoundName::PartitionAppend => "partition append",
            BoundName::FollowerFetch => "follower fetch",
            BoundName::FollowerFetchPartition => "follower fetch of a partition",
            BoundName::MemoryBandwidth => "memory bandwidth",
            BoundName::PageCache => "page cache",
            BoundName::ReplicaMemory => "memory of replicas",
            BoundName::Replicas => "replicas",
            BoundName::Storage => "storage",
            BoundName::Copies => "copies",
        }
    }
}

impl Resource {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Resource::Disk => "the disk's rate",
            Resource::StorageNetwork => "the storage network's rate",
            Resource::Nic => "the NIC's rate",
            Resource::VendorLimit => "the vendor's limit of a broker",
            Resource::Fsync => "syncs per second",
            Resource::Cores => "the number of cores",
            Resource::Connections => "the number of producing connections",
            Resource::Partitions => "the number of partitions",
            Resource::FetchRoundTrip => "the followers' fetches per second",
            Resource::MemoryBandwidth => "the memory's rate",
            Resource::Memory => "the memory",
            Resource::Storage => "the storage",
            Resource::Brokers => "the number of brokers",
        }
    }
}
