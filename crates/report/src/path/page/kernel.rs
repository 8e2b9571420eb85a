//! The counts of the kernel's trace points: times as histograms with both scales logarithmic, and counts beside them.

use crate::html::scale::{self, time_tick};
use crate::paint::printable;
use plumb_model::figure::{count, counted, percent, time};
use plumb_model::observed::{KernelWindow, LogHistogram, ObservedPath, ProcessWindow};

/// Histograms and counts of a process or of the host.
pub(super) struct KernelView {
    pub(super) heading: String,
    pub(super) charts: Vec<Chart>,
    pub(super) rows: Vec<CountRow>,
    pub(super) off_cpu: Vec<OffCpuRow>,
    pub(super) missing: Vec<String>,
}

/// One histogram.
pub(super) struct Chart {
    pub(super) title: String,
    /// Count, mean, longest.
    pub(super) summary: String,
    pub(super) bars: Vec<Bar>,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) mean_x: Option<String>,
}

/// The values between two powers of two.
pub(super) struct Bar {
    pub(super) x: String,
    pub(super) width: String,
    pub(super) y: String,
    pub(super) height: String,
    pub(super) title: String,
}

/// A mark on an axis.
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) label: String,
}

/// A count with its name.
pub(super) struct CountRow {
    pub(super) name: String,
    pub(super) value: String,
}

/// A stack off the processor.
pub(super) struct OffCpuRow {
    pub(super) thread: String,
    pub(super) time: String,
    pub(super) times: String,
    pub(super) frames: String,
}

/// Stacks off the processor of each process that are shown.
const OFF_CPU_MOST: usize = 12;
/// Powers of two in 64 bits.
const CLASSES: usize = 64;
/// Room above the highest bar.
const HEAD_ROOM: f64 = 1.08;

/// Of each process that was traced, then of the host; without those of which nothing was counted.
pub(super) fn views(path: &ObservedPath) -> Vec<KernelView> {
    let processes = path.processes.iter().filter_map(of_process);
    let all = processes.chain(path.kernel.as_ref().map(of_host));
    all.filter(|view| !view.is_empty()).collect()
}

impl KernelView {
    fn is_empty(&self) -> bool {
        self.charts.is_empty() && self.rows.is_empty() && self.off_cpu.is_empty() && self.missing.is_empty()
    }
}

fn of_process(process: &ProcessWindow) -> Option<KernelView> {
    let waits = process.kernel.as_ref()?;
    let named = [("ready, until on a processor", &waits.run_delay), ("fsync and fdatasync", &waits.fsync)];
    let charts =
        named.into_iter().filter_map(|(title, times)| chart(title.to_owned(), times.as_ref()?)).collect();
    Some(KernelView {
        heading: printable(&format!("process {} ({})", process.pid, process.command)),
        charts,
        rows: Vec::new(),
        off_cpu: waits.off_cpu.iter().take(OFF_CPU_MOST).map(off_cpu).collect(),
        missing: Vec::new(),
    })
}

fn of_host(kernel: &KernelWindow) -> KernelView {
    let commits = kernel.journal_commit.as_ref();
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(commits.and_then(|times| chart("journal commits, all file systems".to_owned(), times)));
    for device in &kernel.devices {
        charts.extend(chart(format!("block I/O of {}", printable(&device.device)), &device.times));
    }
    KernelView {
        heading: "the host".to_owned(),
        charts,
        rows: rows(kernel),
        off_cpu: Vec::new(),
        missing: kernel.missing.iter().map(|what| printable(what)).collect(),
    }
}

fn chart(title: String, histogram: &LogHistogram) -> Option<Chart> {
    let classes: Vec<u64> = histogram.classes.iter().copied().take(CLASSES).collect();
    let first = classes.iter().position(|count| *count > 0)?;
    let last = classes.iter().rposition(|count| *count > 0)?;
    // A lone class would fill the picture, and say nothing of where it lies.
    let (first, last) = (first.saturating_sub(1), (last + 1).min(CLASSES - 1));
    let span = (last + 1 - first) as f64;
    let most = classes.iter().copied().max().unwrap_or(0);
    let height = |count: u64| (1.0 + count as f64).log10() / ((1.0 + most as f64).log10() * HEAD_ROOM);
    let bar = |class: usize| {
        let count_of = classes.get(class).copied().filter(|count| *count > 0)?;
        let low = 2f64.powi(class as i32);
        Some(Bar {
            x: scale::percent((class - first) as f64 / span),
            width: scale::percent(0.92 / span),
            y: scale::percent(1.0 - height(count_of)),
            height: scale::percent(height(count_of)),
            title: format!(
                "{}: {} ({})",
                plumb_model::figure::time_interval(low, low * 2.0),
                count(count_of),
                percent(count_of as f64 / histogram.count.max(1) as f64)
            ),
        })
    };
    let place = |ns: f64| (ns.log2() - first as f64) / span;
    let x_ticks = (0..19).map(|decade| 10f64.powi(decade)).filter(|ns| (0.0..=1.0).contains(&place(*ns)));
    let y_ticks = (0..19).map(|decade| 10_u64.pow(decade)).filter(|count| *count <= most);
    let y_ticks: Vec<u64> = y_ticks.collect();
    let every = y_ticks.len().div_ceil(4).max(1);
    Some(Chart {
        title,
        summary: summary(histogram),
        bars: (first..=last).filter_map(bar).collect(),
        x_ticks: x_ticks.map(|ns| Tick { at: scale::percent(place(ns)), label: time_tick(ns) }).collect(),
        y_ticks: y_ticks
            .into_iter()
            .step_by(every)
            .map(|count_of| Tick { at: scale::percent(1.0 - height(count_of)), label: count(count_of) })
            .collect(),
        mean_x: histogram.mean_ns().map(place).filter(|x| (0.0..=1.0).contains(x)).map(scale::percent),
    })
}

fn summary(histogram: &LogHistogram) -> String {
    let mean = histogram.mean_ns().map(|mean| format!(", mean {}", time(mean))).unwrap_or_default();
    format!("{}{mean}, longest {}", counted(histogram.count, "time"), time(histogram.max_ns as f64))
}

fn rows(kernel: &KernelWindow) -> Vec<CountRow> {
    let row = |name: String, value: String| CountRow { name: printable(&name), value };
    let mut rows = Vec::new();
    rows.extend(
        kernel.tcp_retransmits.map(|segments| row("TCP segments sent again".to_owned(), count(segments))),
    );
    let drops = kernel.drops.iter().filter(|drop| drop.packets > 0).take(12);
    rows.extend(drops.map(|drop| row(format!("packets lost: {}", drop.reason), count(drop.packets))));
    let mut softirqs: Vec<(&String, &u64)> = kernel.softirq_ns.iter().filter(|(_, ns)| **ns > 0).collect();
    softirqs.sort_by_key(|(_, ns)| std::cmp::Reverse(**ns));
    rows.extend(softirqs.into_iter().take(6).map(|(what, ns)| {
        let share = percent(*ns as f64 / kernel.elapsed_ns.max(1) as f64);
        row(format!("soft interrupts, {what}"), format!("{} ({share})", time(*ns as f64)))
    }));
    rows
}

fn off_cpu(stack: &plumb_model::observed::OffCpuStack) -> OffCpuRow {
    // The innermost frames say what it waits for.
    let frames: Vec<String> = stack.frames.iter().rev().take(6).map(|frame| printable(frame)).collect();
    OffCpuRow {
        thread: printable(&stack.thread),
        time: time(stack.time_ns as f64),
        times: count(stack.count),
        frames: frames.join(" ← "),
    }
}
