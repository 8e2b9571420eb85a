//! Processors, memory, network interfaces, runtimes and limits of a host, in more detail than a run needs to be judged.
//!
//! Data only. No serial numbers, no addresses, no names of volumes, hosts or users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limit, NamespaceMode};

/// The processor, by the numbers that tell its generation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuIdentity {
    /// `GenuineIntel`, `AuthenticAMD`, or Arm's number of the implementer (`0x41`).
    pub vendor: String,
    /// Family; absent on Arm.
    pub family: Option<u32>,
    /// Model; on Arm the part.
    pub model: Option<u32>,
    /// Stepping; on Arm the revision.
    pub stepping: Option<u32>,
}

/// The cores, sockets and caches that processors share. In a guest they are those that the hypervisor states.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuTopology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of all sockets.
    pub cores: u32,
    /// Most processors that share a core.
    pub threads_per_core: u32,
    /// The sharing of cores, in the kernel's word: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Caches, from the nearest to the farthest.
    pub caches: Vec<CpuCache>,
}

/// Caches of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuCache {
    /// 1 is the nearest.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub holds: String,
    /// Size of one.
    pub size_bytes: u64,
    /// The number of them.
    pub count: u32,
    /// Processors that share one; the most, where they differ.
    pub shared_by_cpus: u32,
}

/// The boot options of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelOptions {
    /// Options that are known to bear on performance, as they were given.
    pub shown: Vec<String>,
    /// The number of other options; they may name devices and hosts, or be secret, and are left out.
    pub left_out: u32,
}

/// The limits of a control group on one device. An absent figure is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IoLimit {
    /// The kernel's name of the device, or its number where it has none here.
    pub device: String,
    /// Bytes read.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written.
    pub write_bytes_per_s: Option<u64>,
    /// Reads.
    pub reads_per_s: Option<u64>,
    /// Writes.
    pub writes_per_s: Option<u64>,
}

/// The error correction of memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ErrorCorrection {
    /// True if it corrects any.
    pub corrects: bool,
    /// The modes, in the words of where they were read, each once: `SECDED`, `Multi-bit ECC` ...
    pub modes: Vec<String>,
    /// Errors corrected since boot; absent where nobody counts.
    pub corrected: Option<u64>,
    /// Errors that could not be corrected.
    pub uncorrected: Option<u64>,
}

/// Memory modules of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoryModules {
    /// The number.
    pub count: u32,
    /// Size of each.
    pub size_bytes: u64,
    /// `DDR4`, `DDR5`, `Optane persistent memory` ...
    pub technology: String,
    /// The rated speed, in millions of transfers a second.
    pub rated_mt_per_s: Option<u32>,
    /// The configured speed.
    pub configured_mt_per_s: Option<u32>,
}

/// Persistent memory and what is made of it (kernel documentation, driver-api/nvdimm).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersistentMemoryUse {
    /// Modules that the kernel's driver shows.
    pub modules: u32,
    /// Regions of addresses: what is used as persistent memory lies in one.
    pub regions: Vec<PersistentRegion>,
    /// Namespaces.
    pub namespaces: Vec<PersistentNamespace>,
    /// Memory before slower memory, as a cache that software does not see; absent when the firmware describes none.
    pub memory_side_cache_bytes: Option<u64>,
}

impl PersistentMemoryUse {
    /// The uses of the modules, by Intel's names: `App Direct` where the firmware gives a region of them to software, `Memory
    /// Mode` where memory is the cache of modules.
    pub fn modes(&self) -> Vec<&'static str> {
        let app_direct = self.regions.iter().any(|region| region.provider.as_deref() == Some("ACPI.NFIT"));
        let memory_mode = self.modules > 0 && self.memory_side_cache_bytes.is_some();
        let modes = [(app_direct, "App Direct"), (memory_mode, "Memory Mode")];
        modes.into_iter().filter(|(used, _)| *used).map(|(_, name)| name).collect()
    }
}

/// A region of persistent memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersistentRegion {
    /// `region0`.
    pub name: String,
    /// The source that showed it: `ACPI.NFIT`, `e820`, `virtio-pmem` ...
    pub provider: Option<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Of it, what no namespace has.
    pub available_bytes: Option<u64>,
    /// The memory node that it is nearest to.
    pub numa_node: Option<u32>,
    /// The place that a store must reach to outlive a power failure: `cpu_cache` or `memory_controller`.
    pub persistence_domain: Option<String>,
}

/// A namespace of persistent memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersistentNamespace {
    /// `namespace0.0`.
    pub name: String,
    /// The mode, by ndctl's names.
    pub mode: Option<NamespaceMode>,
    /// Its size.
    pub size_bytes: Option<u64>,
}

/// A network interface; loopback is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkInterface {
    /// The kernel's name for it.
    pub name: String,
    /// The driver of its device; for one without a device its kind (`bond`, `bridge`, `vlan`), or absent.
    pub driver: Option<String>,
    /// True if there is a device behind it.
    pub device: bool,
    /// `up`, `down`, `unknown` ..., as the kernel says.
    pub state: Option<String>,
    /// The speed that the link is set to; absent when it is down or when the driver does not say.
    pub speed_mbit_per_s: Option<u64>,
    /// Largest packet.
    pub mtu_bytes: Option<u64>,
    /// Queues for packets that come in.
    pub receive_queues: u32,
    /// Queues for packets that go out.
    pub transmit_queues: u32,
    /// The memory node of its device.
    pub numa_node: Option<u32>,
    /// Virtual functions that are switched on, and that it could have (SR-IOV); absent where it has none to give.
    pub virtual_functions: Option<[u32; 2]>,
    /// Interfaces that it is put together from.
    pub over: Vec<String>,
    /// True if packets go around the hypervisor (SR-IOV, accelerated networking); absent when it cannot be told or when there is
    /// none to go around.
    pub bypasses_hypervisor: Option<bool>,
    /// The reason for that answer.
    pub bypass_reason: String,
}

/// A Java runtime.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JavaRuntime {
    /// Its directory; a home directory's owner is left out.
    pub home: String,
    /// Its version; absent when its `release` file does not say or cannot be read.
    pub version: Option<String>,
    /// The vendor.
    pub vendor: Option<String>,
    /// True if a process that can be seen runs it.
    pub running: bool,
}

/// Limits of this process, which what it starts inherits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessLimits {
    /// Files open at once.
    pub open_files: SoftHard,
    /// Memory that may be kept from being swapped, in bytes.
    pub locked_memory_bytes: SoftHard,
    /// Processes and threads of its user.
    pub processes: SoftHard,
    /// Size of a file, in bytes.
    pub file_size_bytes: SoftHard,
}

/// A limit, and how far it may be raised without privileges.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoftHard {
    /// In force.
    pub soft: Limit<u64>,
    /// The most.
    pub hard: Limit<u64>,
}
