//! Counters of the host: [`sample_host`] reads them, [`host_delta`] says what happened between two readings.
//!
//! One file for each part. A counter that cannot be read is absent with its reason; only a host without `/proc/stat`
//! is an error. Not for processes and threads: see `threads.rs`.

mod cpu;
mod disk;
mod network;
mod pressure;

use std::time::Instant;

use plumb_model::facts::HostDelta;

use crate::facts::meminfo_bytes;
use crate::{HostRoot, ObserveError, growth};

/// One reading of the host's counters.
#[derive(Debug, Clone)]
pub struct HostSample {
    taken_at: Instant,
    cpu: cpu::CpuCounters,
    pressure: pressure::PressureCounters,
    tcp: network::TcpCounters,
    interfaces: Vec<network::InterfaceCounters>,
    disks: Vec<disk::DiskCounters>,
    dirty_bytes: Option<u64>,
    writeback_bytes: Option<u64>,
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
    let memory = optional("/proc/meminfo");
    let pressure = pressure::PressureCounters {
        cpu: pressure::parse(&optional("/proc/pressure/cpu")),
        io: pressure::parse(&optional("/proc/pressure/io")),
        memory: pressure::parse(&optional("/proc/pressure/memory")),
    };
    let tcp = network::parse_tcp(&optional("/proc/net/snmp"));
    let interfaces = network::parse_interfaces(&optional("/proc/net/dev"));
    let mut disks = disk::parse(&optional("/proc/diskstats"));
    // Partitions have no directory of their own there.
    if root.exists("/sys/block") {
        disks.retain(|disk| root.exists(&format!("/sys/block/{}", disk.name.replace('/', "!"))));
    }
    Ok(HostSample {
        taken_at,
        cpu,
        pressure,
        tcp,
        interfaces,
        disks,
        dirty_bytes: meminfo_bytes(&memory, "Dirty"),
        writeback_bytes: meminfo_bytes(&memory, "Writeback"),
        missing,
    })
}

/// What happened between two readings of one host.
pub fn host_delta(before: &HostSample, after: &HostSample) -> HostDelta {
    HostDelta {
        elapsed_ns: after.taken_at.saturating_duration_since(before.taken_at).as_nanos() as u64,
        cpu: cpu::delta(&before.cpu.total, &after.cpu.total),
        each_cpu: cpu::each_delta(&before.cpu, &after.cpu),
        pressure: pressure::delta(&before.pressure, &after.pressure),
        context_switches: growth(before.cpu.context_switches, after.cpu.context_switches),
        dirty_bytes: after.dirty_bytes,
        writeback_bytes: after.writeback_bytes,
        tcp_sent_segments: growth(before.tcp.sent_segments, after.tcp.sent_segments),
        tcp_retransmitted_segments: growth(
            before.tcp.retransmitted_segments,
            after.tcp.retransmitted_segments,
        ),
        interfaces: network::deltas(&before.interfaces, &after.interfaces),
        disks: disk::deltas(&before.disks, &after.disks),
        missing: after.missing.clone(),
    }
}
