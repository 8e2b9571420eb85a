//! Two settings over paired blocks: by ranks ([`rank_ratio`], for trials) or by Student's t ([`paired_ratio`], for as few
//! as three pairs), both on the differences of logarithms.
//!
//! The block is the unit, never the message: messages of one block share its moment, its clients and its placement, and
//! pooling them finds differences between equal settings in more than half of all trials.

use crate::law::{student_quantile, student_two_sided};
use crate::signed_rank::{hodges_lehmann, signed_rank};

/// Fewest pairs from which a comparison is made (ours): with 2 pairs t is 12.7 at 95 %, and any interval is useless.
pub const PAIRS_MIN: usize = 3;

/// Chance of seeing a ratio of the size of [`PairedRatio::smallest_detectable_ratio`].
pub const POWER: f64 = 0.8;

/// The values of two settings in one pair of blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The value of the first setting, the denominator of a ratio.
    pub a: f64,
    /// The value of the second one.
    pub b: f64,
}

/// Paired Student's t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedT {
    /// Mean of the differences.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// Mean over its standard error; 0 when all differences are 0, infinite when all are the same other number.
    pub t: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Two-sided p.
    pub p: f64,
    /// Lower end of the interval of the mean.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The ratio of b to a over paired blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// b / a: the geometric mean over the pairs.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p of a ratio other than 1, not adjusted for other comparisons.
    pub p: f64,
    /// The smallest ratio above 1 that so many pairs of this spread show with a chance of [`POWER`].
    pub smallest_detectable_ratio: f64,
    /// Pairs compared.
    pub pairs: usize,
}

/// The ratio of b to a over paired blocks, by ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankRatio {
    /// b / a: the Hodges-Lehmann estimate over the pairs.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence that the interval really has: at least the level asked for, as ranks come in steps.
    pub level_reached: f64,
    /// Two-sided p of a ratio other than 1, exact over the order within pairs, not adjusted for other comparisons.
    pub p: f64,
    /// Pairs compared.
    pub pairs: usize,
}

/// The ratio b / a over pairs (a, b) of positive values, by ranks: the Hodges-Lehmann estimate of ln b - ln a with its
/// interval and the signed-rank p (see [`crate::signed_rank`]). None with fewer pairs than the level needs
/// ([`crate::signed_rank::pairs_min`]: 6 at 95 %), a value that is not positive, or a level outside 0..1.
pub fn rank_ratio(pairs: &[Pair], level: f64) -> Option<RankRatio> {
    let logs = log_ratios(pairs)?;
    let location = hodges_lehmann(&logs, level)?;
    Some(RankRatio {
        ratio: location.estimate.exp(),
        low: location.low.exp(),
        high: location.high.exp(),
        level_reached: location.level_reached,
        p: signed_rank(&logs)?.p_two_sided,
        pairs: pairs.len(),
    })
}

/// Paired t of differences at a confidence level; none with fewer than 2 of them or one that is not finite.
pub fn paired_t(differences: &[f64], level: f64) -> Option<PairedT> {
    let n = differences.len() as f64;
    if differences.len() < 2 || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let freedom = n - 1.0;
    let mean = differences.iter().sum::<f64>() / n;
    let sd = standard_deviation(differences)?;
    let error = sd / n.sqrt();
    let t = if mean == 0.0 { 0.0 } else { mean / error };
    let reach = student_quantile(0.5 + level / 2.0, freedom)? * error;
    let p = student_two_sided(t, freedom)?;
    Some(PairedT { mean, sd, t, freedom, p, low: mean - reach, high: mean + reach })
}

/// The ratio b / a over pairs (a, b) of positive values at a confidence level; none with fewer than [`PAIRS_MIN`] pairs
/// or a value that is not positive.
pub fn paired_ratio(pairs: &[Pair], level: f64) -> Option<PairedRatio> {
    if pairs.len() < PAIRS_MIN {
        return None;
    }
    let logs = log_ratios(pairs)?;
    let t = paired_t(&logs, level)?;
    let detectable = smallest_detectable_difference(pairs.len(), t.sd, 1.0 - level)?;
    Some(PairedRatio {
        ratio: t.mean.exp(),
        low: t.low.exp(),
        high: t.high.exp(),
        p: t.p,
        smallest_detectable_ratio: detectable.exp(),
        pairs: pairs.len(),
    })
}

/// The smallest mean difference that a paired t over `pairs` differences of standard deviation `sd` shows with a chance
/// of [`POWER`] at the two-sided level `alpha`: (t(1-alpha/2) + t(power)) * sd / sqrt(pairs).
pub fn smallest_detectable_difference(pairs: usize, sd: f64, alpha: f64) -> Option<f64> {
    let freedom = pairs.checked_sub(1)? as f64;
    let reach = student_quantile(1.0 - alpha / 2.0, freedom)? + student_quantile(POWER, freedom)?;
    Some(reach * sd / (pairs as f64).sqrt())
}

/// ln(b / a) of each pair; none with a value that is not positive, or so far apart that the ratio is no number.
fn log_ratios(pairs: &[Pair]) -> Option<Vec<f64>> {
    let log =
        |&Pair { a, b }: &Pair| (a > 0.0 && b > 0.0).then(|| (b / a).ln()).filter(|log| log.is_finite());
    pairs.iter().map(log).collect()
}

/// Standard deviation with n - 1; none of fewer than two values, or where it is no number.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(variance.sqrt()).filter(|sd| values.len() >= 2 && sd.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn pairs<const N: usize>(values: [[f64; 2]; N]) -> [Pair; N] {
        values.map(|[a, b]| Pair { a, b })
    }

    /// R: `with(sleep, t.test(extra[group == 1], extra[group == 2], paired = TRUE))`, data of Cushny and Peebles 1905
    /// as used by Student 1908: t = -4.0621, df = 9, p = 0.002833, interval -2.4598858 .. -0.7001142.
    #[test]
    fn the_sleep_data_give_the_t_of_r() {
        let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let differences: Vec<f64> = one.iter().zip(two).map(|(a, b)| a - b).collect();
        let result = paired_t(&differences, 0.95).unwrap();
        assert!((result.t - -4.062_128).abs() < 1e-6, "{result:?}");
        assert!((result.p - 0.002_832_89).abs() < 1e-8, "{result:?}");
        assert!((result.low - -2.459_886).abs() < 1e-6, "{result:?}");
        assert!((result.high - -0.700_114_2).abs() < 1e-6, "{result:?}");
    }

    /// n = ((t(1-alpha/2) + t(power)) * s / delta)^2 (Zar, Biostatistical Analysis), solved apart from this code.
    #[test]
    fn smallest_detectable_ratios_are_those_of_the_power_table() {
        let table = [
            (0.05, [(8, 1.059), (12, 1.045), (20, 1.034), (30, 1.027)]),
            (0.10, [(8, 1.122), (12, 1.093), (20, 1.068), (30, 1.054)]),
            (0.20, [(8, 1.259), (12, 1.194), (20, 1.141), (30, 1.112)]),
        ];
        for (sd, row) in table {
            for (pairs, ratio) in row {
                let ours = smallest_detectable_difference(pairs, sd, 0.05).unwrap().exp();
                assert!((ours - ratio).abs() < 6e-4, "sd {sd}, {pairs} pairs: {ours}, table {ratio}");
            }
        }
    }

    #[test]
    fn equal_blocks_have_ratio_1_and_p_1() {
        let result = paired_ratio(&pairs([[5.0, 5.0], [6.0, 6.0], [7.0, 7.0]]), 0.95).unwrap();
        assert_eq!((result.ratio, result.p), (1.0, 1.0));
    }

    #[test]
    fn the_same_factor_in_every_block_is_certain() {
        let result = paired_ratio(&pairs([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]]), 0.95).unwrap();
        assert_eq!((result.ratio, result.p), (2.0, 0.0));
    }

    #[test]
    fn two_pairs_or_a_value_of_zero_give_no_ratio() {
        assert_eq!(paired_ratio(&pairs([[1.0, 2.0]; 2]), 0.95), None);
        assert_eq!(paired_ratio(&pairs([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]]), 0.95), None);
    }

    #[test]
    fn ranks_give_the_ratio_that_is_there_and_one_stalled_block_does_not_move_it_far() {
        let mut random = Random::new(21);
        let mut pairs: Vec<Pair> = (0..12)
            .map(|_| {
                let shared = (0.5 * random.normal()).exp();
                Pair { a: 4.9e6 * shared, b: 0.25 * 4.9e6 * shared * (0.02 * random.normal()).exp() }
            })
            .collect();
        let calm = rank_ratio(&pairs, 0.95).unwrap();
        assert!(calm.low <= 0.25 && 0.25 <= calm.high && calm.high / calm.low < 1.05, "{calm:?}");
        assert!((calm.p - 2.0 / 4096.0).abs() < 1e-12, "{calm:?}");
        pairs[5].b *= 1_000.0;
        let stalled = rank_ratio(&pairs, 0.95).unwrap();
        assert!((stalled.ratio / calm.ratio).ln().abs() < 0.02, "{stalled:?}");
        assert!(stalled.high < 0.5, "{stalled:?}");
    }

    #[test]
    fn ranks_say_nothing_of_five_pairs_at_95_percent() {
        assert_eq!(rank_ratio(&pairs([[1.0, 2.0]; 5]), 0.95), None);
        assert_eq!(rank_ratio(&pairs([[1.0, 2.0]; 6]), 0.95).unwrap().ratio, 2.0);
        assert_eq!(rank_ratio(&pairs([[1.0, 0.0]; 6]), 0.95), None);
        assert_eq!(rank_ratio(&pairs([[1.0, f64::INFINITY]; 6]), 0.95), None);
        let equal = rank_ratio(&pairs([[3.0, 3.0]; 6]), 0.95).unwrap();
        assert_eq!((equal.ratio, equal.low, equal.high, equal.p), (1.0, 1.0, 1.0, 1.0));
    }

    /// Share of trials whose interval holds the true ratio, when blocks share a disturbance that both settings see.
    fn coverage(trials: u32, pairs: usize, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let truth: f64 = 1.25;
        let hits = (0..trials)
            .filter(|_| {
                let blocks: Vec<Pair> = (0..pairs)
                    .map(|_| {
                        let shared = 0.5 * random.normal();
                        let a = (shared + 0.1 * random.normal()).exp();
                        let b = truth * (shared + 0.1 * random.normal()).exp();
                        Pair { a, b }
                    })
                    .collect();
                let result = paired_ratio(&blocks, 0.95).unwrap();
                result.low <= truth && truth <= result.high
            })
            .count();
        hits as f64 / f64::from(trials)
    }

    #[test]
    fn intervals_of_the_ratio_hold_the_truth_as_often_as_they_say() {
        let share = coverage(1_000, 6, 11);
        assert!((0.93..=0.97).contains(&share), "{share}");
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn intervals_of_the_ratio_hold_the_truth_in_long_simulations() {
        for pairs in [3, 5, 12] {
            let share = coverage(40_000, pairs, 12);
            assert!((0.945..=0.955).contains(&share), "{pairs} pairs: {share}");
        }
    }
}
