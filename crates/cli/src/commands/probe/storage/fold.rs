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

impl DeviceWork {
    /// Writes with data, at least: a request that only flushes counts as a write too, and nothing tells it from one that
    /// flushes and writes. Unknown where flushes are not counted.
    fn written(self) -> Option<u64> {
        Some(self.writes.saturating_sub(self.flushes?))
    }
}

/// Where in the probe a block was.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    pub(super) round: u32,
    /// Since the probe began.
    pub(super) began_ns: u64,
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

    pub(super) fn block(&mut self, at: At, sample: CommitSample, device: Option<DeviceWork>) {
        // A block that was stopped before its first commit says nothing.
        if sample.commits() == 0 {
            return;
        }
        let exact =
            Exact { sum_ns: sample.sum_ns, min_ns: sample.min_ns, max_ns: sample.max_ns, ..Exact::default() };
        // A commit of more than an hour has no place in it.
        let Ok(histogram) = Histogram::from_parts(&sample.histogram, exact) else { return };
        self.histogram.merge(&histogram);
        self.cpu_ns += sample.cpu_ns;
        self.device = self.device.zip(device).map(|(mine, new)| DeviceWork {
            writes: mine.writes + new.writes,
            flushes: mine.flushes.zip(new.flushes).map(|(mine, new)| mine + new),
        });
        self.blocks.push(CommitBlock {
            round: at.round,
            began_ns: at.began_ns,
            elapsed_ns: sample.elapsed_ns,
            commits: sample.commits(),
            rate_per_s: sample.rate_per_s,
            seconds: sample.seconds,
        });
    }

    pub(super) fn result(self) -> CommitResult {
        let commits = self.histogram.samples();
        let per_commit = |total: u64| (commits > 0).then(|| total as f64 / commits as f64);
        let timed = |block: &CommitBlock| Timed { rate: block.rate_per_s, time_ns: block.elapsed_ns };
        let rates: Vec<Timed> = self.blocks.iter().map(timed).collect();
        CommitResult {
            case: self.case,
            rate_per_s: overall(&rates),
            rate_interval: interval(&rates),
            latency: latency(&self.histogram),
            durable: None,
            warnings: Vec::new(),
            unavailable: self.unavailable.or_else(|| rates.is_empty().then(|| STOPPED.to_owned())),
            cpu_ns_per_commit: per_commit(self.cpu_ns),
            device_writes_per_commit: self.device.and_then(|device| per_commit(device.written()?)),
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

/// A block's rate, and how long it was.
#[derive(Debug, Clone, Copy)]
struct Timed {
    rate: f64,
    time_ns: u64,
}

/// All that was done over all the time that it took: a block that a stall made long weighs what it took. The mean of the
/// blocks' rates would hide the stall.
fn overall(blocks: &[Timed]) -> Option<f64> {
    let time: f64 = blocks.iter().map(|block| block.time_ns as f64).sum();
    let done: f64 = blocks.iter().map(|block| block.rate * block.time_ns as f64).sum();
    (time > 0.0).then(|| done / time)
}

/// Interval around it: Student's t over the jackknife's pseudo-values (Miller 1974, Biometrika 61), which for blocks of
/// equal length are the blocks' rates.
fn interval(blocks: &[Timed]) -> Option<Interval> {
    let all = overall(blocks)?;
    let count = blocks.len() as f64;
    let without = |left_out: usize| {
        let others: Vec<Timed> = [&blocks[..left_out], &blocks[left_out + 1..]].concat();
        overall(&others)
    };
    let pseudo: Vec<f64> = (0..blocks.len())
        .map(|index| Some(count * all - (count - 1.0) * without(index)?))
        .collect::<Option<_>>()?;
    let centre = mean(&pseudo)?;
    let around: Vec<f64> = pseudo.iter().map(|value| value - centre + all).collect();
    mean_interval(&Spread { level: LEVEL, block_means_ns: &around, batches: &[] })
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

    pub(super) fn block(&mut self, at: At, outcome: Result<StreamSample, String>) {
        match outcome {
            Ok(StreamSample { bytes: 0, .. }) => {}
            Ok(StreamSample { bytes, transfer_ns, sync_ns }) => {
                let At { round, began_ns } = at;
                self.blocks.push(StreamBlock { round, began_ns, bytes, transfer_ns, sync_ns });
            }
            Err(reason) => self.unavailable = Some(reason),
        }
    }

    pub(super) fn result(self) -> SequentialResult {
        let timed = |block: &StreamBlock| Timed {
            rate: bytes_per_s(block),
            time_ns: (block.transfer_ns + block.sync_ns).max(1),
        };
        let rates: Vec<Timed> = self.blocks.iter().map(timed).collect();
        let accepted = |block: &StreamBlock| {
            let time_ns = block.transfer_ns.max(1);
            Timed { rate: block.bytes as f64 * 1e9 / time_ns as f64, time_ns }
        };
        let accepted: Vec<Timed> = self.blocks.iter().map(accepted).collect();
        let through_cache =
            self.case.direction == StreamDirection::Write && self.case.page_cache == PageCache::Buffered;
        SequentialResult {
            case: self.case,
            bytes_per_s: overall(&rates),
            bytes_interval: interval(&rates),
            accepted_bytes_per_s: overall(&accepted).filter(|_| through_cache),
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
            fold.block(at(round), Ok(sample));
        }
        let result = fold.result();
        assert_eq!((result.bytes_per_s, result.accepted_bytes_per_s), (Some(1e8), Some(1e9)));
        assert_eq!(result.bytes_interval.map(|interval| (interval.low, interval.high)), Some((1e8, 1e8)));
    }

    fn at(round: u32) -> At {
        At { round, began_ns: 0 }
    }

    fn timed(commits: u64, time_ns: u64) -> Timed {
        Timed { rate: commits as f64 * 1e9 / time_ns as f64, time_ns }
    }

    #[test]
    fn a_stall_counts_with_the_time_that_it_took() {
        // Four blocks of 20 commits in 0.2 s, and one of 1 commit in 2.2 s: 81 commits in 3 s.
        let mut blocks = [timed(20, 200_000_000); 5];
        blocks[4] = timed(1, 2_200_000_000);
        let rate = overall(&blocks).unwrap();
        assert!((rate - 27.0).abs() < 1e-9, "{rate}");
        let interval = interval(&blocks).unwrap();
        assert!(interval.low < 27.0 && interval.high > 100.0, "one block decides it: {interval:?}");
    }

    #[test]
    fn blocks_of_equal_length_have_the_interval_of_their_rates() {
        let rates = [90.0, 100.0, 110.0, 104.0];
        let blocks = rates.map(|rate| Timed { rate, time_ns: 200_000_000 });
        let plain = mean_interval(&Spread { level: LEVEL, block_means_ns: &rates, batches: &[] }).unwrap();
        let found = interval(&blocks).unwrap();
        assert!((found.low - plain.low).abs() < 1e-6 && (found.high - plain.high).abs() < 1e-6);
        assert_eq!(overall(&blocks), Some(101.0));
    }

    #[test]
    fn a_block_without_a_commit_is_no_block() {
        let case = CommitCase {
            method: plumb_model::probe::storage::CommitMethod::Fsync,
            placement: plumb_model::probe::storage::Placement::Append,
            block_bytes: 4096,
            committers: 1,
            queue_depth: 1,
        };
        let mut fold = CommitFold::new(case);
        let sample = CommitSample {
            histogram: hdrhistogram::Histogram::new(3).unwrap(),
            sum_ns: 0,
            min_ns: None,
            max_ns: None,
            elapsed_ns: 0,
            rate_per_s: 0.0,
            seconds: Vec::new(),
            cpu_ns: 7,
        };
        fold.block(at(0), sample, None);
        let result = fold.result();
        assert_eq!((result.rate_per_s, result.blocks.len()), (None, 0));
        assert_eq!(result.unavailable.as_deref(), Some(STOPPED));
    }

    #[test]
    fn a_request_that_only_flushes_is_no_write() {
        let work = |writes, flushes| DeviceWork { writes, flushes }.written();
        assert_eq!(work(22, Some(11)), Some(11));
        assert_eq!(work(3, Some(5)), Some(0));
        assert_eq!(work(3, None), None, "old kernels do not count flushes");
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
