//! A host's counters over a window.

use crate::facts::HostDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The growth of a host's counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostWindow {
    /// Processors, pressure, memory, disks, interfaces. Interfaces of another network namespace are called `eth0 of process 12`.
    pub counters: HostDelta,
    /// Packets taken from the receive queues, by CPU (`/proc/net/softnet_stat`); without CPUs whose counters went back.
    pub softnet: Vec<SoftnetOfCpu>,
    /// Interrupts, by CPU; without CPUs that were off line at either reading.
    pub interrupts: Vec<InterruptsOfCpu>,
    /// The process whose network namespace `tcp` and the settings `net.*` are of; absent where it is Plumb's own.
    pub network_of: Option<u32>,
    /// TCP.
    pub tcp: TcpWindow,
    /// Counters that name drops, misses, errors or exceeded allowances and grew: `eth0 rx_missed_errors`, of the drivers (ethtool) and of
    /// the interfaces. One packet may be in several of them.
    pub nic_drops: BTreeMap<String, u64>,
    /// Bytes a second that an interface carries in one direction, as its driver says; only devices, and bonds of them.
    pub links: BTreeMap<String, u64>,
    /// Programs that used most of the processors, without those that have figures of their own and without Plumb.
    pub programs: Vec<ProgramWindow>,
    /// Settings in force: `net.ipv4.tcp_rmem`, `net.core.rmem_max`, `vm.dirty_ratio` ...
    pub settings: BTreeMap<String, String>,
}

/// A program of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgramWindow {
    /// The process.
    pub pid: u32,
    /// Its name, as the kernel cuts it.
    pub command: String,
    /// Its processor time.
    pub cpu_ns: u64,
    /// True if it has a connection to a watched broker of this host; absent where its sockets cannot be read.
    pub is_client: Option<bool>,
}

/// Receive work of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SoftnetOfCpu {
    /// The CPU.
    pub cpu: u32,
    /// Packets.
    pub processed: u64,
    /// Packets for which the backlog had no room.
    pub dropped: u64,
    /// Times at which the budget was used up with work left.
    pub time_squeeze: u64,
}

/// Interrupts of one CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterruptsOfCpu {
    /// The CPU.
    pub cpu: u32,
    /// Interrupts of devices: the numbered rows of `/proc/interrupts`. Timers are among them on ARM, and not on x86.
    pub hardware: Option<u64>,
    /// Soft interrupts that received packets (NET_RX).
    pub net_rx: Option<u64>,
    /// Time in hardware interrupts, in steps of 10 ms; 0 where the kernel does not account it apart.
    pub interrupt_ns: Option<u64>,
    /// Time in soft interrupts, in steps of 10 ms. Without `CONFIG_IRQ_TIME_ACCOUNTING` the kernel takes it from samples at its ticks.
    pub softirq_ns: Option<u64>,
}

/// TCP of one network namespace, by the kernel's names (kernel documentation, networking/snmp_counter).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpWindow {
    /// Segments sent.
    pub sent_segments: Option<u64>,
    /// Segments sent again.
    pub retransmitted: Option<u64>,
    /// Retransmission time-outs (`TCPTimeouts`).
    pub timeouts: Option<u64>,
    /// Connections refused because an accept queue was full (`ListenOverflows`).
    pub listen_overflows: Option<u64>,
    /// Times at which the receive window of this side went to zero, because a program here did not read (`TCPToZeroWindowAdv`).
    pub zero_windows: Option<u64>,
    /// Acknowledgements that were delayed (`DelayedACKs`).
    pub delayed_acks: Option<u64>,
    /// Connections opened by others (`PassiveOpens`).
    pub passive_opens: Option<u64>,
    /// Of the time in which connections had something to send, the share in which their own send buffer was full (`tcp_info`), 0 to 1.
    /// Absent where the kernel does not tell, or nothing was sent.
    pub send_buffer_limited_share: Option<f64>,
    /// The same for the receiver's window.
    pub receive_window_limited_share: Option<f64>,
    /// The connection that received most on its way: rate times round trip.
    pub longest_receiver: Option<ReceivingConnection>,
}

/// What a connection received over the window, by the kernel's `tcp_info`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReceivingConnection {
    /// Bytes a second over the whole window, pauses included.
    pub bytes_per_s: f64,
    /// Its least round trip, in nanoseconds: that of the way, whatever a request waits.
    pub round_trip_ns: f64,
}

/// The control group of a process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CgroupWindow {
    /// Its path.
    pub path: String,
    /// Processors that its quota, or that of a group above it, gives; absent without one. Of several the one that held back in most of its periods.
    pub quota_cpus: Option<f64>,
    /// Periods of that quota in the window.
    pub periods: Option<u64>,
    /// Periods in which it used its quota up.
    pub throttled_periods: Option<u64>,
    /// Time for which it was held back, of all its CPUs added up.
    pub throttled_ns: Option<u64>,
    /// Bytes a second that it, or a group above it, may write to the device of its logs; absent without a limit. In version 1 only what a process
    /// hands to the device itself is held to it (fsync, direct I/O), and not what the kernel writes later.
    pub write_limit_bytes_per_s: Option<u64>,
    /// Writes a second that it may do there; absent without a limit.
    pub write_limit_per_s: Option<u64>,
    /// Bytes that the group of the limit (without one its own) wrote there in the window.
    pub written_bytes: Option<u64>,
    /// Writes that it did there.
    pub writes: Option<u64>,
}
