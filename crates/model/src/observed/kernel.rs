//! The counts of the kernel's trace points over a window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts and times of trace points, of the whole host; those of single processes are [`ProcessWaits`]. A part that could not be attached is absent, and `missing` says why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelWindow {
    /// Time between attaching and the last reading.
    pub elapsed_ns: u64,
    /// Time of journal commits (jbd2), of all file systems.
    pub journal_commit: Option<LogHistogram>,
    /// Block I/O by device.
    pub devices: Vec<DeviceTimes>,
    /// TCP segments sent again.
    pub tcp_retransmits: Option<u64>,
    /// Packets that were freed as lost, by the kernel's reason.
    pub drops: Vec<DropReason>,
    /// Time in soft interrupts by CPU and kind (`cpu0 NET_RX`), with the hard interrupts that came meanwhile.
    pub softirq_ns: BTreeMap<String, u64>,
    /// Parts that could not be had, and why.
    pub missing: Vec<String>,
}

/// The waits of one process by the kernel's trace points. A part that could not be attached is absent, and [`KernelWindow::missing`] says why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessWaits {
    /// Time between attaching and the last reading.
    pub elapsed_ns: u64,
    /// Time from being ready to run to running.
    pub run_delay: Option<LogHistogram>,
    /// Time off the processor by stack, longest first, at most 40. Waiting for a processor is in it, too; a thread that was off it
    /// all the time is not.
    pub off_cpu: Vec<OffCpuStack>,
    /// Time of fsync and fdatasync calls.
    pub fsync: Option<LogHistogram>,
}

/// Times in classes of powers of two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogHistogram {
    /// Values.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// Values of class i are from 2^i up to and without 2^(i+1) ns.
    pub classes: Vec<u64>,
}

impl LogHistogram {
    /// Mean; absent without values.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
}

/// Time off the processor with one stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OffCpuStack {
    /// The thread's name.
    pub thread: String,
    /// Kernel frames from the outermost to the innermost.
    pub frames: Vec<String>,
    /// Time.
    pub time_ns: u64,
    /// Times.
    pub count: u64,
}

/// Block I/O of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeviceTimes {
    /// Its name.
    pub device: String,
    /// From issue to completion.
    pub times: LogHistogram,
}

/// Packets freed for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DropReason {
    /// The kernel's name for it.
    pub reason: String,
    /// Packets.
    pub packets: u64,
}
