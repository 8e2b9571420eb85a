//! Blocks into results: rates with intervals over the blocks, latencies over all commits, ratios to the first path.

use plumb_model::observation::Interval;
use plumb_model::probe::storage::{CommitBlock, CommitCase, CommitLatency, CommitResult, RatioToFirst};
use plumb_probe::storage::CommitSample;
use plumb_stats::distribution::supported;
use plumb_stats::histogram::{Exact, Histogram};
use plumb_stats::interval::{Spread, mean_interval};
use plumb_stats::paired::paired_ratio;

/// Confidence level of all intervals.
const LEVEL: f64 = 0.95;

/// Blocks of one way to commit on one path, as they come.
#[derive(Debug)]
pub(super) struct CommitFold {
    case: CommitCase,
    histogram: Histogram,
    blocks: Vec<CommitBlock>,
    cpu_ns: u64,
    device: Option<DeviceWork>,
    unavailable: Option<String>,
}

/// What the hardware did meanwhile.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeviceWork {
    pub(super) writes: u64,
    pub(super) flushes: Option<u64>,
}

impl CommitFold {
    pub(super) fn new(case: CommitCase) -> Self {
        CommitFold {
            case,
            histogram: Histogram::new(),
            blocks: Vec::new(),
            cpu_ns: 0,
            device: Some(DeviceWork { writes: 0, flushes: Some(0) }),
            unavailable: None,
        }
    }

    /// Nothing can be measured.
    pub(super) fn refused(&mut self, reason: String) {
        self.unavailable = Some(reason);
    }

    pub(super) fn block(&mut self, round: u32, sample: CommitSample, device: Option<DeviceWork>) {
        let exact =
            Exact { sum_ns: sample.sum_ns, min_ns: sample.min_ns, max_ns: sample.max_ns, ..Exact::default() };
        // A block that was stopped before its first commit says nothing.
        let Ok(histogram) = Histogram::from_parts(&sample.histogram, exact) else { return };
        self.histogram.merge(&histogram);
        self.cpu_ns += sample.cpu_ns;
        self.device = self.device.zip(device).map(|(mine, new)| DeviceWork {
            writes: mine.writes + new.writes,
            flushes: mine.flushes.zip(new.flushes).map(|(mine, new)| mine + new),
        });
        self.blocks.push(CommitBlock {
            round,
            elapsed_ns: sample.elapsed_ns,
            commits: sample.commits(),
            rate_per_s: sample.rate_per_s,
            seconds: sample.seconds,
        });
    }

    pub(super) fn result(self) -> CommitResult {
        let commits = self.histogram.samples();
        let per_commit = |total: u64| (commits > 0).then(|| total as f64 / commits as f64);
        let rates: Vec<f64> = self.blocks.iter().map(|block| block.rate_per_s).collect();
        let stopped = || "it was stopped before its first block".to_owned();
        CommitResult {
            case: self.case,
            rate_per_s: mean(&rates),
            rate_interval: interval(&rates),
            latency: latency(&self.histogram),
            durable: None,
            warnings: Vec::new(),
            unavailable: self.unavailable.or_else(|| rates.is_empty().then(stopped)),
            cpu_ns_per_commit: per_commit(self.cpu_ns),
            device_writes_per_commit: self.device.and_then(|device| per_commit(device.writes)),
            device_flushes_per_commit: self.device.and_then(|device| per_commit(device.flushes?)),
            ratio_to_first: None,
            blocks: self.blocks,
        }
    }
}

fn latency(histogram: &Histogram) -> CommitLatency {
    let exact = histogram.exact();
    CommitLatency {
        samples: histogram.samples(),
        min_ns: exact.min_ns,
        mean_ns: histogram.mean_ns(),
        p50_ns: supported(histogram, 0.5),
        p99_ns: supported(histogram, 0.99),
        p999_ns: supported(histogram, 0.999),
        max_ns: exact.max_ns,
    }
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(super) fn interval(rates: &[f64]) -> Option<Interval> {
    mean_interval(&Spread { level: LEVEL, block_means_ns: rates, batches: &[] })
}

/// How one path's rates, by round, compare with the first one's.
pub(super) fn ratio(first: &[(u32, f64)], other: &[(u32, f64)]) -> Option<RatioToFirst> {
    let partner =
        |round: u32| first.iter().find(|(of, rate)| *of == round && *rate > 0.0).map(|(_, rate)| *rate);
    let pairs: Vec<(f64, f64)> =
        other.iter().filter_map(|(round, rate)| Some((partner(*round)?, *rate))).collect();
    let paired = paired_ratio(&pairs, LEVEL);
    let logs: Vec<f64> = pairs.iter().map(|(first, other)| (other / first).ln()).collect();
    Some(RatioToFirst {
        ratio: mean(&logs)?.exp(),
        low: paired.map(|paired| paired.low),
        high: paired.map(|paired| paired.high),
        level: LEVEL,
        smallest_detectable_ratio: paired.map(|paired| paired.smallest_detectable_ratio),
        rounds: pairs.len() as u32,
    })
}
