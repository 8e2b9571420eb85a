//! The observations of a running path within a window, without load of Plumb's own: brokers, clients, processes, hosts, the kernel.
//!
//! `plumb observe` writes it, `plumb judge` and `plumb diagnose` find causes in it, on any machine. Every figure is of the
//! window between two readings unless its description says otherwise; absent is `null`, never 0, and [`Unseen`] says why.

mod broker;
mod client;
mod from_step;
mod host;
mod kernel;
mod process;
mod profile;

pub use broker::{
    BrokerKind, BrokerRole, BrokerWindow, FollowerLag, HandlerPool, NetworkProcessor, RequestKind,
    TopicTraffic,
};
pub use client::{ClientKind, ClientWindow};
pub use host::{
    CgroupWindow, HostWindow, InterruptsOfCpu, ProgramWindow, ReceivingConnection, SoftnetOfCpu, TcpWindow,
};
pub use kernel::{DeviceTimes, DropReason, KernelWindow, LogHistogram, OffCpuStack, ProcessWaits};
pub use process::{JvmFacts, JvmWindow, LogDirectory, ProcessWindow, ThreadClass, ThreadGroup, ThreadStates};
pub use profile::{CpuClass, Profile, ProfileShare, Stack, profile_file};

use crate::diagnosis::Diagnosis;
use crate::facts::HostFacts;
use crate::plan::Properties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this document's shape. It rises when a reader of the old shape would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// A path that was watched while it ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedPath {
    /// Shape of this document.
    pub schema_version: u32,
    /// `path`: tells this document from a run's and a probe's.
    pub kind: PathKind,
    /// Version of Plumb.
    pub plumb_version: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// The time between the first and the last reading.
    pub elapsed_ns: u64,
    /// False when the user or an error stopped it early: the figures are of the shorter window.
    pub complete: bool,
    /// The host on which Plumb ran: facts.
    pub host: Option<HostFacts>,
    /// Its counters over the window.
    #[serde(default)]
    pub host_window: Option<HostWindow>,
    /// The brokers whose metrics were read.
    #[serde(default)]
    pub brokers: Vec<BrokerWindow>,
    /// Clients whose statistics were read.
    #[serde(default)]
    pub clients: Vec<ClientWindow>,
    /// Processes of this host.
    #[serde(default)]
    pub processes: Vec<ProcessWindow>,
    /// The counts of the kernel's trace points, where they could be used; those of a process are with it.
    #[serde(default)]
    pub kernel: Option<KernelWindow>,
    /// The cluster's settings, where it was asked.
    #[serde(default)]
    pub settings: ClusterSettings,
    /// Limits of this host by short calibrations: what the bounds are held against.
    #[serde(default)]
    pub limits: HostLimits,
    /// The observations that could not be made, with the reason.
    #[serde(default)]
    pub unseen: Vec<Unseen>,
    /// The cost of the observation.
    #[serde(default)]
    pub cost: ObserverCost,
    /// The diagnosis; absent when nobody looked for causes.
    #[serde(default)]
    pub diagnosis: Option<Diagnosis>,
}

/// The kind of this document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// A path that was watched.
    #[default]
    Path,
}

/// Settings as the cluster gave them. Secrets are `[redacted]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClusterSettings {
    /// Settings by broker id.
    pub brokers: BTreeMap<String, Properties>,
    /// The topics with most traffic (or those that were named), with their settings.
    pub topics: BTreeMap<String, TopicSettings>,
    /// Client quotas that are set, as `user=..., client-id=...: producer_byte_rate=...`.
    pub quotas: Vec<String>,
}

/// One topic's settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TopicSettings {
    /// Partitions.
    pub partitions: u32,
    /// Replicas of each.
    pub replication: u32,
    /// Partitions led, by broker id.
    pub leaders: BTreeMap<String, u32>,
    /// Its configs.
    pub configs: Properties,
    /// The time of its newest record less this host's wall clock when it was told, in nanoseconds; above 0 it lies in the future. Absent where
    /// brokers give the times, or nothing was told.
    pub newest_record_ahead_ns: Option<i64>,
}

/// The limits of this host, measured in short calibrations; absent where they were not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostLimits {
    /// Bytes a second that one CPU encrypts with AES-256-GCM in the library of the broker (records of 16 KiB).
    pub aes_gcm_bytes_per_s: Option<f64>,
    /// The library that did it: `OpenSSL 3.0.17`, `Java 17.0.15 with the flags of process 1234`.
    pub aes_gcm_of: Option<String>,
    /// The same in that library with the processor's AES instructions, where flags of the broker's JVM turn them off; else absent.
    pub aes_gcm_with_instructions_bytes_per_s: Option<f64>,
    /// Commits (4 KiB at a file's end and fsync, one after another) a second in a broker's log directory.
    pub fsync_per_s: Option<f64>,
    /// Bytes a second that the device of that directory takes in a row; what others wrote to it meanwhile is counted in. Of some 20 MB, so that a
    /// cache within the device may have taken them.
    pub write_bytes_per_s: Option<f64>,
    /// The directory of the two: they are limits of its device, and of no other.
    pub storage_of: Option<LogDirectory>,
    /// Bytes a second that all processors together copy in memory, each byte counted once.
    pub memory_copy_bytes_per_s: Option<f64>,
    /// Bytes a second in one direction of the interface that uses most of what it has, as its driver says.
    pub network_bytes_per_s: Option<f64>,
    /// That interface, by its name in the host's counters.
    pub network_of: Option<String>,
}

/// Something that could not be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// Its name: `metrics of broker http://...`, `CPU profile of process 12`.
    pub what: String,
    /// The reason, in words.
    pub reason: String,
    /// The way to have it; absent where there is none.
    pub hint: Option<String>,
}

/// Names of what a verdict depends on having seen: whoever does not see them and whoever judges write and read them here.
impl Unseen {
    const CLIENT_STATISTICS: &str = "client statistics of ";
    const BROKER: &str = "metrics of broker ";
    const PROCESS: &str = "metrics of process ";

    /// The name of a client's statistics.
    pub fn client_statistics(source: &str) -> String {
        format!("{}{source}", Self::CLIENT_STATISTICS)
    }

    /// The name of a broker's page of metrics.
    pub fn metrics_of_broker(url: &str) -> String {
        format!("{}{url}", Self::BROKER)
    }

    /// The name of the metrics of a broker of this host.
    pub fn metrics_of_process(pid: u32) -> String {
        format!("{}{pid}", Self::PROCESS)
    }

    /// True for a client's statistics.
    pub fn is_client_statistics(&self) -> bool {
        self.what.starts_with(Self::CLIENT_STATISTICS)
    }

    /// True for the metrics of a broker that was named or found.
    pub fn is_broker_metrics(&self) -> bool {
        self.what.starts_with(Self::BROKER) || self.what.starts_with(Self::PROCESS)
    }
}

/// The cost of the observation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ObserverCost {
    /// Processor time of Plumb itself in the window, its calibrations left out.
    pub own_cpu_ns: Option<u64>,
    /// Processor time of the observed brokers that reading their metrics took, where it was measured.
    pub target_cpu_ns: Option<u64>,
    /// Processor time that the samples of all CPU profiles took, as far as their profilers tell it ([`Profile::cpu_is_of`]); absent without a
    /// profile, and where one of them does not tell.
    pub profiler_cpu_ns: Option<u64>,
    /// Processor time of the kernel programs; absent without them.
    pub kernel_programs_cpu_ns: Option<u64>,
}
