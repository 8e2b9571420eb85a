//! The facts that a host states of itself, as a run document has them ([`HostFacts`]), and the changes between two readings of
//! its counters ([`HostDelta`], [`ProcessUsage`], [`RequestTimes`]).
//!
//! Data only. Reading is the work of the `observe` crate, judging that of `judge`. Nothing in here names the
//! host or its owner: no host name, address, serial number or control-group path.

mod delta;
mod hardware;
mod requests;
mod storage;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use delta::{CpuTime, DiskDelta, HostDelta, InterfaceDelta, OneCpu, Pressure, ProcessUsage, ThreadUsage};
pub use hardware::{
    CpuCache, CpuIdentity, CpuTopology, ErrorCorrection, IoLimit, JavaRuntime, KernelOptions, MemoryModules,
    NetworkInterface, PersistentMemoryUse, PersistentNamespace, PersistentRegion, ProcessLimits, SoftHard,
};
pub use requests::{Idle, RequestStages, RequestTimes, WindowMean};
pub use storage::{
    Device, DeviceClass, DeviceRole, FileSystem, Layer, LogDirectory, Medium, NamespaceMode,
    PersistentMemory, Pool, ProcessIo, Storage, StorageLayer, StorageRisk, UntilDevice, UntilDeviceEnd,
};

/// A value with the place where it was read, or the reason why it is not known.
///
/// In JSON: `{"value": ..., "source": "/proc/meminfo"}` or `{"reason": "..."}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Fact<T> {
    /// The host said so.
    Known {
        /// The value.
        value: T,
        /// The source: paths on the host, or the command that was asked.
        source: String,
    },
    /// The host did not say.
    Unknown {
        /// The reason.
        reason: String,
    },
}

impl<T> Fact<T> {
    /// A value and where it was read.
    pub fn known(value: T, source: impl Into<String>) -> Self {
        Fact::Known { value, source: source.into() }
    }

    /// No value, and why.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Fact::Unknown { reason: reason.into() }
    }

    /// The value, if it is known.
    pub fn value(&self) -> Option<&T> {
        match self {
            Fact::Known { value, .. } => Some(value),
            Fact::Unknown { .. } => None,
        }
    }
}

impl<T> Default for Fact<T> {
    /// The value in an older document for a fact that it does not have.
    fn default() -> Self {
        Fact::unknown("not recorded by the version that wrote this document")
    }
}

/// The facts of the host on which a run took place, read once before it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFacts {
    /// 32 hexadecimal digits from a salted digest of the machine id: equal in two documents when they come from
    /// one host (or from machines cloned with their machine id). The id itself cannot be had back from it.
    pub host_digest: Fact<String>,
    /// Operating system, as it calls itself.
    pub os_name: Fact<String>,
    /// Kernel release, as `uname -r` prints it.
    pub kernel_release: Fact<String>,
    /// The time at which the kernel started, in seconds since 1970.
    pub boot_time_unix_s: Fact<u64>,
    /// Vendor and product of the machine; in clouds often the instance type.
    pub machine: Fact<String>,
    /// The hypervisor below this kernel, if any.
    pub virtualisation: Fact<Virtualisation>,
    /// The container in which this process runs, if any.
    pub container: Fact<Container>,

    /// Name of the processor.
    pub cpu_model: Fact<String>,
    /// The processor's generation, by number.
    pub cpu_identity: Fact<CpuIdentity>,
    /// Revisions of the processors' microcode, each once. A hypervisor may show any.
    pub cpu_microcode: Fact<Vec<String>>,
    /// Processors that the kernel schedules on.
    pub logical_cpus: Fact<u32>,
    /// The cores, sockets and caches that they share.
    pub cpu_topology: Fact<CpuTopology>,
    /// Processors that this process may use, in the kernel's notation.
    pub cpus_allowed: Fact<String>,
    /// Instruction sets that matter to encryption, checksums and compression, by the kernel's name:
    /// true when every processor has it.
    pub cpu_flags: Fact<BTreeMap<String, bool>>,
    /// Frequency governors in use, each once, sorted.
    pub cpu_governors: Fact<Vec<String>>,
    /// Memory nodes, by number.
    pub numa_nodes: Fact<Vec<NumaNode>>,
    /// The kernel's `mitigations=` boot option, or `default` when it was not given.
    pub mitigations: Fact<String>,
    /// The boot options of the kernel that bear on performance.
    pub kernel_options: Fact<KernelOptions>,
    /// Processor vulnerabilities and what the kernel does about each.
    pub vulnerabilities: Fact<BTreeMap<String, String>>,
    /// Processors' worth of time that the control group may use.
    pub cgroup_cpu_limit_cpus: Fact<Limit<f64>>,
    /// Processes and threads that the control group may have.
    pub cgroup_pids_limit: Fact<Limit<u64>>,
    /// Devices on which the control group is held back; empty when it is on none.
    pub cgroup_io_limits: Fact<Vec<IoLimit>>,
    /// Load average of 1, 5 and 15 minutes, in runnable or blocked threads.
    pub load_average: Fact<[f64; 3]>,

    /// Memory of the host.
    pub memory_total_bytes: Fact<u64>,
    /// Memory that can be had without swapping, as the kernel estimates it.
    pub memory_available_bytes: Fact<u64>,
    /// Memory that the control group may use.
    pub cgroup_memory_limit_bytes: Fact<Limit<u64>>,
    /// The memory's error correction.
    pub memory_error_correction: Fact<ErrorCorrection>,
    /// Memory modules, those of one kind together.
    pub memory_modules: Fact<Vec<MemoryModules>>,
    /// Persistent memory.
    pub persistent_memory: Fact<PersistentMemoryUse>,
    /// Swap space.
    pub swap_total_bytes: Fact<u64>,
    /// Swap space in use.
    pub swap_used_bytes: Fact<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Fact<String>,
    /// The amounts of dirty pages from which the kernel writes back, and from which it makes writers wait.
    pub dirty_limits: Fact<DirtyLimits>,

    /// The kernel's clock source.
    pub clock_source: Fact<String>,
    /// The synchronisation of the wall clock with a time server.
    pub clock_sync: Fact<ClockSync>,

    /// Network interfaces of this network namespace, without loopback.
    pub network_interfaces: Fact<Vec<NetworkInterface>>,
    /// Whole disks, without those that are made of others.
    pub disks: Fact<Vec<Device>>,
    /// Java runtimes that are installed in the usual places, or running.
    pub java_runtimes: Fact<Vec<JavaRuntime>>,
    /// Limits of this process.
    pub process_limits: Fact<ProcessLimits>,
    /// Settings of the kernel that ingestion meets, by sysctl's names.
    pub kernel_settings: Fact<BTreeMap<String, String>>,
}

/// The machine below the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Virtualisation {
    /// True when a hypervisor shows itself. False is what the processor says, and a hypervisor may hide.
    pub virtual_machine: bool,
    /// Name of the hypervisor, or of the cloud that runs it, where there are signs of it.
    pub vendor: Option<String>,
}

/// The container around the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Container {
    /// True when a container shows itself.
    pub contained: bool,
    /// `docker`, `podman`, `kubernetes` ..., where there are signs of it.
    pub runtime: Option<String>,
}

/// A limit that may not be set. In JSON: `"unlimited"` or `{"at": 2.5}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit<T> {
    /// No limit is set.
    Unlimited,
    /// The limit, in the unit of the field's name.
    At(T),
}

/// One memory node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    /// Its number.
    pub node: u32,
    /// Its processors, in the kernel's notation: `0-15,32-47`. Empty for a node of memory alone.
    pub cpus: String,
    /// Its memory; absent when the kernel does not say.
    pub memory_bytes: Option<u64>,
    /// Distance to each node in the order of their numbers; 10 is its own. Empty when the kernel does not say.
    #[serde(default)]
    pub distances: Vec<u32>,
}

/// The `vm.dirty_*` settings. Of each pair of `ratio` and `bytes`, the kernel uses the one that is not 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirtyLimits {
    /// Writeback starts at this share of available memory.
    pub background_ratio_percent: u64,
    /// Writeback starts at this amount.
    pub background_bytes: u64,
    /// Writers wait at this share of available memory.
    pub ratio_percent: u64,
    /// Writers wait at this amount.
    pub bytes: u64,
    /// A page that has been dirty for so long is written at the next round, in 1/100 s.
    pub expire_centisecs: u64,
    /// Time between two rounds of writeback, in 1/100 s.
    pub writeback_centisecs: u64,
}

/// State of the time service. The wall clock is off by at most
/// `offset_ns + root_dispersion_ns + root_delay_ns / 2` (RFC 5905, root distance).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSync {
    /// True when the service says that it follows a source.
    pub synchronised: bool,
    /// Hops to a reference clock.
    pub stratum: Option<u32>,
    /// Size of the correction that is still to be made, without its direction.
    pub offset_ns: Option<u64>,
    /// Long-term average size of the offset.
    pub rms_offset_ns: Option<u64>,
    /// Round trip to the reference clock.
    pub root_delay_ns: Option<u64>,
    /// Error gathered on the way from the reference clock.
    pub root_dispersion_ns: Option<u64>,
}
