//! The speed of this host's memory, by node and by size of the working set: the document of `plumb probe memory`.

use super::{Conditions, Figure};
use crate::facts::Fact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryProbe {
    /// The time, version and host. Memory nodes and the setting of huge pages are among the host's facts.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// Memory nodes that were measured, with the processors that this process may use there.
    pub nodes: Vec<ProbedNode>,
    /// Data caches that the kernel states.
    pub caches: Fact<Vec<Cache>>,
    /// Each of the three arrays that the bandwidth is measured on.
    pub array_bytes: u64,
    /// True if an array is at least four times the last-level caches, as STREAM asks; absent when these are not known. Else part
    /// of the bandwidth is the cache's.
    pub beyond_caches: Option<bool>,
    /// Part of the arrays that lies on huge pages, 0 to 1, read back; absent when the kernel does not tell.
    pub array_huge_share: Option<f64>,
    /// Each way to move memory.
    pub bandwidth: Vec<Bandwidth>,
    /// The ratios worth a comparison, from the rounds in which both were measured.
    pub ratios: Vec<MemoryRatio>,
    /// Time of a dependent load, by size of the working set.
    pub latency: Vec<LatencyCurve>,
    /// The parts that could not be done, and why.
    pub notes: Vec<String>,
}

/// A memory node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbedNode {
    /// Its number.
    pub node: u32,
    /// Its processors that this process may use; empty for a node of memory alone.
    pub cpus: Vec<u32>,
}

/// Caches of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// `L1d`, `L2`, `L3`.
    pub name: String,
    /// Size of one.
    pub bytes: u64,
    /// The number of them.
    pub instances: u32,
    /// Processors that share one.
    pub cpus_each: u32,
}

/// The four kernels of STREAM (McCalpin). Bytes are counted as it does: those that the program names, once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKernel {
    /// c = a; 16 bytes an element.
    Copy,
    /// b = s c; 16 bytes an element.
    Scale,
    /// c = a + b; 24 bytes an element.
    Add,
    /// a = b + s c; 24 bytes an element.
    Triad,
}

impl MemoryKernel {
    /// All, in STREAM's order.
    pub const ALL: [MemoryKernel; 4] =
        [MemoryKernel::Copy, MemoryKernel::Scale, MemoryKernel::Add, MemoryKernel::Triad];

    /// Bytes that the program reads and writes for each element.
    pub const fn bytes_per_element(self) -> u64 {
        match self {
            MemoryKernel::Copy | MemoryKernel::Scale => 16,
            MemoryKernel::Add | MemoryKernel::Triad => 24,
        }
    }
}

/// The kind of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stores {
    /// Through the caches: a line that is written is read first, so that a third (copy, scale) or a quarter (add, triad)
    /// of what moves on the bus is not counted.
    Ordinary,
    /// Past the caches, without that read.
    NonTemporal,
}

impl Stores {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Stores::Ordinary => "ordinary",
            Stores::NonTemporal => "non-temporal",
        }
    }
}

/// One way to move memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bandwidth {
    /// Node of the processors.
    pub cpu_node: u32,
    /// Node of the memory.
    pub memory_node: u32,
    /// Processors that move it, each with a thread and a part of the arrays of its own.
    pub threads: u32,
    /// The kernel.
    pub kernel: MemoryKernel,
    /// The kind of stores.
    pub stores: Stores,
    /// Bytes per second of all threads, counted as STREAM does.
    pub bytes_per_s: Option<Figure>,
}

/// Two things set against each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRatio {
    /// The two sides of the ratio, in words.
    pub what: String,
    /// The ratio.
    pub ratio: Option<Figure>,
}

/// Size of the pages under a working set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pages {
    /// The smallest that the processor has: 4 KiB on x86.
    Base,
    /// Transparent huge pages: 2 MiB on x86.
    Huge,
}

/// Time of a load that depends on the one before, in random order over a working set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyCurve {
    /// Node of the processor.
    pub cpu_node: u32,
    /// Node of the memory.
    pub memory_node: u32,
    /// Pages that were asked for.
    pub pages: Pages,
    /// Part of the memory that lies on huge pages, 0 to 1, read back; absent when the kernel does not tell.
    pub huge_share: Option<f64>,
    /// Ascending by size.
    pub points: Vec<LatencyPoint>,
    /// The sizes at which it rises.
    pub knees: Vec<Knee>,
}

/// One working set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyPoint {
    /// Its size.
    pub working_set_bytes: u64,
    /// Time of one load.
    pub load_ns: Option<Figure>,
}

/// A rise of the latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// Largest working set before it.
    pub until_bytes: u64,
    /// Working set at which it is over.
    pub over_bytes: u64,
    /// Time of a load before.
    pub from_ns: f64,
    /// Time of a load after.
    pub to_ns: f64,
    /// The cache whose size, as the kernel states it, is within a factor of 2 of where the rise is half done; or all that end within
    /// it, when they are several. Absent when there is none: then it is page tables (TLB), or a cache that is shared or stated
    /// wrongly.
    pub cache: Option<String>,
}
