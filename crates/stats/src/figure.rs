//! Several short measurements of one thing as one figure: the median, with the ranks that enclose it.
//!
//! The median and not the mean, because what disturbs a short block (an interrupt, a neighbour) only ever makes it slower,
//! and by any amount. Blocks have to be taken in an order that nothing else follows; then they are as good as independent.

use crate::interval::quantile_ranks;
use crate::median::median_of_sorted;
use plumb_model::observation::{Interval, IntervalMethod};
use plumb_model::probe::Figure;

/// The figure of some blocks; absent without any, or when one of them is no number.
pub fn figure(blocks: &[f64], level: f64) -> Option<Figure> {
    if blocks.is_empty() || blocks.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = blocks.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let interval = quantile_ranks(n as u64, 0.5, level).map(|(low, high)| Interval {
        low: sorted[low as usize - 1],
        high: sorted[high as usize - 1],
        level,
        method: IntervalMethod::OrderStatistics,
    });
    Some(Figure {
        median: median_of_sorted(&sorted)?,
        interval,
        lowest: sorted[0],
        highest: sorted[n - 1],
        blocks: n as u32,
    })
}

/// The figure of blocks that were taken one after the other of the same thing (slices of one flow): what disturbs one disturbs
/// its neighbour, so they say where the middle is and not how sure it is. No interval.
pub fn consecutive(blocks: &[f64]) -> Option<Figure> {
    // The level plays no part in what is left.
    figure(blocks, 0.95).map(|figure| Figure { interval: None, ..figure })
}

/// The ratio of two things of which every round has measured both: the figure of the rounds' ratios.
pub fn ratio(over: &[f64], under: &[f64], level: f64) -> Option<Figure> {
    let ratios: Vec<f64> = over.iter().zip(under).map(|(over, under)| over / under).collect();
    figure(&ratios, level)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of the sign test's interval, as tables print them: 6 blocks 1..6, 11 blocks 2..10, 15 blocks 4..12.
    #[test]
    fn the_interval_lies_between_the_published_ranks() {
        for (n, low, high) in [(6, 1.0, 6.0), (11, 2.0, 10.0), (15, 4.0, 12.0)] {
            let blocks: Vec<f64> = (1..=n).rev().map(f64::from).collect();
            let interval = figure(&blocks, 0.95).unwrap().interval.unwrap();
            assert_eq!((interval.low, interval.high), (low, high), "{n} blocks");
        }
    }

    #[test]
    fn too_few_blocks_have_a_median_and_no_interval() {
        let figure = figure(&[3.0, 1.0, 2.0, 10.0], 0.95).unwrap();
        assert_eq!((figure.median, figure.interval), (2.5, None));
        assert_eq!((figure.lowest, figure.highest, figure.blocks), (1.0, 10.0, 4));
    }

    #[test]
    fn blocks_one_after_the_other_have_a_median_and_no_interval() {
        let blocks: Vec<f64> = (1..=15).map(f64::from).collect();
        let alone = consecutive(&blocks).unwrap();
        assert_eq!((alone.median, alone.lowest, alone.highest, alone.interval), (8.0, 1.0, 15.0, None));
        assert!(figure(&blocks, 0.95).unwrap().interval.is_some());
    }

    #[test]
    fn one_disturbed_block_does_not_move_the_figure() {
        let calm = figure(&[5.0; 9], 0.95).unwrap();
        let disturbed = figure(&[5.0, 5.0, 5.0, 5.0, 0.001, 5.0, 5.0, 5.0, 5.0], 0.95).unwrap();
        assert_eq!(disturbed.median, calm.median);
        assert_eq!(disturbed.lowest, 0.001);
    }

    #[test]
    fn what_is_no_number_is_absent() {
        assert_eq!(figure(&[], 0.95), None);
        assert_eq!(ratio(&[1.0], &[0.0], 0.95), None);
    }

    #[test]
    fn a_ratio_is_that_of_the_rounds() {
        // The machine slows down by half in the middle; the ratio does not notice.
        let ratio = ratio(&[4.0, 4.0, 2.0], &[2.0, 2.0, 1.0], 0.95).unwrap();
        assert_eq!((ratio.median, ratio.lowest, ratio.highest), (2.0, 2.0, 2.0));
    }
}
