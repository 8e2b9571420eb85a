//! Power: the smallest effect that so many pairs or servers can show, and the number needed to show a given effect.
//!
//! By Student's t: the smallest difference is (t(1-alpha/2) + t(power)) standard errors (Zar, Biostatistical Analysis),
//! within 1 % of the noncentral t from 6 pairs on. For pairs, whose test is [`crate::signed_rank`], alpha is what its steps leave
//! of the level asked for, and a pair is worth 0.955: within 2 % of simulated powers of 80 % at normal noise, 7 % where only the
//! two most extreme outcomes are significant. Noise with a heavy tail needs fewer pairs than that; so what is promised is kept.

use crate::law::{normal_quantile, student_quantile};
use crate::signed_rank::{pairs_min, rank_of_interval};

/// 3 / pi: what a signed rank is worth beside a t when noise is normal (Hodges and Lehmann 1956, Annals of Mathematical
/// Statistics 27).
const RANK_EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// More pairs or servers than this are no answer (ours).
const NEEDED_MAX: usize = 1_000_000;

/// The smallest ratio above 1 that `pairs` paired log ratios of standard deviation `sd_log` show with the chance `power`
/// at the two-sided confidence `level`. None with fewer pairs than the level needs, a deviation that is negative or no
/// number, a level outside 0..1 or a power outside 0.5..1.
pub fn detectable_ratio(sd_log: f64, pairs: usize, level: f64, power: f64) -> Option<f64> {
    let (k, tail) = rank_of_interval(pairs, (1.0 - level) / 2.0)?;
    if k == 0 {
        // Only all differences of one sign will do: each has to be above 0 with the chance power^(1/pairs).
        let distance = normal_quantile(power.powf(1.0 / pairs as f64))?;
        return ratio(distance * sd_log).filter(|_| power >= 0.5);
    }
    let errors = standard_errors(pairs as f64 - 1.0, 1.0 - 2.0 * tail, power)?;
    ratio(errors * sd_log / (pairs as f64 * RANK_EFFICIENCY).sqrt())
}

/// Fewest pairs of which [`detectable_ratio`] is at most `ratio` (0.8 and 1.25 are as far from 1). None where a million
/// would not do, and where that is none.
pub fn pairs_needed(sd_log: f64, ratio: f64, level: f64, power: f64) -> Option<usize> {
    fewest(pairs_min(level)?, ratio, |pairs| detectable_ratio(sd_log, pairs, level, power))
}

/// The smallest ratio above 1 that the mean of `units` log ratios of standard deviation `sd_log` shows with the chance
/// `power` by Student's t at the two-sided confidence `level`. None with fewer than two, and as for [`detectable_ratio`].
pub fn detectable_ratio_of_mean(sd_log: f64, units: usize, level: f64, power: f64) -> Option<f64> {
    let freedom = units.checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    ratio(standard_errors(freedom, level, power)? * sd_log / (units as f64).sqrt())
}

/// Fewest units of which [`detectable_ratio_of_mean`] is at most `ratio`. None where a million would not do, and where
/// that is none.
pub fn units_needed_of_mean(sd_log: f64, ratio: f64, level: f64, power: f64) -> Option<usize> {
    fewest(2, ratio, |units| detectable_ratio_of_mean(sd_log, units, level, power))
}

/// The smallest ratio above 1 between two groups of servers whose logarithms have the standard deviation `sd_log` that is
/// shown with the chance `power`. None with fewer servers than a permutation of them needs for the level (both groups
/// of 4 at 95 %), and as for [`detectable_ratio`].
fn detectable_ratio_two_groups(
    sd_log: f64,
    control: usize,
    test: usize,
    level: f64,
    power: f64,
) -> Option<f64> {
    if smallest_p_two_groups(control, test) > 1.0 - level {
        return None;
    }
    let errors = standard_errors((control + test) as f64 - 2.0, level, power)?;
    ratio(errors * sd_log * (1.0 / control as f64 + 1.0 / test as f64).sqrt())
}

/// The smallest ratio above 1 of which an estimate with the standard error `error_log` on `freedom` degrees of freedom is seen with
/// the chance `power`. None without degrees of freedom, and as for [`detectable_ratio`].
pub fn detectable_ratio_by_error(error_log: f64, freedom: f64, level: f64, power: f64) -> Option<f64> {
    ratio(standard_errors(freedom, level, power)? * error_log)
}

/// Fewest servers in each of two equal groups of which [`detectable_ratio_two_groups`] is at most `ratio`. None where a
/// million would not do, and where that is none.
pub fn servers_needed(sd_log: f64, ratio: f64, level: f64, power: f64) -> Option<usize> {
    let least = (2..=NEEDED_MAX).find(|&n| smallest_p_two_groups(n, n) <= 1.0 - level)?;
    fewest(least, ratio, |servers| detectable_ratio_two_groups(sd_log, servers, servers, level, power))
}

/// The smallest two-sided p that exchanging units between two groups can give: 2 over the number of ways to choose one of
/// them, at most 1. Below 4 in each it is above 0.05: no difference of whatever size is significant then.
pub(crate) fn smallest_p_two_groups(a: usize, b: usize) -> f64 {
    let ways = (1..=a.min(b)).map(|i| (a.max(b) + i) as f64 / i as f64).product::<f64>();
    (2.0 / ways).min(1.0)
}

fn standard_errors(freedom: f64, level: f64, power: f64) -> Option<f64> {
    // Below an even chance the second t is negative, and the formula says that nothing at all is seen often enough.
    let domain = level > 0.0 && level < 1.0 && power >= 0.5;
    domain.then_some(())?;
    Some(student_quantile(0.5 + level / 2.0, freedom)? + student_quantile(power, freedom)?)
}

fn ratio(difference: f64) -> Option<f64> {
    (difference >= 0.0 && difference.is_finite()).then(|| difference.exp())
}

/// The smallest n from `least` on whose detectable ratio is at most `target`; detectable ratios fall with n.
fn fewest(least: usize, target: f64, detectable: impl Fn(usize) -> Option<f64>) -> Option<usize> {
    let target = if target < 1.0 { 1.0 / target } else { target };
    let enough = |n: usize| detectable(n).map(|ratio| ratio <= target);
    let mut above = least;
    while !enough(above)? {
        if above >= NEEDED_MAX {
            return None;
        }
        above = (above * 2).min(NEEDED_MAX);
    }
    let mut below = least;
    while below < above {
        let middle = below + (above - below) / 2;
        if enough(middle)? {
            above = middle;
        } else {
            below = middle + 1;
        }
    }
    Some(above)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (t + t) s sqrt(2 / N), worked out apart from this code with SciPy's `t.ppf`.
    #[test]
    fn two_groups_of_servers_show_what_the_table_says() {
        let table = [
            (0.2, [(5, 1.498), (10, 1.303), (20, 1.199), (50, 1.120), (100, 1.083)]),
            (0.3, [(5, 1.833), (10, 1.488), (20, 1.314), (50, 1.185), (100, 1.127)]),
        ];
        for (sd, row) in table {
            for (servers, published) in row {
                let ratio = detectable_ratio_two_groups(sd, servers, servers, 0.95, 0.8).unwrap();
                assert!((ratio - published).abs() < 1.5e-3, "sd {sd}, {servers}: {ratio}");
            }
        }
    }

    /// Simulated apart from this code with NumPy: the shift of normal differences of standard deviation 1 that the exact
    /// signed-rank test shows in 80 % of 40,000 trials.
    #[test]
    fn so_many_pairs_show_what_simulations_say() {
        for (pairs, level, simulated) in [
            (6, 0.95, 1.796),
            (7, 0.95, 1.327),
            (8, 0.95, 1.249),
            (10, 0.95, 1.019),
            (12, 0.95, 0.932),
            (20, 0.95, 0.680),
            (30, 0.95, 0.542),
            (6, 0.90, 1.234),
            (12, 0.90, 0.800),
            (8, 0.99, 1.922),
            (12, 0.99, 1.211),
        ] {
            let ours = detectable_ratio(1.0, pairs, level, 0.8).unwrap().ln();
            assert!((ours / simulated - 1.0).abs() < 0.02, "{pairs} pairs at {level}: {ours}");
        }
    }

    #[test]
    fn so_many_pairs_as_needed_show_it_and_one_less_do_not() {
        for sd in [0.02, 0.1, 0.4] {
            for ratio in [1.03, 1.1, 0.8] {
                let pairs = pairs_needed(sd, ratio, 0.95, 0.8).unwrap();
                let target = f64::max(ratio, 1.0 / ratio);
                assert!(detectable_ratio(sd, pairs, 0.95, 0.8).unwrap() <= target, "{sd} {ratio} {pairs}");
                let fewer = detectable_ratio(sd, pairs - 1, 0.95, 0.8);
                assert!(fewer.is_none_or(|fewer| fewer > target), "{sd} {ratio} {pairs}");
            }
        }
        let servers = servers_needed(0.3, 1.5, 0.95, 0.8).unwrap();
        assert!(detectable_ratio_two_groups(0.3, servers, servers, 0.95, 0.8).unwrap() <= 1.5);
        assert!(detectable_ratio_two_groups(0.3, servers - 1, servers - 1, 0.95, 0.8).unwrap() > 1.5);
    }

    /// Quantiles of Student's t with 5 degrees of freedom from tables: 2.570582 (0.975) and 0.919544 (0.8).
    #[test]
    fn a_mean_of_few_units_shows_what_students_t_says() {
        let ratio = detectable_ratio_of_mean(0.1, 6, 0.95, 0.8).unwrap();
        assert!((ratio.ln() - (2.570_582 + 0.919_544) * 0.1 / 6.0f64.sqrt()).abs() < 1e-5, "{ratio}");
        assert_eq!(units_needed_of_mean(0.1, ratio * 1.000_001, 0.95, 0.8), Some(6));
        assert_eq!(units_needed_of_mean(0.1, ratio * 0.999, 0.95, 0.8), Some(7));
        assert_eq!(detectable_ratio_of_mean(0.1, 1, 0.95, 0.8), None);
    }

    #[test]
    fn without_noise_the_fewest_that_the_level_allows_are_enough() {
        assert_eq!(pairs_needed(0.0, 1.01, 0.95, 0.8), Some(6));
        assert_eq!(servers_needed(0.0, 1.01, 0.95, 0.8), Some(4));
    }

    #[test]
    fn no_number_of_pairs_shows_a_ratio_of_1() {
        assert_eq!(pairs_needed(0.1, 1.0, 0.95, 0.8), None);
        assert_eq!(pairs_needed(f64::NAN, 1.1, 0.95, 0.8), None);
        assert_eq!(pairs_needed(0.1, 1.1, 0.95, 0.2), None);
        assert_eq!(pairs_needed(0.1, 1.1, 1.0, 0.8), None);
        assert_eq!(detectable_ratio(0.1, 5, 0.95, 0.8), None);
        assert_eq!(detectable_ratio(-0.1, 12, 0.95, 0.8), None);
    }

    /// 2 / C(2n, n) (benchstat's table of the smallest p of n against n).
    #[test]
    fn three_servers_against_three_cannot_reach_5_percent() {
        for (n, p) in [(3, 0.1), (4, 0.028_57), (5, 0.007_94), (6, 0.002_16)] {
            assert!((smallest_p_two_groups(n, n) - p).abs() < 1e-5, "{n}");
        }
        assert_eq!(detectable_ratio_two_groups(0.1, 3, 3, 0.95, 0.8), None);
        assert_eq!(smallest_p_two_groups(0, 5), 1.0);
    }
}
