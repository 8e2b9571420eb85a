//! `plumb probe memory`: bandwidth and latency of memory, by node and by working set.

mod plan;

use super::{LEVEL, window::Window};
use crate::args::probe::{MemoryArgs, ProbeOutput};
use crate::commands::End;
use crate::printer;
use crate::progress::steps::Steps;
use crate::stop;
use anyhow::Result;
use plan::{Cells, Plan};
use plumb_model::probe::{
    Bandwidth, Cache, Figure, LatencyCurve, LatencyPoint, MemoryKernel, MemoryProbe, MemoryRatio, Pages,
    ProbeKind, Stores,
};
use plumb_probe::memory::{Arrays, LatencyCase, MemoryError, bandwidth, knees};
use plumb_stats::figure::{consecutive, figure, ratio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(super) fn memory(arguments: &MemoryArgs) -> Result<End> {
    let stop = stop::flag()?;
    let mut plan = Plan::new(arguments)?;
    let window = Window::open();
    let progress = Steps::begin("probing memory", plan.estimate_s());
    let (array_huge_share, rates) = rates(&mut plan, &progress, &stop)?;
    let latency = latency(&mut plan, &progress, &stop)?;
    drop(progress);
    let conditions = window.close(ProbeKind::Memory, !stop.load(Relaxed));
    let complete = conditions.complete;
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
    printer::out(&match arguments.output {
        ProbeOutput::Text => plumb_report::probe::memory::render(&document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    Ok(if complete { End::Done } else { End::Interrupted })
}

/// Part of the arrays on huge pages, and the rates of each cell by round.
fn rates(plan: &mut Plan, progress: &Steps, stop: &AtomicBool) -> Result<(Option<f64>, Vec<Vec<f64>>)> {
    let mut arrays = match plan.arrays() {
        Err(error @ MemoryError::Bind { .. }) => {
            plan.without_nodes(&error);
            plan.arrays()?
        }
        arrays => arrays?,
    };
    let shares: Option<Vec<f64>> = arrays.iter().map(Arrays::huge_share).collect();
    let huge_share = shares.map(|shares| shares.iter().sum::<f64>() / shares.len().max(1) as f64);
    let cells: Vec<_> = plan.cells.iter().map(|cell| cell.cell.clone()).collect();
    let rates = bandwidth(&mut arrays, &cells, plan.rounds, stop, |blocks| {
        progress.now(&format!("bandwidth, block {blocks} of {}", plan.blocks()));
    })?;
    Ok((huge_share, rates))
}

fn rows(cells: &[Cells], rates: &[Vec<f64>]) -> Vec<Bandwidth> {
    let row = |(cell, rates): (&Cells, &Vec<f64>)| Bandwidth {
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
fn ratios(cells: &[Cells], rates: &[Vec<f64>]) -> Vec<MemoryRatio> {
    let find = |node: (u32, u32), threads: usize, kernel: MemoryKernel, stores: Stores| {
        let same = |cell: &Cells| {
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
        let of_node = |cell: &&Cells| cell.cpu_node == node;
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

fn latency(plan: &mut Plan, progress: &Steps, stop: &AtomicBool) -> Result<Vec<LatencyCurve>> {
    let mut curves = Vec::new();
    let caches = plan.caches.value().cloned().unwrap_or_default();
    for (cpu_node, memory_node, case) in plan.latency_cases() {
        if stop.load(Relaxed) {
            break;
        }
        let curve = curve(&case, (cpu_node, memory_node), &caches, progress, stop)?;
        // Without any huge page the curve would be the other one again.
        if curve.pages == Pages::Huge && curve.huge_share == Some(0.0) {
            plan.no_huge_pages();
        } else {
            curves.push(curve);
        }
    }
    Ok(curves)
}

fn curve(
    case: &LatencyCase,
    (cpu_node, memory_node): (u32, u32),
    caches: &[Cache],
    progress: &Steps,
    stop: &AtomicBool,
) -> Result<LatencyCurve> {
    let pages = if case.pages == Pages::Huge { "huge" } else { "base" };
    progress.now(&format!("latency by working set, {pages} pages"));
    let loads = case.measure(stop)?;
    let load_ns: Vec<(u64, Option<Figure>)> =
        loads.points.iter().map(|(size, blocks)| (*size, consecutive(blocks))).collect();
    let medians: Vec<(u64, f64)> =
        load_ns.iter().filter_map(|(size, figure)| Some((*size, figure.as_ref()?.median))).collect();
    Ok(LatencyCurve {
        cpu_node,
        memory_node,
        pages: case.pages,
        huge_share: loads.huge_share,
        points: load_ns
            .into_iter()
            .map(|(working_set_bytes, load_ns)| LatencyPoint { working_set_bytes, load_ns })
            .collect(),
        knees: knees(&medians, caches),
    })
}
