//! Counters of the host: [`sample_host`] reads them, [`host_delta`] says what happened between two readings.
//!
//! One file for each part. A counter that cannot be read is absent with its reason; only a host without `/proc/stat`
//! is an error. Not for processes and threads: see `threads.rs`.

mod cpu;
mod disk;
mod memory;
mod network;
mod pressure;

use std::time::Instant;

use plumb_model::facts::HostDelta;

use crate::{HostRoot, ObserveError, growth};
pub(crate) use network::{InterfaceCounters, deltas as interface_deltas, parse_interfaces};

/// One reading of the host's counters.
#[derive(Debug, Clone)]
pub struct HostSample {
    taken_at: Instant,
    cpu: cpu::CpuCounters,
    pressure: pressure::PressureCounters,
    tcp: network::TcpCounters,
    interfaces: Vec<network::InterfaceCounters>,
    disks: Vec<disk::DiskCounters>,
    partitions: Vec<disk::DiskCounters>,
    memory: memory::MemoryGauges,
    missing: Vec<String>,
}

/// Reads the host's counters: about ten small files, well under a millisecond on a small host.
pub fn sample_host(root: &HostRoot) -> Result<HostSample, ObserveError> {
    let taken_at = Instant::now();
    let cpu = root.parsed("/proc/stat", "processor times", cpu::parse)?;
    let mut missing = Vec::new();
    let mut optional = |path: &str| match root.read(path) {
        Ok(text) => text,
        Err(error) => {
            missing.push(error.reason());
            String::new()
        }
    };
    let memory = memory::parse(&optional("/proc/meminfo"), &optional("/proc/vmstat"));
    let pressure = pressure::PressureCounters {
        cpu: pressure::parse(&optional("/proc/pressure/cpu")),
        io: pressure::parse(&optional("/proc/pressure/io")),
        memory: pressure::parse(&optional("/proc/pressure/memory")),
    };
    let tcp = network::parse_tcp(&optional("/proc/net/snmp"));
    let interfaces = network::parse_interfaces(&optional("/proc/net/dev"));
    let disks = disk::parse(&optional("/proc/diskstats"));
    // Partitions have no directory of their own there.
    let told_apart = root.exists("/sys/block");
    let is_whole = |disk: &disk::DiskCounters| {
        !told_apart || root.exists(&format!("/sys/block/{}", disk.name.replace('/', "!")))
    };
    let (disks, partitions) = disks.into_iter().partition(is_whole);
    Ok(HostSample { taken_at, cpu, pressure, tcp, interfaces, disks, partitions, memory, missing })
}

/// The changes between two readings of one host.
pub fn host_delta(before: &HostSample, after: &HostSample) -> HostDelta {
    HostDelta {
        elapsed_ns: after.taken_at.saturating_duration_since(before.taken_at).as_nanos() as u64,
        cpu: cpu::delta(&before.cpu.total, &after.cpu.total),
        each_cpu: cpu::each_delta(&before.cpu, &after.cpu),
        pressure: pressure::delta(&before.pressure, &after.pressure),
        context_switches: growth(before.cpu.context_switches, after.cpu.context_switches),
        dirty_before_bytes: before.memory.dirty_bytes,
        writeback_before_bytes: before.memory.writeback_bytes,
        dirty_bytes: after.memory.dirty_bytes,
        writeback_bytes: after.memory.writeback_bytes,
        memory_total_bytes: after.memory.total_bytes,
        memory_available_bytes: after.memory.available_bytes,
        dirty_background_threshold_bytes: after.memory.dirty_background_threshold_bytes,
        dirty_threshold_bytes: after.memory.dirty_threshold_bytes,
        tcp_sent_segments: growth(before.tcp.sent_segments, after.tcp.sent_segments),
        tcp_retransmitted_segments: growth(
            before.tcp.retransmitted_segments,
            after.tcp.retransmitted_segments,
        ),
        interfaces: network::deltas(&before.interfaces, &after.interfaces),
        disks: disk::deltas(&before.disks, &after.disks),
        partitions: disk::deltas(&before.partitions, &after.partitions),
        missing: after.missing.clone(),
    }
}
