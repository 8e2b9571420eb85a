//! A process within a window: its threads by state and class, and its JVM.

use super::{CgroupWindow, ProcessWaits, Profile};
use crate::facts::ProcessUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessWindow {
    /// The kernel's number for it.
    pub pid: u32,
    /// Its command, without arguments.
    pub command: String,
    /// True where it was recognised as a Kafka broker.
    pub is_broker: bool,
    /// True when it ended within the window: figures are of the time until then, as far as they are known.
    pub ended: bool,
    /// Processor time, threads and I/O. Of many threads the 500 with most processor time are listed.
    pub usage: ProcessUsage,
    /// Directories of its logs, where it is a broker whose descriptors may be looked at.
    pub log_directories: Vec<LogDirectory>,
    /// Threads of one class together, most processor time first.
    pub groups: Vec<ThreadGroup>,
    /// Its control group.
    pub cgroup: Option<CgroupWindow>,
    /// Its JVM, where it is one.
    pub jvm: Option<JvmWindow>,
    /// The profile of its processor time; absent without one.
    pub profile: Option<Profile>,
    /// Its waits by the kernel's trace points; absent where they were not used.
    pub kernel: Option<ProcessWaits>,
    /// The chance, 0 to 1, that a page of its memory is on another node than the thread that reads it, by a sample of pages and the processors that
    /// its threads were last on; absent on a host with one node.
    pub remote_memory_share: Option<f64>,
    /// Bytes read from devices for it, a second.
    pub device_read_bytes_per_s: Option<f64>,
    /// Largest number of bytes that waited in a receive queue of its TCP sockets, by a reading a second or fewer.
    pub receive_queue_bytes_max: Option<u64>,
    /// Largest number of bytes in a send queue of its TCP sockets: not acknowledged yet, so that those on their way count.
    pub send_queue_bytes_max: Option<u64>,
}

/// A directory of a broker's logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogDirectory {
    /// As the broker sees it.
    pub path: String,
    /// The device that it lies on, by the kernel's name, as in the host's disks; absent where it cannot be told.
    pub device: Option<String>,
}

/// The class of a thread's work, told by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadClass {
    /// A broker's network threads.
    Network,
    /// A broker's request handlers.
    Handler,
    /// Followers' fetchers.
    ReplicaFetcher,
    /// The log cleaner.
    Cleaner,
    /// Collections of the JVM.
    Gc,
    /// The JVM's compilers.
    Jit,
    /// A client's sender.
    ClientSender,
    /// Redpanda's reactors.
    Reactor,
    /// All others.
    Other,
}

/// The threads of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadGroup {
    /// The class.
    pub class: ThreadClass,
    /// Threads.
    pub threads: u32,
    /// Time by state, of all of them added up.
    pub states: ThreadStates,
    /// The share of the window for which the busiest of them was on a processor, 0 to 1.
    pub busiest_share: Option<f64>,
    /// The kernel functions in which its sleeping threads waited (`futex_wait_queue`, `ep_poll`), as shares of the readings.
    pub waits: BTreeMap<String, f64>,
}

/// Thread State Analysis (Gregg): where the time of threads went. The sum is the part of the window for which each was there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ThreadStates {
    /// On a processor; exact.
    pub executing_ns: Option<u64>,
    /// Ready to run, without a processor; exact.
    pub runnable_ns: Option<u64>,
    /// In the kernel without being interruptible, as a rule for a disk; from readings of the state. Like the next two it is absent where no thread
    /// was seen asleep.
    pub disk_ns: Option<u64>,
    /// Waiting for a lock (futex) among what is left; from readings. A pool's idle threads wait in one too. Absent where the kernel
    /// does not tell this user what threads sleep in, like the next.
    pub lock_ns: Option<u64>,
    /// Waiting for sockets or timers; from readings.
    pub sleeping_ns: Option<u64>,
    /// Readings of its threads behind the last three, taken in turn; of a thread that ran, too.
    pub readings: u32,
}

/// A JVM: what it is, and its collections in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JvmWindow {
    /// Its facts.
    pub facts: JvmFacts,
    /// Collections.
    pub collections: Option<u64>,
    /// Time of collections that stopped the application, by its own counters.
    pub collection_ns: Option<u64>,
    /// Time in safepoints.
    pub safepoint_ns: Option<u64>,
    /// Share of the old generation (or heap) in use after the last collection, 0 to 1.
    pub heap_used_share: Option<f64>,
    /// Longest pause of the window, from the GC log; absent without one.
    pub longest_pause_ns: Option<u64>,
}

/// The facts of a JVM.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JvmFacts {
    /// Its version.
    pub version: Option<String>,
    /// Flags that matter, as in force: `UseAES`, `UseAESIntrinsics`, `UseGHASHIntrinsics`, `MaxHeapSize`, `UseG1GC` ...
    pub flags: BTreeMap<String, String>,
    /// The collector.
    pub collector: Option<String>,
}
