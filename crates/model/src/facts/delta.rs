//! The changes between two readings of a host's or a process's counters. Data only.

use super::ProcessIo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The changes of the host's counters between two readings.
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
    /// The counters that could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl HostDelta {
    /// Share of the time in which some runnable thread waited for a processor; absent where the host does not tell.
    pub fn processor_wait_share(&self) -> Option<f64> {
        let waited_ns = self.pressure.cpu_some_ns.filter(|_| self.elapsed_ns > 0)?;
        Some(waited_ns as f64 / self.elapsed_ns as f64)
    }
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

/// The usage of a process and its threads between two readings.
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
    /// The bytes that it read and wrote; absent when the kernel keeps no account or does not show it.
    pub io: Option<ProcessIo>,
}

/// The usage of one thread between two readings.
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
