//! The differences between the blocks of a step in their medians and tails: the intervals of the step's quantiles hold them.

use plumb_model::observation::{Distribution, Interval};
use plumb_stats::histogram::Histogram;
use plumb_stats::interval::over_blocks;
use serde::{Deserialize, Serialize};

/// The quantiles of each whole block that the step's have intervals for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct BlockQuantiles {
    pub(super) end_to_end: Vec<MedianAndTail>,
    pub(super) acknowledge: Vec<MedianAndTail>,
}

/// A block's median and p99, however few samples are behind them: what blocks differ by is what counts here.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct MedianAndTail {
    p50_ns: u64,
    p99_ns: u64,
}

impl MedianAndTail {
    pub(super) fn of_block(histogram: &Histogram) -> Option<Self> {
        Some(MedianAndTail { p50_ns: histogram.at_quantile(0.5)?, p99_ns: histogram.at_quantile(0.99)? })
    }

    /// The step's figures, with intervals that hold what its blocks differ by.
    pub(super) fn widen(blocks: &[MedianAndTail], figures: Distribution) -> Distribution {
        let over = |interval: Option<Interval>, quantile: fn(&MedianAndTail) -> u64| {
            let quantiles: Vec<u64> = blocks.iter().map(quantile).collect();
            interval.map(|interval| over_blocks(interval, &quantiles))
        };
        Distribution {
            p50_interval: over(figures.p50_interval, |block| block.p50_ns),
            p99_interval: over(figures.p99_interval, |block| block.p99_ns),
            ..figures
        }
    }
}
