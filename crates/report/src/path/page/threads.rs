//! Thread State Analysis: for each class of threads of a process, which part of the window they were on a processor, ready without one, or
//! waiting, and for what.

use super::stacked::{Part, Stacked};
use crate::paint::printable;
use crate::path::words;
use plumb_model::figure::{ABSENT, count, rough_share};
use plumb_model::observed::{ProcessWindow, ThreadGroup};

/// The threads of one process.
pub(super) struct ThreadsView {
    pub(super) heading: String,
    pub(super) bars: Vec<Stacked>,
    pub(super) legend: Vec<LegendEntry>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A colour and what it stands for.
pub(super) struct LegendEntry {
    pub(super) style: &'static str,
    pub(super) name: &'static str,
}

/// A state with its colour.
struct State {
    style: &'static str,
    name: &'static str,
    ns: fn(&ThreadGroup) -> Option<u64>,
}

const STATES: [State; 5] = [
    State { style: "t-executing", name: "on a processor", ns: |group| group.states.executing_ns },
    State { style: "t-runnable", name: "ready, without a processor", ns: |group| group.states.runnable_ns },
    State { style: "t-disk", name: "waiting for a disk", ns: |group| group.states.disk_ns },
    State { style: "t-lock", name: "waiting in a lock", ns: |group| group.states.lock_ns },
    State { style: "t-sleeping", name: "asleep", ns: |group| group.states.sleeping_ns },
];

/// A rest below this is what the readings miss, and no state of its own (ours).
const REST_LEAST: f64 = 0.01;

/// None where no thread was seen.
pub(super) fn view(process: &ProcessWindow) -> Option<ThreadsView> {
    let elapsed_ns = process.usage.elapsed_ns as f64;
    if process.groups.is_empty() || elapsed_ns <= 0.0 {
        return None;
    }
    let bars: Vec<Stacked> = process.groups.iter().map(|group| bar(group, elapsed_ns)).collect();
    let mut legend: Vec<LegendEntry> =
        STATES.iter().map(|state| LegendEntry { style: state.style, name: state.name }).collect();
    if bars.iter().any(|bar| bar.segments.iter().any(|segment| segment.style == "s-unknown")) {
        legend.push(LegendEntry { style: "s-unknown", name: "not known, or not there yet" });
    }
    Some(ThreadsView {
        heading: printable(&format!("process {} ({})", process.pid, process.command)),
        bars,
        legend,
        rows: process.groups.iter().map(|group| row(group, elapsed_ns)).collect(),
    })
}

fn name(group: &ThreadGroup) -> String {
    format!("{} ×{}", words::threads(group.class), count(u64::from(group.threads)))
}

/// The time of all threads of a class: the window times their number, or what was counted where that is more.
fn whole_ns(group: &ThreadGroup, elapsed_ns: f64) -> f64 {
    let counted: f64 = STATES.iter().filter_map(|state| (state.ns)(group)).map(|ns| ns as f64).sum();
    (elapsed_ns * f64::from(group.threads)).max(counted).max(1.0)
}

fn bar(group: &ThreadGroup, elapsed_ns: f64) -> Stacked {
    let whole_ns = whole_ns(group, elapsed_ns);
    let mut parts: Vec<Part> = Vec::new();
    for state in &STATES {
        let Some(ns) = (state.ns)(group) else { continue };
        let share = ns as f64 / whole_ns;
        parts.push(Part {
            style: state.style,
            share,
            label: rough_share(share),
            title: format!("{}: {}", state.name, rough_share(share)),
        });
    }
    let rest = 1.0 - parts.iter().map(|part| part.share).sum::<f64>();
    if rest > REST_LEAST {
        let title = format!("not known, or not there yet: {}", rough_share(rest));
        parts.push(Part { style: "s-unknown", share: rest, label: "?".to_owned(), title });
    }
    let busiest = group.busiest_share.map(|share| format!("busiest {}", rough_share(share)));
    Stacked::new(name(group), busiest.unwrap_or_default(), &parts)
}

fn row(group: &ThreadGroup, elapsed_ns: f64) -> Vec<String> {
    let whole_ns = whole_ns(group, elapsed_ns);
    let share =
        |ns: Option<u64>| ns.map_or_else(|| ABSENT.to_owned(), |ns| rough_share(ns as f64 / whole_ns));
    let mut waits: Vec<(&String, &f64)> = group.waits.iter().collect();
    waits.sort_by(|a, b| b.1.total_cmp(a.1));
    let waits = waits.into_iter().take(3).map(|(what, share)| format!("{what} {}", rough_share(*share)));
    let mut row = vec![name(group)];
    row.extend(STATES.iter().map(|state| share((state.ns)(group))));
    row.push(group.busiest_share.map_or_else(|| ABSENT.to_owned(), rough_share));
    row.push(printable(&waits.collect::<Vec<_>>().join(", ")));
    row
}
