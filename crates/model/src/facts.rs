//! What a host says of itself: the facts of a run document ([`HostFacts`]) and what happened between two
//! readings of its counters ([`HostDelta`], [`ProcessUsage`], [`RequestTimes`]).
//!
//! Data only. Reading is the work of the `observe` crate, judging that of `judge`. Nothing in here names the
//! host or its owner: no host name, address, serial number or control-group path.

mod hardware;
mod storage;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use hardware::{
    CpuCache, CpuIdentity, CpuTopology, ErrorCorrection, IoLimit, JavaRuntime, KernelOptions, MemoryModules,
    NetworkInterface, PersistentMemoryUse, PersistentNamespace, PersistentRegion, ProcessLimits, SoftHard,
};
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
        /// What it said.
        value: T,
        /// Where: paths on the host, or the command that was asked.
        source: String,
    },
    /// The host did not say.
    Unknown {
        /// Why not.
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
    /// What an older document gets for a fact that it does not have.
    fn default() -> Self {
        Fact::unknown("not recorded by the version that wrote this document")
    }
}

/// What is known of the host on which a run took place, read once before it.
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
    /// When the kernel started, in seconds since 1970.
    pub boot_time_unix_s: Fact<u64>,
    /// Vendor and product of the machine; in clouds often the instance type.
    pub machine: Fact<String>,
    /// Whether a hypervisor is below this kernel.
    pub virtualisation: Fact<Virtualisation>,
    /// Whether this process runs in a container.
    pub container: Fact<Container>,

    /// Name of the processor.
    pub cpu_model: Fact<String>,
    /// Which processor it is, by number.
    pub cpu_identity: Fact<CpuIdentity>,
    /// Revisions of the processors' microcode, each once. A hypervisor may show any.
    pub cpu_microcode: Fact<Vec<String>>,
    /// Processors that the kernel schedules on.
    pub logical_cpus: Fact<u32>,
    /// How they share cores, sockets and caches.
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
    /// What the kernel was told at boot that bears on performance.
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
    /// Whether memory corrects errors.
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
    /// When the kernel starts to write dirty pages back, and when it makes writers wait.
    pub dirty_limits: Fact<DirtyLimits>,

    /// The kernel's clock source.
    pub clock_source: Fact<String>,
    /// How well the wall clock follows a time server.
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

/// What is below the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Virtualisation {
    /// True when a hypervisor shows itself. False is what the processor says, and a hypervisor may hide.
    pub virtual_machine: bool,
    /// Name of the hypervisor, or of the cloud that runs it, where there are signs of it.
    pub vendor: Option<String>,
}

/// What is around the process.
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

/// What the host did between two readings of its counters.
///
/// A difference is absent when a reading lacks the counter or when the counter went back (reset, wrapped).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostDelta {
    /// Time between the two readings.
    pub elapsed_ns: u64,
    /// All processors together.
    pub cpu: CpuTime,
    /// Each processor that was on line at both readings.
    pub each_cpu: Vec<OneCpu>,
    /// Time in which work waited for a resource.
    pub pressure: Pressure,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Dirty pages at the first reading.
    pub dirty_before_bytes: Option<u64>,
    /// Pages being written at the first reading.
    pub writeback_before_bytes: Option<u64>,
    /// Dirty pages at the second reading.
    pub dirty_bytes: Option<u64>,
    /// Pages being written at the second reading.
    pub writeback_bytes: Option<u64>,
    /// Memory of the host.
    pub memory_total_bytes: Option<u64>,
    /// Memory that could be had without swapping, at the second reading.
    pub memory_available_bytes: Option<u64>,
    /// Dirty pages at which the kernel begins to write them, at the second reading.
    pub dirty_background_threshold_bytes: Option<u64>,
    /// Dirty pages at which the kernel makes writers wait, at the second reading.
    pub dirty_threshold_bytes: Option<u64>,
    /// TCP segments sent, in this network namespace.
    pub tcp_sent_segments: Option<u64>,
    /// TCP segments sent again.
    pub tcp_retransmitted_segments: Option<u64>,
    /// Network interfaces, loopback included, that had traffic since boot.
    pub interfaces: Vec<InterfaceDelta>,
    /// Whole disks (no partitions) that had traffic since boot.
    pub disks: Vec<DiskDelta>,
    /// Partitions that had traffic since boot; it is part of their disks'.
    pub partitions: Vec<DiskDelta>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Processor time by use, in steps of 10 ms. Guests' time is part of `busy_ns`, stolen time is not.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuTime {
    /// User, nice, system, interrupts.
    pub busy_ns: Option<u64>,
    /// Wanted, but given to another guest by the hypervisor.
    pub steal_ns: Option<u64>,
    /// Idle with a disk request under way. The kernel calls it unreliable: it may go back, and is then absent.
    pub iowait_ns: Option<u64>,
    /// All of it, idle included.
    pub total_ns: Option<u64>,
}

impl CpuTime {
    /// Share of the time that was busy, 0 to 1.
    pub fn busy_share(&self) -> Option<f64> {
        share(self.busy_ns, self.total_ns)
    }

    /// Share of the time that was stolen, 0 to 1.
    pub fn steal_share(&self) -> Option<f64> {
        share(self.steal_ns, self.total_ns)
    }
}

fn share(part_ns: Option<u64>, total_ns: Option<u64>) -> Option<f64> {
    match (part_ns, total_ns) {
        (Some(part), Some(total)) if total > 0 => Some(part as f64 / total as f64),
        _ => None,
    }
}

/// One processor's time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneCpu {
    /// The kernel's number for it.
    pub cpu: u32,
    /// Its time.
    pub time: CpuTime,
}

/// Pressure stall time: `some` when at least one task waited, `full` when all that could run did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pressure {
    /// Some task waited for a processor.
    pub cpu_some_ns: Option<u64>,
    /// Some task waited for a disk.
    pub io_some_ns: Option<u64>,
    /// All tasks waited for a disk.
    pub io_full_ns: Option<u64>,
    /// Some task waited for memory.
    pub memory_some_ns: Option<u64>,
    /// All tasks waited for memory.
    pub memory_full_ns: Option<u64>,
}

/// Traffic of one network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceDelta {
    /// The kernel's name for it.
    pub name: String,
    /// Bytes received.
    pub received_bytes: Option<u64>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
    /// Packets received.
    pub received_packets: Option<u64>,
    /// Packets sent.
    pub sent_packets: Option<u64>,
    /// Packets lost on the way in.
    pub received_drops: Option<u64>,
    /// Packets lost on the way out.
    pub sent_drops: Option<u64>,
}

/// Traffic of one disk or partition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiskDelta {
    /// The kernel's name for it.
    pub name: String,
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub written_bytes: Option<u64>,
    /// Reads completed.
    pub reads: Option<u64>,
    /// Writes completed.
    pub writes: Option<u64>,
    /// Cache flushes completed; absent before Linux 5.5.
    pub flushes: Option<u64>,
    /// Time that the reads took, added up.
    pub read_ns: Option<u64>,
    /// Time that the writes took, added up.
    pub write_ns: Option<u64>,
    /// Time that the flushes took, added up; absent before Linux 5.5.
    pub flush_ns: Option<u64>,
    /// Time in which at least one request was under way.
    pub busy_ns: Option<u64>,
}

/// What a process and its threads did between two readings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessUsage {
    /// Time between the two readings.
    pub elapsed_ns: u64,
    /// Processor time of the whole process, in steps of 10 ms; includes threads that ended meanwhile.
    pub cpu_ns: Option<u64>,
    /// Threads alive at the second reading; one that was started meanwhile counts from its start.
    pub threads: Vec<ThreadUsage>,
    /// Threads of the first reading that were gone at the second.
    pub ended_threads: u32,
    /// What it read and wrote; absent when the kernel keeps no account or does not show it.
    pub io: Option<ProcessIo>,
}

/// What one thread did between two readings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadUsage {
    /// The kernel's number for it.
    pub tid: u32,
    /// Its name, which the kernel cuts at 15 bytes (`data-plane-kafk`).
    pub name: String,
    /// Time in user mode, in steps of 10 ms.
    pub user_ns: Option<u64>,
    /// Time in the kernel, in steps of 10 ms.
    pub system_ns: Option<u64>,
    /// Time on a processor, exact; absent when the kernel keeps no scheduler statistics.
    pub on_cpu_ns: Option<u64>,
    /// Time ready to run but without a processor; absent as above.
    pub run_delay_ns: Option<u64>,
    /// Times it gave the processor up to wait.
    pub voluntary_switches: Option<u64>,
    /// Times the processor was taken from it.
    pub involuntary_switches: Option<u64>,
}

/// Where one broker's requests spent their time between two scrapes of its metrics.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestTimes {
    /// Time between the two scrapes.
    pub elapsed_ns: u64,
    /// Produce requests.
    pub produce: RequestStages,
    /// Fetch requests of consumers. `remote` and `total` are mostly waiting for data to arrive, which is not slowness.
    pub fetch_consumer: RequestStages,
}

impl RequestTimes {
    /// The times of several windows or brokers as one; absent without any.
    pub fn merged(all: &[&RequestTimes]) -> Option<RequestTimes> {
        let kind = |kind: fn(&RequestTimes) -> &RequestStages| {
            let merge = |stage: fn(&RequestStages) -> Option<WindowMean>| {
                WindowMean::merged(all.iter().filter_map(|times| stage(kind(times))))
            };
            RequestStages {
                request_queue: merge(|stages| stages.request_queue),
                local: merge(|stages| stages.local),
                remote: merge(|stages| stages.remote),
                response_queue: merge(|stages| stages.response_queue),
                response_send: merge(|stages| stages.response_send),
                throttle: merge(|stages| stages.throttle),
                total: merge(|stages| stages.total),
            }
        };
        Some(RequestTimes {
            elapsed_ns: all.iter().map(|times| times.elapsed_ns).max()?,
            produce: kind(|times| &times.produce),
            fetch_consumer: kind(|times| &times.fetch_consumer),
        })
    }
}

/// Mean time of one kind of request in each stage of the broker; absent when there was no request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestStages {
    /// Waiting for a request handler.
    pub request_queue: Option<WindowMean>,
    /// Work on the leader: append to the log, or read from it.
    pub local: Option<WindowMean>,
    /// Waiting for followers (produce) or for data (fetch).
    pub remote: Option<WindowMean>,
    /// Waiting for a network thread.
    pub response_queue: Option<WindowMean>,
    /// Writing the response to the socket.
    pub response_send: Option<WindowMean>,
    /// Held back by a quota.
    pub throttle: Option<WindowMean>,
    /// From the request being read in full to the response being sent.
    pub total: Option<WindowMean>,
}

/// Mean of values of which every one was rounded to whole milliseconds before it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowMean {
    /// Mean of the rounded values.
    pub mean_ns: f64,
    /// Least mean that the values can have had before rounding.
    pub low_ns: f64,
    /// Greatest mean that the values can have had before rounding.
    pub high_ns: f64,
    /// Requests in the window.
    pub samples: u64,
}

impl WindowMean {
    /// Means over several windows or brokers as one, weighted by their samples; absent without any.
    pub fn merged(means: impl Iterator<Item = WindowMean>) -> Option<WindowMean> {
        let mut sum = WindowMean { mean_ns: 0.0, low_ns: 0.0, high_ns: 0.0, samples: 0 };
        for mean in means {
            let weight = mean.samples as f64;
            sum.mean_ns += mean.mean_ns * weight;
            sum.low_ns += mean.low_ns * weight;
            sum.high_ns += mean.high_ns * weight;
            sum.samples += mean.samples;
        }
        let samples = sum.samples as f64;
        (sum.samples > 0).then(|| WindowMean {
            mean_ns: sum.mean_ns / samples,
            low_ns: sum.low_ns / samples,
            high_ns: sum.high_ns / samples,
            samples: sum.samples,
        })
    }
}
