//! Bandwidth and latency of memory, by node and by working set.

mod plan;
mod rounds;

use super::{LEVEL, Probed, window::Window};
use crate::context::RunContext;
use crate::error::Result;
use crate::watcher::{Event, Watcher};
use plan::{PlacedCell, PlacedLatency, Plan};
use plumb_model::plan::Properties;
use plumb_model::probe::{
    Bandwidth, Cache, Figure, LatencyCurve, LatencyPoint, MemoryKernel, MemoryProbe, MemoryRatio, Pages,
    ProbeKind, Stores,
};
use plumb_model::units::Bytes;
use plumb_observe::{HostRoot, unused_memory_bytes};
use plumb_probe::memory::{Arrays, MedianLoad, MemoryError, knees};
use plumb_stats::figure::{consecutive, figure, ratio};
use rounds::BandwidthRounds;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The settings of a memory probe.
#[derive(Debug, Clone)]
pub struct MemorySettings {
    /// Size of each array. Absent: as large as STREAM's rule asks for and the memory allows.
    pub array: Option<Bytes>,
    /// The largest working set. Absent: far beyond the largest cache.
    pub largest: Option<Bytes>,
    /// The number of times that each bandwidth is measured; at least 1.
    pub rounds: u32,
}

/// Probes memory.
///
/// # Errors
/// When memory or processors cannot be had as asked.
pub fn probe(
    settings: &MemorySettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Probed<MemoryProbe>> {
    let context = RunContext::new(Properties::new(), stop, watcher);
    let mut plan = Plan::new(settings)?;
    let window = Window::open();
    context.tell(&Event::ProbeBegins { what: "probing memory", estimate_s: plan.estimate_s() });
    let mut arrays = arrays(&mut plan)?;
    let shares: Option<Vec<f64>> = arrays.iter().map(Arrays::huge_share).collect();
    let array_huge_share = shares.map(|shares| shares.iter().sum::<f64>() / shares.len().max(1) as f64);
    let rates = BandwidthRounds::new(&plan, &mut arrays).rates(&context)?;
    drop(arrays);
    let latency = latency(&mut plan, &context)?;
    context.tell(&Event::Ends);
    let conditions = window.close(ProbeKind::Memory, !context.is_stopped());
    let document = MemoryProbe {
        conditions,
        array_bytes: plan.array_bytes,
        beyond_caches: plan.beyond_caches(),
        array_huge_share,
        bandwidth: rows(&plan.cells, &rates),
        ratios: ratios(&plan.cells, &rates),
        latency,
        nodes: plan.nodes,
        caches: plan.caches,
        notes: plan.notes,
    };
    Ok(Probed { complete: document.conditions.complete, found: false, error: None, document })
}

/// Bytes a second that all processors together copy in memory, each byte counted once: the best of a few blocks of each kind of stores. None where
/// not enough memory lies idle: what a broker has in its page cache must stay there.
///
/// # Errors
/// When memory or processors cannot be had.
pub(crate) fn copied_per_s(context: &RunContext) -> Result<Option<f64>> {
    let mut plan = Plan::new(&MemorySettings { array: None, largest: None, rounds: COPY_ROUNDS })?;
    let needed_bytes = 3 * plan.array_bytes * plan.nodes.len() as u64;
    let unused_bytes = unused_memory_bytes(&HostRoot::default()).unwrap_or(0);
    if needed_bytes > unused_bytes / 2 || plan.beyond_caches() == Some(false) {
        return Ok(None);
    }
    plan.only_copies();
    let mut arrays = arrays(&mut plan)?;
    // Where nodes were given up for one, its cells are all there again.
    plan.only_copies();
    let rates = BandwidthRounds::new(&plan, &mut arrays).rates(context)?;
    let mut best: BTreeMap<u32, f64> = BTreeMap::new();
    for (placed, rates) in plan.cells.iter().zip(&rates) {
        let node = best.entry(placed.cpu_node).or_default();
        *node = rates.iter().copied().fold(*node, f64::max);
    }
    // A copy reads and writes each byte.
    Ok(Some(best.values().sum::<f64>() / 2.0).filter(|rate| *rate > 0.0))
}

/// Blocks of each case of a short calibration, after one that warms up.
const COPY_ROUNDS: u32 = 3;

/// The arrays of every node, or of all together where the kernel does not put memory where it is told.
fn arrays(plan: &mut Plan) -> Result<Vec<Arrays>, MemoryError> {
    match plan.arrays() {
        Err(error @ MemoryError::Bind { .. }) => {
            plan.without_nodes(&error);
            plan.arrays()
        }
        arrays => arrays,
    }
}

fn rows(cells: &[PlacedCell], rates: &[Vec<f64>]) -> Vec<Bandwidth> {
    let row = |(cell, rates): (&PlacedCell, &Vec<f64>)| Bandwidth {
        cpu_node: cell.cpu_node,
        memory_node: cell.memory_node,
        threads: cell.cell.cpus.len() as u32,
        kernel: cell.cell.kernel,
        stores: cell.cell.stores,
        bytes_per_s: figure(rates, LEVEL),
    };
    cells.iter().zip(rates).map(row).collect()
}

/// All processors over one, non-temporal over ordinary stores, remote over local: each of rounds in which both were
/// measured.
fn ratios(cells: &[PlacedCell], rates: &[Vec<f64>]) -> Vec<MemoryRatio> {
    let find = |node: (u32, u32), threads: usize, kernel: MemoryKernel, stores: Stores| {
        let same = |cell: &PlacedCell| {
            (cell.cpu_node, cell.memory_node) == node
                && cell.cell.cpus.len() == threads
                && (cell.cell.kernel, cell.cell.stores) == (kernel, stores)
        };
        cells.iter().position(same).map(|index| rates[index].as_slice())
    };
    let mut ratios = Vec::new();
    let mut add = |what: String, over: Option<&[f64]>, under: Option<&[f64]>| {
        if let Some((over, under)) = over.zip(under) {
            ratios.push(MemoryRatio { what, ratio: ratio(over, under, LEVEL) });
        }
    };
    let mut nodes: Vec<u32> = cells.iter().map(|cell| cell.cpu_node).collect();
    nodes.dedup();
    for node in nodes {
        let of_node = |cell: &&PlacedCell| cell.cpu_node == node;
        let all = cells.iter().filter(of_node).map(|cell| cell.cell.cpus.len()).max().unwrap_or(1);
        let at = |kernel, stores, threads| find((node, node), threads, kernel, stores);
        let (triad, copy, ordinary) = (MemoryKernel::Triad, MemoryKernel::Copy, Stores::Ordinary);
        if all > 1 {
            let what = format!("triad, ordinary stores: all {all} CPUs of node {node} over one of them");
            add(what, at(triad, ordinary, all), at(triad, ordinary, 1));
        }
        for threads in [1, all].into_iter().take(if all > 1 { 2 } else { 1 }) {
            let cpus = if threads == 1 { "one CPU".to_owned() } else { format!("all {threads} CPUs") };
            let what = format!("copy, {cpus} of node {node}: non-temporal over ordinary stores");
            add(what, at(copy, Stores::NonTemporal, threads), at(copy, ordinary, threads));
        }
        let mut remotes: Vec<u32> = cells.iter().filter(of_node).map(|cell| cell.memory_node).collect();
        remotes.sort_unstable();
        remotes.dedup();
        for remote in remotes.into_iter().filter(|remote| *remote != node) {
            let what = format!("triad, CPUs of node {node}: memory of node {remote} over local");
            add(what, find((node, remote), all, triad, ordinary), at(triad, ordinary, all));
        }
    }
    ratios
}

fn latency(plan: &mut Plan, context: &RunContext) -> Result<Vec<LatencyCurve>> {
    let mut curves = Vec::new();
    let caches = plan.caches.value().cloned().unwrap_or_default();
    for placed in plan.latency_cases() {
        if context.is_stopped() {
            break;
        }
        let curve = curve(&placed, &caches, context)?;
        // Without any huge page the curve would be the other one again.
        if curve.pages == Pages::Huge && curve.huge_share == Some(0.0) {
            plan.no_huge_pages();
        } else {
            curves.push(curve);
        }
    }
    Ok(curves)
}

fn curve(placed: &PlacedLatency, caches: &[Cache], context: &RunContext) -> Result<LatencyCurve> {
    let PlacedLatency { cpu_node, memory_node, case } = placed;
    let pages = if case.pages == Pages::Huge { "huge" } else { "base" };
    context.phase(&format!("latency by working set, {pages} pages"));
    let loads = case.measure(&context.stop)?;
    let load_ns: Vec<(u64, Option<Figure>)> =
        loads.points.iter().map(|(size, blocks)| (*size, consecutive(blocks))).collect();
    let medians: Vec<MedianLoad> = load_ns
        .iter()
        .filter_map(|(size, figure)| {
            Some(MedianLoad { working_set_bytes: *size, load_ns: figure.as_ref()?.median })
        })
        .collect();
    Ok(LatencyCurve {
        cpu_node: *cpu_node,
        memory_node: *memory_node,
        pages: case.pages,
        huge_share: loads.huge_share,
        points: load_ns
            .into_iter()
            .map(|(working_set_bytes, load_ns)| LatencyPoint { working_set_bytes, load_ns })
            .collect(),
        knees: knees(&medians, caches),
    })
}
