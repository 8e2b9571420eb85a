//! A bound: the limit of one resource, the load's need of it, and the headroom.

use super::input::Input;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The demand of one resource on the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Its name.
    pub name: BoundName,
    /// The resource that would have to be raised to move it.
    pub resource: Resource,
    /// The hard bound in words; P is what producers send after compression, r copies, c consumer groups, N brokers.
    pub formula: Cow<'static, str>,
    /// Its figures, as far as they are known.
    #[serde(flatten)]
    pub standing: Standing,
}

/// The figures of a bound, as far as they are known.
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
        /// The reason, as a clause.
        why: String,
    },
}

/// A bound that could be worked out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The unit that is counted.
    pub unit: Unit,
    /// The limit of one unit's resource.
    pub limit: Limit,
    /// The number of units by the hard bound; absent where only planning has a rule.
    pub physics: Option<Need>,
    /// The number of units by a plan; absent where more brokers do not help.
    pub plan: Option<Planned>,
    /// The number of units that are there, where the target tells it (partitions, connections).
    pub have: Option<f64>,
    /// The headroom at the counts of the whole sizing.
    pub slack: Option<Slack>,
    /// The figures that it was worked out from.
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

/// A number of units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Need {
    /// Before rounding up.
    pub exact: f64,
    /// Whole.
    pub count: u64,
    /// The growth of the load that the units carry with their number.
    pub growth: Growth,
}

/// The number of units of a plan, with its rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The number.
    pub need: Need,
    /// The rule in words, and whose it is.
    pub rule: String,
}

/// The multiple of the load that the bound would carry: 1 is full, 2 is half used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slack {
    /// Hard bound, at the count of physics.
    pub at_physics: Option<f64>,
    /// Hard bound, at the count of the plan.
    pub at_plan: Option<f64>,
}

/// The unit that is counted.
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

/// The growth of the load that units carry with their number.
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

/// The resource that would have to be raised to move a bound. Bounds that share one move together.
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

impl Limit {
    pub(super) fn of(value: f64, unit: &'static str) -> Self {
        Limit { value, unit: unit.into() }
    }
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

impl Bound {
    /// The figures that it was worked out from.
    pub fn inputs(&self) -> &[Input] {
        self.known().map_or(&[], |known| &known.inputs)
    }

    /// The figures, where they are known.
    pub fn known(&self) -> Option<&Known> {
        match &self.standing {
            Standing::Known(known) => Some(known),
            Standing::Unknown { .. } | Standing::NotAsked { .. } => None,
        }
    }

    /// True if there are too few units that more brokers do not add: connections or partitions.
    pub(crate) fn is_short(&self) -> bool {
        let short = |known: &Known| Some(known.physics?.carried_by(known.have?) < 1.0);
        self.known().filter(|known| known.unit != Unit::Brokers).and_then(short).unwrap_or(false)
    }

    /// The brokers that its hard bound asks for.
    pub(crate) fn physics_brokers(&self) -> Option<Need> {
        self.known().filter(|known| known.unit == Unit::Brokers)?.physics
    }

    /// True if it is about a rate: of bytes, syncs or cycles, not about space, copies or numbers of things.
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
