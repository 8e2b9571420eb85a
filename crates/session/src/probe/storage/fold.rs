//! Blocks into results: rates with intervals over the blocks, latencies over all commits, the device's work in the meantime.

use super::rate::{Timed, interval, overall};
use plumb_model::probe::storage::{
    CommitBlock, CommitCase, CommitLatency, CommitResult, PageCache, SequentialResult, StreamBlock,
    StreamCase, StreamDirection,
};
use plumb_probe::storage::{CommitSample, StreamSample};
use plumb_stats::distribution::supported;
use plumb_stats::histogram::Histogram;

/// The reason why a case has no figures when nothing is wrong with it.
const STOPPED: &str = "the probe ended before its first block";

/// Blocks of one way to commit on one path, as they come.
#[derive(Debug)]
pub(super) struct CommitFold {
    case: CommitCase,
    histogram: Histogram,
    blocks: Vec<CommitBlock>,
    cpu_ns: u64,
    /// Commits of whole blocks, warm-up and end included: what the device's work is over.
    made: u64,
    device: Option<DeviceWork>,
    unavailable: Option<String>,
}

/// The work of the hardware in the meantime.
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

/// The place of a block in the probe.
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
            made: 0,
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
        self.histogram.merge(&sample.times);
        self.cpu_ns += sample.cpu_ns;
        self.made += sample.made;
        self.device = self.device.zip(device).map(|(mine, new)| DeviceWork {
            writes: mine.writes + new.writes,
            flushes: mine.flushes.zip(new.flushes).map(|(mine, new)| mine + new),
        });
        self.blocks.push(CommitBlock {
            round: at.round,
            began_ns: at.began_ns,
            elapsed_ns: sample.elapsed_ns,
            commits: sample.commits(),
            rate_per_s: sample.rate_per_s(),
            seconds: sample.seconds,
        });
    }

    pub(super) fn result(self) -> CommitResult {
        let commits = self.histogram.samples();
        let over = |total: u64, commits: u64| (commits > 0).then(|| total as f64 / commits as f64);
        let made = self.made;
        let rates: Vec<Timed> = self.blocks.iter().map(commit_rate).collect();
        CommitResult {
            case: self.case,
            rate_per_s: overall(&rates),
            rate_interval: interval(&rates),
            latency: latency(&self.histogram),
            durable: None,
            findings: Vec::new(),
            unavailable: self.unavailable.or_else(|| rates.is_empty().then(|| STOPPED.to_owned())),
            cpu_ns_per_commit: over(self.cpu_ns, commits),
            device_writes_per_commit: self.device.and_then(|device| over(device.written()?, made)),
            device_flushes_per_commit: self.device.and_then(|device| over(device.flushes?, made)),
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

/// Blocks of one stream on one path.
#[derive(Debug)]
pub(super) struct StreamFold {
    case: StreamCase,
    blocks: Vec<StreamBlock>,
    /// Bytes that the hardware moved the same way meanwhile.
    device_bytes: Option<u64>,
    unavailable: Option<String>,
}

impl StreamFold {
    pub(super) fn new(case: StreamCase) -> Self {
        StreamFold { case, blocks: Vec::new(), device_bytes: Some(0), unavailable: None }
    }

    pub(super) fn block(&mut self, at: At, outcome: Result<StreamSample, String>, device_bytes: Option<u64>) {
        match outcome {
            Ok(StreamSample { bytes: 0, .. }) => {}
            Ok(StreamSample { bytes, transfer_ns, sync_ns }) => {
                let At { round, began_ns } = at;
                self.device_bytes = self.device_bytes.zip(device_bytes).map(|(mine, new)| mine + new);
                self.blocks.push(StreamBlock { round, began_ns, bytes, transfer_ns, sync_ns });
            }
            Err(reason) => self.unavailable = Some(reason),
        }
    }

    pub(super) fn result(self) -> SequentialResult {
        let rates: Vec<Timed> = self.blocks.iter().map(stream_rate).collect();
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
            device_bytes: self.device_bytes.filter(|_| !rates.is_empty()),
            unavailable: self.unavailable.or_else(|| rates.is_empty().then(|| STOPPED.to_owned())),
            ratio_to_first: None,
            blocks: self.blocks,
        }
    }
}

/// The rate of a block of a stream, its sync included.
pub(super) fn stream_rate(block: &StreamBlock) -> Timed {
    let time_ns = (block.transfer_ns + block.sync_ns).max(1);
    Timed { rate: block.bytes as f64 * 1e9 / time_ns as f64, time_ns }
}

/// The rate of a block of commits.
pub(super) fn commit_rate(block: &CommitBlock) -> Timed {
    Timed { rate: block.rate_per_s, time_ns: block.elapsed_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            fold.block(at(round), Ok(sample), Some(1_000_100));
        }
        let result = fold.result();
        assert_eq!(result.device_bytes, Some(3_000_300));
        assert_eq!((result.bytes_per_s, result.accepted_bytes_per_s), (Some(1e8), Some(1e9)));
        assert_eq!(result.bytes_interval.map(|interval| (interval.low, interval.high)), Some((1e8, 1e8)));
    }

    fn at(round: u32) -> At {
        At { round, began_ns: 0 }
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
        let sample = CommitSample { cpu_ns: 7, ..CommitSample::empty() };
        fold.block(at(0), sample, None);
        let result = fold.result();
        assert_eq!((result.rate_per_s, result.blocks.len()), (None, 0));
        assert_eq!(result.unavailable.as_deref(), Some(STOPPED));
    }

    #[test]
    fn what_the_device_did_is_over_all_commits_of_the_block_and_the_rate_over_those_that_count() {
        let case = CommitCase {
            method: plumb_model::probe::storage::CommitMethod::Fsync,
            placement: plumb_model::probe::storage::Placement::Append,
            block_bytes: 4096,
            committers: 16,
            queue_depth: 1,
        };
        let mut fold = CommitFold::new(case);
        let mut sample =
            CommitSample { made: 60, elapsed_ns: 500_000_000, cpu_ns: 400, ..CommitSample::empty() };
        sample.times.record_spans(0, 1_000, 20);
        fold.block(at(0), sample, Some(DeviceWork { writes: 240, flushes: Some(60) }));
        let result = fold.result();
        assert_eq!((result.rate_per_s, result.cpu_ns_per_commit), (Some(40.0), Some(20.0)));
        assert_eq!(
            (result.device_writes_per_commit, result.device_flushes_per_commit),
            (Some(3.0), Some(1.0))
        );
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
