//! Blocks into results: rates with intervals over the blocks, latencies over all commits, ratios to the first path.

use plumb_model::observation::Interval;
use plumb_model::probe::storage::{
    CommitBlock, CommitCase, CommitLatency, CommitResult, PageCache, RatioToFirst, SequentialResult,
    StreamBlock, StreamCase, StreamDirection,
};
use plumb_probe::storage::{CommitSample, StreamSample};
use plumb_stats::distribution::supported;
use plumb_stats::histogram::{Exact, Histogram};
use plumb_stats::interval::{Spread, mean_interval};
use plumb_stats::paired::paired_ratio;

/// Confidence level of all intervals.
const LEVEL: f64 = 0.95;
/// Why a case has no figures when nothing is wrong with it.
const STOPPED: &str = "it was stopped before its first block";

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
        CommitResult {
            case: self.case,
            rate_per_s: mean(&rates),
            rate_interval: interval(&rates),
            latency: latency(&self.histogram),
            durable: None,
            warnings: Vec::new(),
            unavailable: self.unavailable.or_else(|| rates.is_empty().then(|| STOPPED.to_owned())),
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

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn interval(rates: &[f64]) -> Option<Interval> {
    mean_interval(&Spread { level: LEVEL, block_means_ns: rates, batches: &[] })
}

/// Blocks of one stream on one path.
#[derive(Debug)]
pub(super) struct StreamFold {
    case: StreamCase,
    blocks: Vec<StreamBlock>,
    unavailable: Option<String>,
}

impl StreamFold {
    pub(super) fn new(case: StreamCase) -> Self {
        StreamFold { case, blocks: Vec::new(), unavailable: None }
    }

    pub(super) fn block(&mut self, round: u32, outcome: Result<StreamSample, String>) {
        match outcome {
            Ok(StreamSample { bytes: 0, .. }) => {}
            Ok(StreamSample { bytes, transfer_ns, sync_ns }) => {
                self.blocks.push(StreamBlock { round, bytes, transfer_ns, sync_ns });
            }
            Err(reason) => self.unavailable = Some(reason),
        }
    }

    pub(super) fn result(self) -> SequentialResult {
        let rates: Vec<f64> = self.blocks.iter().map(bytes_per_s).collect();
        let accepted: Vec<f64> = self
            .blocks
            .iter()
            .map(|block| block.bytes as f64 * 1e9 / block.transfer_ns.max(1) as f64)
            .collect();
        let through_cache =
            self.case.direction == StreamDirection::Write && self.case.page_cache == PageCache::Buffered;
        SequentialResult {
            case: self.case,
            bytes_per_s: mean(&rates),
            bytes_interval: interval(&rates),
            accepted_bytes_per_s: mean(&accepted).filter(|_| through_cache),
            unavailable: self.unavailable.or_else(|| rates.is_empty().then(|| STOPPED.to_owned())),
            ratio_to_first: None,
            blocks: self.blocks,
        }
    }
}

/// What a block of a stream came to, its sync included.
pub(super) fn bytes_per_s(block: &StreamBlock) -> f64 {
    block.bytes as f64 * 1e9 / (block.transfer_ns + block.sync_ns).max(1) as f64
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_held_against_the_first_round_by_round() {
        let first = [(0, 100.0), (1, 200.0), (2, 400.0)];
        let half = [(2, 200.0), (0, 50.0), (1, 100.0), (3, 9.0)];
        let found = ratio(&first, &half).unwrap();
        assert!((found.ratio - 0.5).abs() < 1e-9, "{found:?}");
        assert_eq!((found.rounds, found.low.map(|low| (low * 1e6).round())), (3, Some(500_000.0)));
    }

    #[test]
    fn two_rounds_give_a_ratio_without_an_interval_and_none_gives_nothing() {
        let found = ratio(&[(0, 100.0), (1, 100.0)], &[(0, 50.0), (1, 200.0)]).unwrap();
        assert!((found.ratio - 1.0).abs() < 1e-9 && found.low.is_none() && found.high.is_none());
        assert_eq!(ratio(&[], &[(0, 1.0)]), None);
    }

    #[test]
    fn a_buffered_write_counts_until_the_device_has_it_and_says_what_memory_took() {
        let case = StreamCase {
            direction: StreamDirection::Write,
            page_cache: PageCache::Buffered,
            block_bytes: 1 << 20,
        };
        let mut fold = StreamFold::new(case);
        for round in 0..3 {
            let sample = StreamSample { bytes: 1_000_000, transfer_ns: 1_000_000, sync_ns: 9_000_000 };
            fold.block(round, Ok(sample));
        }
        let result = fold.result();
        assert_eq!((result.bytes_per_s, result.accepted_bytes_per_s), (Some(1e8), Some(1e9)));
        assert_eq!(result.bytes_interval.map(|interval| (interval.low, interval.high)), Some((1e8, 1e8)));
    }

    #[test]
    fn a_case_that_is_refused_or_never_ran_has_no_rate_and_says_why() {
        let case = CommitCase {
            method: plumb_model::probe::storage::CommitMethod::MapSync,
            placement: plumb_model::probe::storage::Placement::Overwrite,
            block_bytes: 4096,
            committers: 1,
            queue_depth: 1,
        };
        let mut refused = CommitFold::new(case);
        refused.refused("no DAX".to_owned());
        let refused = refused.result();
        assert_eq!((refused.rate_per_s, refused.unavailable.as_deref()), (None, Some("no DAX")));
        assert_eq!((refused.latency.p50_ns, refused.cpu_ns_per_commit), (None, None));
        assert_eq!(CommitFold::new(case).result().unavailable.as_deref(), Some(STOPPED));
    }
}
