//! Two groups that are not paired, by ranks: Mann and Whitney's test and the shift between the groups.
//!
//! For blocks of two runs, servers of two groups: whatever has no partner. Where it has one, [`crate::signed_rank`] sees
//! smaller differences. Not for messages: those of one block share its moment.

use crate::law::{normal_at_most, normal_quantile};
use crate::selection::{self, kth_smallest};
use crate::signed_rank::Location;

/// Most steps that writing out the null distribution may take (ours): up to about 50 values in each group without ties.
const EXACT_STEPS_MAX: usize = 30_000_000;

/// The rank-sum test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSum {
    /// Pairs in which b's value is the larger, equal ones as a half.
    pub u: f64,
    /// Chance of a U as far from the middle, on either side: twice the smaller one-sided p, at most 1.
    pub p_two_sided: f64,
    /// Chance of a U as large: small where b lies above a.
    pub p_greater: f64,
    /// Chance of a U as small: small where b lies below a.
    pub p_less: f64,
}

/// The rank-sum test of b against a; none with an empty group or a value that is not finite.
///
/// U = pairs with b > a (Mann and Whitney 1947, Annals of Mathematical Statistics 18), tied values at their middle rank.
/// Exact over all ways to choose the group, with ties as well, up to about 50 values in each; beyond that the normal law with
/// the corrections for ties and continuity. How small p can be at all: [`crate::power::smallest_p_two_groups`].
pub fn rank_sum(a: &[f64], b: &[f64]) -> Option<RankSum> {
    let pooled = Pooled::new(a, b)?;
    let (p_less, p_greater) = pooled.exact_tails().unwrap_or_else(|| pooled.normal_tails());
    Some(RankSum { u: pooled.u(), p_two_sided: (2.0 * p_less.min(p_greater)).min(1.0), p_greater, p_less })
}

/// The shift from a to b: the median of all differences b - a, with its interval at a level in 0..1 (Hodges and Lehmann 1963,
/// Annals of Mathematical Statistics 34). None where so few values cannot reach the level (4 against 4 at 95 %), with an empty
/// group or a value that is not finite.
///
/// With D the ordered differences, M of them, the interval is D(k+1) .. D(M-k), with the largest k for which
/// P(U <= k) <= (1 - level) / 2 without ties; with ties it is wider than need be. Takes it that the groups differ by a
/// shift alone.
pub fn shift(a: &[f64], b: &[f64], level: f64) -> Option<Location> {
    let differences = Differences::new(a, b)?;
    let (k, tail) = rank_of_interval(a.len(), b.len(), (1.0 - level) / 2.0)?;
    Some(Location {
        estimate: differences.median(),
        low: differences.at(k + 1),
        high: differences.at(differences.count() - k),
        level_reached: 1.0 - 2.0 * tail,
    })
}

/// Both groups in one order.
struct Pooled {
    /// Twice each value's rank among all, ascending, tied ones at the middle of their ranks; and whether it is b's.
    ranks: Vec<(usize, bool)>,
    a: usize,
    b: usize,
}

impl Pooled {
    fn new(a: &[f64], b: &[f64]) -> Option<Pooled> {
        let of_b = b.iter().map(|&x| (x, true));
        let mut values: Vec<(f64, bool)> = a.iter().map(|&x| (x, false)).chain(of_b).collect();
        if a.is_empty() || b.is_empty() || values.iter().any(|(x, _)| !x.is_finite()) {
            return None;
        }
        values.sort_by(|x, y| x.0.total_cmp(&y.0));
        let mut ranks = Vec::with_capacity(values.len());
        for tied in values.chunk_by(|x, y| x.0 == y.0) {
            let rank = 2 * ranks.len() + 1 + tied.len();
            ranks.extend(tied.iter().map(|(_, of_b)| (rank, *of_b)));
        }
        Some(Pooled { ranks, a: a.len(), b: b.len() })
    }

    fn doubled_rank_sum(&self) -> usize {
        self.ranks.iter().filter(|(_, of_b)| *of_b).map(|(rank, _)| rank).sum()
    }

    fn u(&self) -> f64 {
        (self.doubled_rank_sum() - self.b * (self.b + 1)) as f64 / 2.0
    }

    /// P(U <= u) and P(U >= u) over all ways to choose b's places; none where that takes too many steps.
    fn exact_tails(&self) -> Option<(f64, f64)> {
        // Without ties all doubled ranks are even: half the table.
        let unit = if self.ranks.iter().all(|(rank, _)| rank % 2 == 0) { 2 } else { 1 };
        let ranks: Vec<usize> = self.ranks.iter().map(|(rank, _)| rank / unit).collect();
        let chances = sum_chances(&ranks, self.b)?;
        let sum = self.doubled_rank_sum() / unit;
        let (less, greater): (f64, f64) = (chances[..=sum].iter().sum(), chances[sum..].iter().sum());
        Some((less.min(1.0), greater.min(1.0)))
    }

    fn normal_tails(&self) -> (f64, f64) {
        let (a, b) = (self.a as f64, self.b as f64);
        let all = a + b;
        let tied = self
            .ranks
            .chunk_by(|x, y| x.0 == y.0)
            .map(|group| (group.len() as f64).powi(3) - group.len() as f64);
        let variance = a * b / 12.0 * (all + 1.0 - tied.sum::<f64>() / (all * (all - 1.0)));
        if variance <= 0.0 {
            return (1.0, 1.0);
        }
        let (distance, sd) = (self.u() - a * b / 2.0, variance.sqrt());
        (normal_at_most((distance + 0.5) / sd), normal_at_most((0.5 - distance) / sd))
    }
}

/// The chance of every sum of `choose` of the ranks, every choice equally likely; none where that takes too many steps.
fn sum_chances(ranks: &[usize], choose: usize) -> Option<Vec<f64>> {
    let mut largest = ranks.to_vec();
    largest.sort_unstable_by(|x, y| y.cmp(x));
    let sum_max: usize = largest[..choose].iter().sum();
    if ranks.len().checked_mul(choose)?.checked_mul(sum_max)? > EXACT_STEPS_MAX {
        return None;
    }
    // Ways to reach each sum with so many chosen, as a share of all ways so that nothing overflows: a value is chosen with the
    // chance (still to choose) / (still to come).
    let mut chances = vec![vec![0.0; sum_max + 1]; choose + 1];
    chances[0][0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        let to_come = (ranks.len() - seen) as f64;
        for chosen in (0..=choose.min(seen)).rev() {
            let take = (choose - chosen) as f64 / to_come;
            for sum in (0..=sum_max).rev() {
                let chance = chances[chosen][sum];
                if chance > 0.0 {
                    if take > 0.0 {
                        chances[chosen + 1][sum + rank] += chance * take;
                    }
                    chances[chosen][sum] = chance * (1.0 - take).max(0.0);
                }
            }
        }
    }
    chances.pop()
}

/// The largest k with P(U <= k) <= tail without ties, and that chance; none where even U = 0 is likelier.
fn rank_of_interval(a: usize, b: usize, tail: f64) -> Option<(u64, f64)> {
    if !(tail > 0.0 && tail < 0.5) {
        return None;
    }
    let ranks: Vec<usize> = (1..=a + b).collect();
    let Some(chances) = sum_chances(&ranks, b) else {
        let (a, b) = (a as f64, b as f64);
        let (mean, sd) = (a * b / 2.0, (a * b * (a + b + 1.0) / 12.0).sqrt());
        let k = (mean - 0.5 + normal_quantile(tail)? * sd).floor().max(0.0);
        return Some((k as u64, normal_at_most((k + 0.5 - mean) / sd)));
    };
    let mut reached = 0.0;
    let mut found = None;
    for (k, chance) in chances[b * (b + 1) / 2..].iter().enumerate() {
        reached += chance;
        // Equal but for rounding counts as reached.
        if reached > tail * (1.0 + 1e-12) {
            break;
        }
        found = Some((k as u64, reached));
    }
    found
}

/// All differences b - a, never written down.
struct Differences {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Differences {
    fn new(a: &[f64], b: &[f64]) -> Option<Differences> {
        if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|x| !x.is_finite()) {
            return None;
        }
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values
        };
        Some(Differences { a: sorted(a), b: sorted(b) })
    }

    fn count(&self) -> u64 {
        self.a.len() as u64 * self.b.len() as u64
    }

    /// The k-th smallest, from 1.
    fn at(&self, k: u64) -> f64 {
        let low = self.b[0] - self.a[self.a.len() - 1];
        let high = self.b[self.b.len() - 1] - self.a[0];
        kth_smallest(k, low, high, |x| self.at_most(x))
    }

    fn median(&self) -> f64 {
        selection::median(self.count(), |k| self.at(k))
    }

    /// Pairs whose difference is not above x: as a grows, more of b will do.
    fn at_most(&self, x: f64) -> u64 {
        let mut end = 0;
        let mut pairs = 0;
        for a in &self.a {
            while end < self.b.len() && self.b[end] - a <= x {
                end += 1;
            }
            pairs += end as u64;
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::smallest_p_two_groups;
    use proptest::prelude::*;

    /// Permeability constants of the human chorioamnion at term and at 12 to 26 weeks (Hollander and Wolfe 1973, p. 69).
    const AT_TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const EARLIER: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    /// R: `wilcox.test(x, y, alternative = "g")` (the example of its help page) gives W = 35, p = 0.1272; two-sided 0.2544;
    /// with `conf.int = TRUE` 0.305, interval -0.15 .. 0.76.
    #[test]
    fn the_permeability_data_give_what_r_gives() {
        let test = rank_sum(&EARLIER, &AT_TERM).unwrap();
        assert_eq!(test.u, 35.0);
        assert!((test.p_greater - 0.127_206_1).abs() < 1e-7, "{test:?}");
        assert!((test.p_two_sided - 0.254_412_3).abs() < 1e-7, "{test:?}");
        let location = shift(&EARLIER, &AT_TERM, 0.95).unwrap();
        assert!((location.estimate - 0.305).abs() < 1e-12, "{location:?}");
        assert!((location.low + 0.15).abs() < 1e-12 && (location.high - 0.76).abs() < 1e-12, "{location:?}");
        assert!((location.level_reached - 0.960_0).abs() < 1e-4, "{location:?}");
    }

    /// Values of the package go-moremath (`MannWhitneyUTest`): p less, two-sided, greater; the last with ties.
    #[test]
    fn small_groups_give_the_published_p_with_and_without_ties() {
        let one = [2.0, 1.0, 3.0, 5.0];
        for (other, u, less, two_sided, greater) in [
            ([12.0, 11.0, 13.0, 15.0], 0.0, 0.014_285_7, 0.028_571_4, 1.0),
            ([0.0, 4.0, 6.0, 7.0], 5.0, 0.242_857_1, 0.485_714_3, 0.828_571_4),
            ([2.0, 2.0, 2.0, 2.0], 10.0, 0.857_142_9, 0.714_285_7, 0.357_142_9),
        ] {
            let test = rank_sum(&other, &one).unwrap();
            assert_eq!(test.u, u);
            for (ours, published) in
                [(test.p_less, less), (test.p_two_sided, two_sided), (test.p_greater, greater)]
            {
                assert!((ours - published).abs() < 1e-7, "{test:?}");
            }
        }
    }

    /// Two groups of `n` on a fixed irregular grid, tied where `ties`.
    fn grid(n: usize, ties: bool) -> (Vec<f64>, Vec<f64>) {
        let value = |i: usize| {
            let x = (i * 7_919 % 1_009) as f64;
            if ties { (x / 50.0).floor() } else { x }
        };
        ((0..n).map(value).collect(), (n..2 * n).map(|i| value(i) + if ties { 1.0 } else { 20.5 }).collect())
    }

    /// SciPy: `mannwhitneyu(b, a, method="asymptotic")`, which corrects for ties and continuity, on the same numbers.
    #[test]
    fn large_groups_give_the_p_of_scipys_normal_law() {
        for (n, ties, u, p) in [
            (400, false, 83_082.0, 0.345719938086),
            (400, true, 87_420.0, 0.023024816624),
            (60, true, 2_038.0, 0.212031855573),
        ] {
            let (a, b) = grid(n, ties);
            let pooled = Pooled::new(&a, &b).unwrap();
            let (less, greater) = pooled.normal_tails();
            assert_eq!(pooled.u(), u, "{n} {ties}");
            assert!((2.0 * less.min(greater) - p).abs() < 1e-9, "{n} {ties}: {less} {greater}");
        }
        assert!(Pooled::new(&grid(400, true).0, &grid(400, true).1).unwrap().exact_tails().is_none());
    }

    /// The 500 against 600 values of go-moremath's utest_test.go, and SciPy's test of 3 against 13 (test_hypotests.py), both by the
    /// normal law.
    #[test]
    fn the_normal_law_gives_what_go_moremath_and_scipy_give() {
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..600).map(|i| f64::from(2 * i - 41)).collect(), (0..500).map(|i| f64::from(2 * i)).collect());
        let test = rank_sum(&a, &b).unwrap();
        assert_eq!(test.u, 135_250.0);
        assert!((test.p_two_sided - 0.004_933_54).abs() < 1e-8, "{test:?}");

        let b = [210.052_110, 110.190_630, 307.918_612];
        let a = [
            436.088_114_8,
            416.373_973_3,
            179.966_759_4,
            197.811_875_4,
            34.038_757_28,
            138.542_205_5,
            128.776_935_1,
            265.927_214_3,
            275.661_753_3,
            592.340_834,
            448.731_775_9,
            300.614_951_9,
            187.975_084_5,
        ];
        let pooled = Pooled::new(&a, &b).unwrap();
        let (less, greater) = pooled.normal_tails();
        assert_eq!(pooled.u(), 16.0);
        assert!((2.0 * less.min(greater) - 0.686_504_181_787_6).abs() < 1e-9, "{less} {greater}");
    }

    #[test]
    fn the_normal_law_takes_over_without_a_jump() {
        let (a, b) = grid(40, true);
        let pooled = Pooled::new(&a, &b).unwrap();
        let (exact, normal) = (pooled.exact_tails().unwrap(), pooled.normal_tails());
        assert!(
            (exact.0 - normal.0).abs() < 2e-3 && (exact.1 - normal.1).abs() < 2e-3,
            "{exact:?} {normal:?}"
        );
        let (k, tail) = rank_of_interval(45, 45, 0.025).unwrap();
        let z = normal_quantile(0.025).unwrap();
        let by_normal = 45.0 * 45.0 / 2.0 - 0.5 + z * (45.0 * 45.0 * 91.0 / 12.0f64).sqrt();
        assert!((k as f64 - by_normal).abs() <= 2.0 && tail <= 0.025, "{k} {by_normal}");
    }

    #[test]
    fn groups_far_apart_have_the_smallest_p_that_there_is() {
        for n in 3..8 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let b: Vec<f64> = a.iter().map(|x| x + 100.0).collect();
            let p = rank_sum(&a, &b).unwrap().p_two_sided;
            assert!((p - smallest_p_two_groups(a.len(), b.len())).abs() < 1e-12, "{n}");
            assert_eq!(shift(&a, &b, 0.95).is_some(), n >= 4, "{n}");
        }
    }

    #[test]
    fn all_alike_is_no_evidence_and_nothing_gives_nothing() {
        assert_eq!(rank_sum(&[1.0; 4], &[1.0; 5]).unwrap().p_two_sided, 1.0);
        assert_eq!(rank_sum(&[1.0; 400], &[1.0; 400]).unwrap().p_two_sided, 1.0);
        assert_eq!(rank_sum(&[], &[1.0]), None);
        assert_eq!(rank_sum(&[f64::NAN], &[1.0]), None);
        assert_eq!(shift(&[1.0; 9], &[], 0.95), None);
    }

    proptest! {
        #[test]
        fn tails_are_those_of_all_choices(values in proptest::collection::vec(0i32..6, 2..11), split in 1usize..10) {
            let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
            let split = 1 + split % (values.len() - 1);
            let (a, b) = values.split_at(split);
            let pooled = Pooled::new(a, b).unwrap();
            let (mut less, mut greater, mut all) = (0, 0, 0);
            for choice in (0..1u32 << values.len()).filter(|choice| choice.count_ones() as usize == b.len()) {
                let ranks = pooled.ranks.iter().enumerate().filter(|(i, _)| choice >> i & 1 == 1);
                let sum: usize = ranks.map(|(_, (rank, _))| rank).sum();
                less += u32::from(sum <= pooled.doubled_rank_sum());
                greater += u32::from(sum >= pooled.doubled_rank_sum());
                all += 1;
            }
            let test = rank_sum(a, b).unwrap();
            prop_assert!((test.p_less - f64::from(less) / f64::from(all)).abs() < 1e-12);
            prop_assert!((test.p_greater - f64::from(greater) / f64::from(all)).abs() < 1e-12);
        }

        #[test]
        fn the_interval_leaves_0_out_just_where_the_test_rejects_it(
            a in proptest::collection::vec(-1.0..1.0f64, 4..10),
            b in proptest::collection::vec(-0.5..2.0f64, 4..10),
        ) {
            let location = shift(&a, &b, 0.95).unwrap();
            let p = rank_sum(&a, &b).unwrap().p_two_sided;
            prop_assert_eq!(location.low > 0.0 || location.high < 0.0, p <= 0.05);
        }
    }
}
