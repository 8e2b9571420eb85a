//! The plan of a memory probe on this host: nodes, sizes of arrays and working sets, cells.

use super::MemorySettings;
use crate::error::Result;
use plumb_model::facts::{Fact, Limit};
use plumb_model::fault::UsageError;
use plumb_model::probe::{Cache, MemoryKernel, Pages, ProbedNode, Stores};
use plumb_model::units::Bytes;
use plumb_observe::{HostRoot, SystemCommands, caches, host_facts};
use plumb_probe::memory::{
    Arrays, Cell, LatencyCase, MemoryError, STEP_BYTES, has_stores, nodes, only_node, working_sets,
};

/// STREAM's rule: each array at least four times the last-level caches.
const ARRAY_OVER_CACHES: u64 = 4;
/// Largest working set over the largest cache: less than an eighth of the loads can then come from it.
const WORKING_SET_OVER_CACHE: u64 = 8;
/// The size of an array where no cache is known, and the least, in bytes.
const ARRAY_LEAST: u64 = 64 << 20;
const ARRAY_UNKNOWN: u64 = 256 << 20;
const WORKING_SET_LEAST: u64 = 64 << 20;
const WORKING_SET_MOST: u64 = 1 << 30;
/// At most this part of the memory that can be had is used.
const MEMORY_PART: u64 = 4;
/// Memory that can be had where the host does not say.
const AVAILABLE_UNKNOWN: u64 = 1 << 30;

/// Measured here: a block with its threads, and a curve of about thirty working sets.
pub(super) const BLOCK_S: f64 = 0.045;
const WORKING_SET_S: f64 = 0.12;

/// A cell and where it lies.
#[derive(Debug, Clone)]
pub(super) struct PlacedCell {
    pub(super) cpu_node: u32,
    pub(super) memory_node: u32,
    pub(super) cell: Cell,
}

/// A latency and where it is measured.
#[derive(Debug)]
pub(super) struct PlacedLatency {
    pub(super) cpu_node: u32,
    pub(super) memory_node: u32,
    pub(super) case: LatencyCase,
}

/// The plan of a memory probe.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) nodes: Vec<ProbedNode>,
    pub(super) caches: Fact<Vec<Cache>>,
    pub(super) array_bytes: u64,
    pub(super) rounds: u32,
    pub(super) cells: Vec<PlacedCell>,
    pub(super) notes: Vec<String>,
    largest_bytes: u64,
}

impl Plan {
    pub(super) fn new(settings: &MemorySettings) -> Result<Self> {
        let host = host_facts(&HostRoot::default(), &SystemCommands::default());
        let mut notes = Vec::new();
        let nodes = match &host.numa_nodes {
            Fact::Known { value, .. } if !value.is_empty() => nodes(value)?,
            Fact::Known { source, .. } => vec![told_of_none(&mut notes, source)?],
            Fact::Unknown { reason } => vec![told_of_none(&mut notes, reason)?],
        };
        let limit = match host.cgroup_memory_limit_bytes.value() {
            Some(Limit::At(bytes)) => *bytes,
            _ => u64::MAX,
        };
        let available =
            host.memory_available_bytes.value().map_or(AVAILABLE_UNKNOWN, |bytes| (*bytes).min(limit));
        let caches = caches(&HostRoot::default());
        let mut plan = Plan {
            cells: Vec::new(),
            array_bytes: 0,
            largest_bytes: 0,
            rounds: settings.rounds,
            nodes,
            caches,
            notes,
        };
        // What is had, so that what is said and counted is the same.
        plan.array_bytes = plan.array(settings, available)?.next_multiple_of(STEP_BYTES);
        plan.largest_bytes = plan.working_set(settings, available)?;
        if !has_stores(Stores::NonTemporal) {
            plan.notes.push("Non-temporal stores: only on x86_64.".to_owned());
        }
        plan.cells = plan.all_cells();
        Ok(plan)
    }

    /// Bytes of an array: as asked, or by STREAM's rule as far as a quarter of the memory allows.
    fn array(&self, settings: &MemorySettings, available: u64) -> Result<u64, UsageError> {
        let fits = available / MEMORY_PART / (3 * self.nodes.len() as u64);
        if let Some(asked) = settings.array {
            return fitting("--array", asked, fits);
        }
        let rule = self.last_level_bytes().map_or(ARRAY_UNKNOWN, |bytes| bytes * ARRAY_OVER_CACHES);
        Ok(rule.max(ARRAY_LEAST).min(fits))
    }

    fn working_set(&self, settings: &MemorySettings, available: u64) -> Result<u64, UsageError> {
        let fits = available / MEMORY_PART;
        if let Some(asked) = settings.largest {
            return fitting("--largest", asked, fits);
        }
        let largest = self.caches.value().and_then(|caches| caches.iter().map(|cache| cache.bytes).max());
        let rule = largest.map_or(ARRAY_UNKNOWN, |bytes| bytes * WORKING_SET_OVER_CACHE);
        Ok(rule.clamp(WORKING_SET_LEAST, WORKING_SET_MOST).min(fits))
    }

    /// All last-level caches together.
    fn last_level_bytes(&self) -> Option<u64> {
        // Ascending by level: the last row is of the last level, and a host of two kinds of processor has two.
        let caches = self.caches.value()?;
        let name = &caches.last()?.name;
        Some(
            caches
                .iter()
                .filter(|cache| cache.name == *name)
                .map(|cache| cache.bytes * u64::from(cache.instances))
                .sum(),
        )
    }

    pub(super) fn beyond_caches(&self) -> Option<bool> {
        Some(self.array_bytes >= self.last_level_bytes()? * ARRAY_OVER_CACHES)
    }

    fn all_cells(&self) -> Vec<PlacedCell> {
        let mut cells = Vec::new();
        for node in self.nodes.iter().filter(|node| !node.cpus.is_empty()) {
            let one = &node.cpus[..1];
            let mut groups = vec![one];
            groups.extend((node.cpus.len() > 1).then_some(&node.cpus[..]));
            for (arrays, memory) in self.nodes.iter().enumerate() {
                let local = memory.node == node.node;
                // From afar one kernel of all processors tells; at home all four, with either store.
                let kernels = if local { &MemoryKernel::ALL[..] } else { &[MemoryKernel::Triad][..] };
                let stores = if local {
                    &[Stores::Ordinary, Stores::NonTemporal][..]
                } else {
                    &[Stores::Ordinary][..]
                };
                for cpus in groups.iter().skip(if local { 0 } else { groups.len() - 1 }) {
                    for stores in stores.iter().filter(|stores| has_stores(**stores)) {
                        cells.extend(kernels.iter().map(|kernel| PlacedCell {
                            cpu_node: node.node,
                            memory_node: memory.node,
                            cell: Cell { cpus: cpus.to_vec(), arrays, kernel: *kernel, stores: *stores },
                        }));
                    }
                }
            }
        }
        cells
    }

    /// Leaves copies within each node by all of its processors.
    pub(super) fn only_copies(&mut self) {
        let nodes = &self.nodes;
        let all = |node: u32| nodes.iter().find(|known| known.node == node).map_or(0, |node| node.cpus.len());
        self.cells.retain(|placed| {
            placed.cpu_node == placed.memory_node
                && placed.cell.kernel == MemoryKernel::Copy
                && placed.cell.cpus.len() == all(placed.cpu_node)
        });
    }

    /// The arrays of every node.
    pub(super) fn arrays(&self) -> Result<Vec<Arrays>, MemoryError> {
        self.nodes.iter().map(|node| Arrays::new(self.array_bytes, self.bound_to(node.node))).collect()
    }

    /// With one node there is nothing to ask the kernel for.
    fn bound_to(&self, node: u32) -> Option<u32> {
        (self.nodes.len() > 1).then_some(node)
    }

    /// The kernel does not put memory where it is told: all processors and all memory are one node then.
    pub(super) fn without_nodes(&mut self, why: &MemoryError) {
        let source = std::error::Error::source(why).map_or(String::new(), |source| format!(" ({source})"));
        self.notes.push(format!(
            "Remote against local memory: {why}{source}. Measured as one node; a container may need the capability SYS_NICE.",
        ));
        let cpus = self.nodes.iter().flat_map(|node| node.cpus.clone()).collect();
        self.nodes = vec![ProbedNode { node: 0, cpus }];
        self.cells = self.all_cells();
    }

    pub(super) fn no_huge_pages(&mut self) {
        let note = "Latency on huge pages: none could be had (/sys/kernel/mm/transparent_hugepage/enabled says what is allowed).";
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    /// The whole curve at home on both kinds of page, the largest working set from everywhere else.
    pub(super) fn latency_cases(&self) -> Vec<PlacedLatency> {
        let sizes = working_sets(self.largest_bytes);
        let mut cases = Vec::new();
        for node in &self.nodes {
            let Some(cpu) = node.cpus.first() else { continue };
            let first = cases.is_empty();
            for memory in &self.nodes {
                let whole = first && memory.node == node.node;
                let pages = if whole { &[Pages::Base, Pages::Huge][..] } else { &[Pages::Huge][..] };
                let sizes = if whole { sizes.clone() } else { sizes.last().copied().into_iter().collect() };
                cases.extend(pages.iter().map(|pages| {
                    let node_of_memory = self.bound_to(memory.node);
                    let case =
                        LatencyCase { cpu: *cpu, node: node_of_memory, pages: *pages, sizes: sizes.clone() };
                    PlacedLatency { cpu_node: node.node, memory_node: memory.node, case }
                }));
            }
        }
        cases
    }

    pub(super) fn estimate_s(&self) -> f64 {
        let sets: usize = self.latency_cases().iter().map(|placed| placed.case.sizes.len()).sum();
        // One round more: it warms up.
        let blocks = self.cells.len() * (self.rounds as usize + 1);
        blocks as f64 * BLOCK_S + sets as f64 * WORKING_SET_S
    }
}

fn told_of_none(notes: &mut Vec<String>, why: &str) -> Result<ProbedNode> {
    notes.push(format!("Memory nodes: none is known ({why}); taken for one."));
    Ok(only_node()?)
}

fn fitting(flag: &str, asked: Bytes, fits: u64) -> Result<u64, UsageError> {
    if asked.0 > fits {
        let message = format!("{flag} {asked} is too large: at most {} here", Bytes(fits >> 20 << 20));
        return Err(UsageError::new(
            message,
            "a probe takes at most a quarter of the memory that can be had",
        ));
    }
    Ok(asked.0)
}
