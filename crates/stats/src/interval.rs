//! Confidence intervals of means and quantiles.
//!
//! A mean gets Student's t over block means, or, with fewer than three blocks, over means of consecutive batches of the
//! run. A quantile gets the order statistics that enclose it, found with the binomial law on the effective sample size:
//! neighbouring messages see the same queue, so ten thousand of them may be worth a thousand.

use crate::histogram::Histogram;
use crate::law::{binomial_at_most, binomial_quantile, student_quantile};
use crate::median::median;
use plumb_model::observation::{Interval, IntervalMethod, SecondLatency, SecondRow};

/// Fewest blocks for an interval over block means (ours): two give t = 12.7 at 95 %, an interval nine times as wide as
/// the blocks are apart, which says nothing.
pub const BLOCKS_MIN: usize = 3;

/// Fewest batches for an interval over batch means (Schmeiser 1982, Operations Research 30: 10 to 30 are right).
const BATCHES_MIN: usize = 10;

/// Most batches: longer series are joined until at most so many are left, so that batches hardly depend on each other.
const BATCHES_MAX: usize = 30;

/// Consecutive samples of one block, as a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Batch {
    /// The number of its block; batches of different blocks are never joined.
    pub block: u32,
    /// Samples in it.
    pub samples: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their median, where there were samples enough.
    pub p50_ns: Option<u64>,
}

/// The data that an interval rests on: block means and consecutive batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread<'a> {
    /// Confidence level of the intervals, 0..1.
    pub level: f64,
    /// Mean of each block; empty when the samples are of one block.
    pub block_means_ns: &'a [f64],
    /// Consecutive batches, in time order within each block.
    pub batches: &'a [Batch],
}

/// The measured seconds of a step as batches; `latency` picks which of a second's latencies.
pub fn batches(series: &[SecondRow], latency: fn(&SecondRow) -> &SecondLatency) -> Vec<Batch> {
    let measured = series.iter().filter(|row| !row.warm_up);
    let batch = |row: &SecondRow| {
        let second = latency(row);
        let mean_ns = second.mean_ns.filter(|mean| mean.is_finite())?;
        (second.samples > 0).then_some(Batch {
            block: row.block,
            samples: second.samples,
            mean_ns,
            p50_ns: second.p50_ns,
        })
    };
    measured.filter_map(batch).collect()
}

/// Interval of the mean: over block means if there are at least [`BLOCKS_MIN`], else over batch means if there are at
/// least [`BATCHES_MIN`], else none. Times are not below zero, so neither is the interval.
pub fn mean_interval(spread: &Spread) -> Option<Interval> {
    if spread.block_means_ns.len() >= BLOCKS_MIN {
        return student(spread.block_means_ns, spread.level, IntervalMethod::Blocks);
    }
    let batches = chunks(spread.batches);
    if batches.len() < BATCHES_MIN {
        return None;
    }
    weighted_student(&batches, spread.level)
}

/// Samples that independent draws would need to know the mean as well: samples / max(1, design effect).
///
/// The design effect is the variance of batch means over what it would be for independent samples, or the same of
/// batch medians if that is larger (a tail that dominates the variance hides what the middle does). With too few
/// batches to tell, the samples count as they are.
pub(crate) fn effective_samples(histogram: &Histogram, batches: &[Batch]) -> f64 {
    let effect = mean_design_effect(histogram, batches).unwrap_or(1.0);
    let effect = effect.max(median_design_effect(histogram, batches).unwrap_or(1.0)).max(1.0);
    (histogram.samples() as f64 / effect).max(1.0)
}

/// Interval of a quantile: the samples whose ranks enclose it with at least the level's probability. None when the
/// effective sample size is too small for such ranks to exist.
pub(crate) fn quantile_interval(
    histogram: &Histogram,
    quantile: f64,
    effective: f64,
    level: f64,
) -> Option<Interval> {
    let n = effective.floor() as u64;
    let (low, high) = quantile_ranks(n, quantile, level)?;
    let scale = histogram.samples() as f64 / n as f64;
    // Ranks among the effective samples, as ranks among all: outward, so that nothing is promised that is not there.
    let low_rank = (low as f64 * scale).floor().max(1.0) as u64;
    let high_rank = (high as f64 * scale).ceil().min(histogram.samples() as f64) as u64;
    Some(Interval {
        low: histogram.at_rank(low_rank)? as f64,
        high: histogram.at_rank(high_rank)? as f64,
        level,
        method: IntervalMethod::OrderStatistics,
    })
}

/// A quantile's interval that also holds what the blocks' own quantiles span: a stall in one block of three is not seen among the messages of
/// the other two, and another run would have it or not. With too few blocks for order statistics of their median at this level, all of them count.
pub fn over_blocks(interval: Interval, block_quantiles_ns: &[u64]) -> Interval {
    let mut sorted = block_quantiles_ns.to_vec();
    sorted.sort_unstable();
    let n = sorted.len();
    if n < BLOCKS_MIN {
        return interval;
    }
    let (low, high) = quantile_ranks(n as u64, 0.5, interval.level).unwrap_or((1, n as u64));
    let at = |rank: u64| sorted[rank as usize - 1] as f64;
    Interval { low: interval.low.min(at(low)), high: interval.high.max(at(high)), ..interval }
}

/// Ranks (1 is the smallest of `n`) that enclose the quantile with at least the level's probability, each side with at
/// most half of the rest. None when the sample is too small (for p99 at 95 %: below 368).
pub(crate) fn quantile_ranks(n: u64, quantile: f64, level: f64) -> Option<(u64, u64)> {
    let tail = (1.0 - level) / 2.0;
    // The quantile lies below rank r with the probability that fewer than r of n samples are below it.
    let least = binomial_quantile(tail, n, quantile)?;
    let low = if binomial_at_most(least, n, quantile)? <= tail { least + 1 } else { least };
    let high = binomial_quantile(1.0 - tail, n, quantile)? + 1;
    (low >= 1 && high <= n).then_some((low, high))
}

fn student(means: &[f64], level: f64, method: IntervalMethod) -> Option<Interval> {
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let reach = student_quantile(0.5 + level / 2.0, n - 1.0)? * (variance(means)? / n).sqrt();
    let interval = Interval { low: (mean - reach).max(0.0), high: mean + reach, level, method };
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

fn variance(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.len() >= 2).then(|| values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Interval of the mean over all samples, from batches of different sizes: the ratio estimator, each batch weighing what
/// it holds (Cochran 1977, Sampling Techniques, 6.3). So the interval lies around the mean that is reported, and the few
/// slow samples of a stall count as what they are.
fn weighted_student(batches: &[Batch], level: f64) -> Option<Interval> {
    let k = batches.len() as f64;
    let samples: f64 = batches.iter().map(|batch| batch.samples as f64).sum();
    let mean = batches.iter().map(|batch| batch.mean_ns * batch.samples as f64).sum::<f64>() / samples;
    let squares = |batch: &Batch| (batch.samples as f64 * k / samples * (batch.mean_ns - mean)).powi(2);
    let variance = batches.iter().map(squares).sum::<f64>() / (k * (k - 1.0));
    let reach = student_quantile(0.5 + level / 2.0, k - 1.0)? * variance.sqrt();
    let interval =
        Interval { low: (mean - reach).max(0.0), high: mean + reach, level, method: IntervalMethod::Batches };
    (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
}

/// Neighbours within each block joined, so that at most about [`BATCHES_MAX`] are left in all.
fn chunks(batches: &[Batch]) -> Vec<Batch> {
    let each = batches.len().div_ceil(BATCHES_MAX).max(1);
    let blocks = batches.chunk_by(|a, b| a.block == b.block);
    blocks.flat_map(|block| block.chunks(each)).map(join).collect()
}

/// The same, of about equal sizes.
fn joined(batches: &[Batch]) -> Vec<Batch> {
    let mut joined = chunks(batches);
    // A remainder, or a second cut short, would count as much as a whole batch: below half the usual it is left out.
    let usual = median(joined.iter().map(|batch| batch.samples as f64)).unwrap_or(0.0);
    joined.retain(|batch| batch.samples as f64 >= usual / 2.0);
    joined
}

fn join(part: &[Batch]) -> Batch {
    let samples: u64 = part.iter().map(|batch| batch.samples).sum();
    let sum: f64 = part.iter().map(|batch| batch.mean_ns * batch.samples as f64).sum();
    let p50_ns = if part.len() == 1 { part[0].p50_ns } else { None };
    Batch { block: part[0].block, samples, mean_ns: sum / samples as f64, p50_ns }
}

fn mean_design_effect(histogram: &Histogram, batches: &[Batch]) -> Option<f64> {
    let joined = joined(batches);
    if joined.len() < BATCHES_MIN {
        return None;
    }
    let means: Vec<f64> = joined.iter().map(|batch| batch.mean_ns).collect();
    let size = joined.iter().map(|batch| batch.samples as f64).sum::<f64>() / joined.len() as f64;
    let sample_variance = histogram.variance().filter(|&v| v > 0.0)?;
    Some(size * variance(&means)? / sample_variance)
}

/// A batch of m independent samples has a median that strays by about half the distance between the quantiles
/// 0.5 - 1/(2 sqrt m) and 0.5 + 1/(2 sqrt m) of the whole.
fn median_design_effect(histogram: &Histogram, batches: &[Batch]) -> Option<f64> {
    let medians: Vec<f64> = batches.iter().filter_map(|batch| batch.p50_ns).map(|p50| p50 as f64).collect();
    if medians.len() < BATCHES_MIN {
        return None;
    }
    let with_median = batches.iter().filter(|batch| batch.p50_ns.is_some());
    let size = with_median.map(|batch| batch.samples as f64).sum::<f64>() / medians.len() as f64;
    let reach = 0.5 / size.sqrt();
    let above = histogram.at_quantile(0.5 + reach)? as f64;
    let below = histogram.at_quantile(0.5 - reach)? as f64;
    let independent = ((above - below) / 2.0).powi(2);
    (independent > 0.0).then_some(variance(&medians)? / independent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const NO_SPREAD: Spread = Spread { level: 0.95, block_means_ns: &[], batches: &[] };

    /// Ranks and confidence of the binomial interval, computed apart with exact binomial sums.
    #[test]
    fn quantile_ranks_are_those_of_the_binomial_law() {
        for (n, q, low, high, confidence) in [
            (100, 0.5, 40, 61, 0.964_80),
            (1_000, 0.99, 983, 997, 0.976_09),
            (10_000, 0.99, 9_880, 9_920, 0.955_75),
            (100_000, 0.999, 99_880, 99_920, 0.954_79),
        ] {
            assert_eq!(quantile_ranks(n, q, 0.95), Some((low, high)), "n {n}, q {q}");
            let held = binomial_at_most(high - 1, n, q).unwrap() - binomial_at_most(low - 1, n, q).unwrap();
            assert!((held - confidence).abs() < 1e-4, "n {n}, q {q}: {held}");
        }
    }

    #[test]
    fn an_interval_over_blocks_holds_what_one_block_of_three_alone_had() {
        let pooled =
            Interval { low: 7.94e9, high: 8.0e9, level: 0.95, method: IntervalMethod::OrderStatistics };
        let over = |blocks: &[u64]| {
            let interval = over_blocks(pooled, blocks);
            (interval.low, interval.high)
        };
        assert_eq!(over(&[39_000_000, 24_000_000, 8_028_000_000]), (24e6, 8.028e9));
        assert_eq!(over(&[24_000_000, 8_028_000_000]), (7.94e9, 8.0e9), "two blocks tell no spread");
        // Of ten, the second and the ninth enclose the median at 95 %.
        let ten: Vec<u64> = (1..=10).map(|i| i * 1_000_000_000).collect();
        assert_eq!(over(&ten), (2e9, 9e9));
    }

    /// 0.99^n <= 0.025 from n = 368 on: below that the largest sample is no upper end.
    #[test]
    fn a_p99_has_an_interval_from_368_samples_on() {
        assert_eq!(quantile_ranks(367, 0.99, 0.95), None);
        assert!(quantile_ranks(368, 0.99, 0.95).is_some());
        assert_eq!(quantile_ranks(0, 0.99, 0.95), None);
    }

    /// By hand: mean 5.2, standard deviation 0.291548, t(0.975, 4) = 2.776445 from the printed table.
    #[test]
    fn block_means_give_students_interval() {
        let spread = Spread { block_means_ns: &[5.1, 4.9, 5.6, 5.0, 5.4], ..NO_SPREAD };
        let interval = mean_interval(&spread).unwrap();
        assert!((interval.low - 4.838).abs() < 1e-3 && (interval.high - 5.562).abs() < 1e-3, "{interval:?}");
        assert_eq!(interval.method, IntervalMethod::Blocks);
    }

    #[test]
    fn two_blocks_fall_back_to_batches_and_few_batches_to_nothing() {
        let batch =
            |i: u32| Batch { block: i / 10, samples: 100, mean_ns: 5.0 + f64::from(i % 3), p50_ns: None };
        let twenty: Vec<Batch> = (0..20).map(batch).collect();
        let spread = Spread { block_means_ns: &[5.0, 6.0], batches: &twenty, level: 0.95 };
        assert_eq!(mean_interval(&spread).unwrap().method, IntervalMethod::Batches);
        assert_eq!(mean_interval(&Spread { batches: &twenty[..9], ..spread }), None);
    }

    #[test]
    fn an_interval_of_times_does_not_reach_below_zero() {
        let spread = Spread { block_means_ns: &[1.0, 100.0, 1.0], ..NO_SPREAD };
        assert_eq!(mean_interval(&spread).unwrap().low, 0.0);
    }

    #[test]
    fn the_interval_lies_around_the_mean_of_all_samples() {
        // 100/s at 10 ms, then 1,000/s at 2 ms: the mean of the samples is 2.7 ms, that of the seconds 5.9 ms.
        let slow = (0..15).map(|_| Batch { block: 0, samples: 100, mean_ns: 10e6, p50_ns: None });
        let fast = (0..15).map(|_| Batch { block: 0, samples: 1_000, mean_ns: 2e6, p50_ns: None });
        let batches: Vec<Batch> = slow.chain(fast).collect();
        let interval =
            mean_interval(&Spread { level: 0.95, block_means_ns: &[], batches: &batches }).unwrap();
        let mean = (15.0 * 100.0 * 10e6 + 15.0 * 1_000.0 * 2e6) / (15.0 * 1_100.0);
        assert!(((interval.low + interval.high) / 2.0 - mean).abs() < 1.0, "{interval:?}");
        assert!(interval.high - interval.low > 0.5e6, "{interval:?}");
    }

    #[test]
    fn batches_of_different_blocks_are_never_joined() {
        let batch = |i: u32| Batch { block: i / 50, samples: 1, mean_ns: f64::from(i / 50), p50_ns: None };
        let many: Vec<Batch> = (0..100).map(batch).collect();
        let joined = joined(&many);
        assert!(joined.len() <= BATCHES_MAX, "{}", joined.len());
        assert!(joined.iter().all(|batch| batch.mean_ns == f64::from(batch.block)));
    }

    #[test]
    fn a_batch_cut_short_is_left_out() {
        let batch = |i: u32| Batch {
            block: 0,
            samples: if i == 19 { 3 } else { 100 },
            mean_ns: if i == 19 { 1e9 } else { 5.0 },
            p50_ns: None,
        };
        let joined = joined(&(0..20).map(batch).collect::<Vec<_>>());
        assert_eq!(joined.len(), 19);
        assert!(joined.iter().all(|batch| batch.mean_ns == 5.0));
    }

    #[test]
    fn the_warm_up_makes_no_batches() {
        let row = |second: u32, warm_up: bool| SecondRow {
            second,
            warm_up,
            end_to_end: SecondLatency { samples: 10, mean_ns: Some(7.0), ..SecondLatency::default() },
            ..SecondRow::default()
        };
        let made = batches(&[row(0, true), row(1, false), SecondRow::default()], |row| &row.end_to_end);
        assert_eq!(made, [Batch { block: 0, samples: 10, mean_ns: 7.0, p50_ns: None }]);
    }

    /// Log-normal samples around a level that wanders from sample to sample as AR(1).
    fn wandering(n: u64, phi: f64, random: &mut Random) -> (Histogram, Vec<Batch>) {
        let per_batch = 100;
        let (mut histogram, mut batches, mut level) = (Histogram::new(), Vec::new(), 0.0);
        for _ in 0..n / per_batch {
            let mut part: Vec<i64> = Vec::new();
            for _ in 0..per_batch {
                level = phi * level + (1.0 - phi * phi).sqrt() * random.normal();
                part.push((1e6 * (0.5 * level).exp()) as i64);
            }
            part.iter().for_each(|&time| histogram.record_ns(time));
            part.sort_unstable();
            batches.push(Batch {
                block: 0,
                samples: per_batch,
                mean_ns: part.iter().sum::<i64>() as f64 / per_batch as f64,
                p50_ns: Some(part[per_batch as usize / 2 - 1] as u64),
            });
        }
        (histogram, batches)
    }

    #[test]
    fn independent_samples_count_almost_in_full_and_correlated_ones_far_less() {
        let mut random = Random::new(3);
        let (histogram, batches) = wandering(10_000, 0.0, &mut random);
        let independent = effective_samples(&histogram, &batches);
        assert!(independent > 5_000.0, "{independent}");
        let (histogram, batches) = wandering(10_000, 0.9, &mut random);
        let correlated = effective_samples(&histogram, &batches);
        // For a mean under AR(1), n (1 - phi) / (1 + phi) = 526.
        assert!((200.0..1_000.0).contains(&correlated), "{correlated}");
    }

    /// Shares of trials in which the intervals of mean, p50 and p99 hold the true values.
    fn coverage(trials: u32, phi: f64, seed: u64) -> [f64; 3] {
        let mut random = Random::new(seed);
        let (mean, p50, p99) = (1e6 * 0.125f64.exp(), 1e6, 1e6 * (0.5f64 * 2.326_347_9).exp());
        let mut held = [0; 3];
        for _ in 0..trials {
            let (histogram, batches) = wandering(10_000, phi, &mut random);
            let effective = effective_samples(&histogram, &batches);
            let holds = |quantile: f64, truth: f64| {
                quantile_interval(&histogram, quantile, effective, 0.95)
                    .is_some_and(|interval| interval.low <= truth && truth <= interval.high)
            };
            let interval = mean_interval(&Spread { batches: &batches, ..NO_SPREAD }).unwrap();
            held[0] += u32::from(interval.low <= mean && mean <= interval.high);
            held[1] += u32::from(holds(0.5, p50));
            held[2] += u32::from(holds(0.99, p99));
        }
        held.map(|count| f64::from(count) / f64::from(trials))
    }

    #[test]
    fn intervals_hold_the_truth_though_neighbours_are_correlated() {
        for (phi, seed) in [(0.0, 21), (0.8, 22)] {
            let [mean, p50, p99] = coverage(100, phi, seed);
            assert!(mean >= 0.88 && p50 >= 0.9 && p99 >= 0.9, "phi {phi}: {mean}, {p50}, {p99}");
        }
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn intervals_hold_the_truth_in_long_simulations() {
        for (phi, seed) in [(0.0, 31), (0.5, 32), (0.9, 33)] {
            let [mean, p50, p99] = coverage(2_000, phi, seed);
            assert!(mean >= 0.93 && p50 >= 0.93 && p99 >= 0.93, "phi {phi}: {mean}, {p50}, {p99}");
        }
    }
}
