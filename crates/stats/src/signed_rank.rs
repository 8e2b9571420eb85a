//! Wilcoxon's signed-rank test and the Hodges-Lehmann estimate: paired differences without a law for their noise.
//!
//! Where a coin decided which of two settings ran first in each pair, equal settings give differences whose signs are
//! fair coins too, whatever their sizes. The test counts on nothing else, so its null distribution is exact, with ties as
//! well: it runs over the signs, given the sizes. One stalled block moves a mean by any amount and a rank by one place.
//! For ratios see [`crate::paired::rank_ratio`]; for two groups that are not paired [`crate::rank_sum`].

use crate::law::{normal_at_most, normal_quantile};
use crate::selection::{self, kth_smallest};

/// Most differences for which the null distribution is written out (ours); beyond, the normal law with the corrections
/// for ties and continuity is closer than 1e-4.
const EXACT_MAX: usize = 300;

/// The signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of the positive differences; a half where sizes are tied.
    pub v: f64,
    /// Chance of a sum as far from the middle, on either side: twice the smaller one-sided p, at most 1.
    pub p_two_sided: f64,
    /// Chance of a sum as large: small where the differences are above 0.
    pub p_greater: f64,
    /// Chance of a sum as small: small where they are below 0.
    pub p_less: f64,
    /// Differences other than 0: only they count.
    pub pairs: usize,
}

/// The location of differences, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Location {
    /// The Hodges-Lehmann estimate.
    pub estimate: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence that the interval really has: at least the level asked for, as ranks come in steps.
    pub level_reached: f64,
}

/// The signed-rank test of differences; none without any or with one that is not finite.
///
/// V = sum of the ranks of |d| over d > 0 (Wilcoxon 1945, Biometrics Bulletin 1), differences of 0 left out, tied sizes at
/// their middle rank. Exact over all signs up to 300 differences. Where all are 0 every p is 1.
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    let mut differences: Vec<f64> = differences.iter().copied().filter(|&d| d != 0.0).collect();
    differences.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&differences);
    let positive = differences.iter().zip(&ranks).filter(|(d, _)| **d > 0.0);
    let doubled_v: usize = positive.map(|(_, rank)| rank).sum();
    let (p_less, p_greater) = if ranks.len() <= EXACT_MAX {
        exact_tails(&ranks, doubled_v)
    } else {
        normal_tails(&ranks, doubled_v)
    };
    Some(SignedRank {
        v: doubled_v as f64 / 2.0,
        p_two_sided: (2.0 * p_less.min(p_greater)).min(1.0),
        p_greater,
        p_less,
        pairs: ranks.len(),
    })
}

/// The Hodges-Lehmann estimate with its interval at a level in 0..1; none where so few differences cannot reach the level
/// (below [`pairs_min`]), or with one that is not finite.
///
/// With W the ordered pairwise means, M of them, the interval is W(k+1) .. W(M-k), with the largest k for which
/// P(V <= k) <= (1 - level) / 2. Where differences are tied it is wider than need be, never narrower (Noether 1967, Journal
/// of the American Statistical Association 62). It leaves 0 out just where the test without ties has p <= 1 - level.
pub fn hodges_lehmann(differences: &[f64], level: f64) -> Option<Location> {
    let walsh = Walsh::new(differences)?;
    let (k, tail) = rank_of_interval(differences.len(), (1.0 - level) / 2.0)?;
    Some(Location {
        estimate: walsh.median(),
        low: walsh.at(k + 1),
        high: walsh.at(walsh.count() - k),
        level_reached: 1.0 - 2.0 * tail,
    })
}

/// Level of the interval whose width [`rank_spread`] takes: from 0.9 on a single far value of eight is in its ends (ours).
const SPREAD_LEVEL: f64 = 0.8;

/// The standard deviation of normal noise that makes the Hodges-Lehmann estimate as unsure as these differences do: what
/// [`crate::power`] needs where few differences are far from all others, which move a standard deviation and hardly any rank.
///
/// From the width of the estimate's interval (Lehmann 1963, Annals of Mathematical Statistics 34), which is
/// 2 z sqrt(pi / 3) sd / sqrt(n) at normal noise. That law is of many differences: of the pairs that follow from it where one in
/// twenty (in five) is far away, 72 % (67 %) of trials show what 80 % should, so that it is to be used with what it may be at
/// most. None with fewer than four, or one that is not finite.
pub fn rank_spread(differences: &[f64]) -> Option<f64> {
    let location = hodges_lehmann(differences, SPREAD_LEVEL)?;
    let z = normal_quantile(0.5 + location.level_reached / 2.0)?;
    let n = differences.len() as f64;
    Some((location.high - location.low) / (2.0 * z) * (n * 3.0 / std::f64::consts::PI).sqrt())
}

/// Fewest differences for an interval at a level in 0..1: all of one sign have the chance 2^-n on each side, so 6 at 95 %.
/// None outside that range.
pub fn pairs_min(level: f64) -> Option<usize> {
    let tail = (1.0 - level) / 2.0;
    // The margin keeps levels that are a power of two on paper, such as 0.9375, from missing it by rounding.
    (level > 0.0 && level < 1.0).then(|| (-tail.log2() - 1e-9).ceil() as usize)
}

/// Twice the rank of each value by size, tied ones at the middle of their ranks; `sorted` ascends by size.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let (first, last) = (ranks.len() + 1, ranks.len() + tied.len());
        ranks.extend(std::iter::repeat_n(first + last, tied.len()));
    }
    ranks
}

/// P(V <= v) and P(V >= v), each rank in the sum or not with a chance of a half.
fn exact_tails(doubled_ranks: &[usize], doubled_v: usize) -> (f64, f64) {
    // Without ties all doubled ranks are even: half the table.
    let unit = if doubled_ranks.iter().all(|rank| rank % 2 == 0) { 2 } else { 1 };
    let chances = sum_chances(doubled_ranks.iter().map(|rank| rank / unit));
    let v = doubled_v / unit;
    let (less, greater): (f64, f64) = (chances[..=v].iter().sum(), chances[v..].iter().sum());
    (less.min(1.0), greater.min(1.0))
}

/// The chance of every sum, each of the ranks in it or not with a chance of a half.
fn sum_chances(ranks: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut chances = vec![1.0];
    for rank in ranks {
        let mut next = vec![0.0; chances.len() + rank];
        for (sum, chance) in chances.iter().enumerate() {
            next[sum] += chance / 2.0;
            next[sum + rank] += chance / 2.0;
        }
        chances = next;
    }
    chances
}

/// The same by the normal law: mean half of all ranks, variance a quarter of their squares (which is what the
/// correction for ties comes to), half a step for continuity.
fn normal_tails(doubled_ranks: &[usize], doubled_v: usize) -> (f64, f64) {
    let ranks = doubled_ranks.iter().map(|&rank| rank as f64 / 2.0);
    let (mean, variance) =
        ranks.fold((0.0, 0.0), |(mean, variance), rank| (mean + rank / 2.0, variance + rank * rank / 4.0));
    let (distance, sd) = (doubled_v as f64 / 2.0 - mean, variance.sqrt());
    (normal_at_most((distance + 0.5) / sd), normal_at_most((0.5 - distance) / sd))
}

/// The largest k with P(V <= k) <= tail without ties, and that chance; none where even V = 0 is likelier.
pub(crate) fn rank_of_interval(n: usize, tail: f64) -> Option<(u64, f64)> {
    if !(tail > 0.0 && tail < 0.5) {
        return None;
    }
    if n > EXACT_MAX {
        let n = n as f64;
        let (mean, sd) = (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt());
        let k = (mean - 0.5 + normal_quantile(tail)? * sd).floor().max(0.0);
        return Some((k as u64, normal_at_most((k + 0.5 - mean) / sd)));
    }
    let mut reached = 0.0;
    let mut found = None;
    for (k, chance) in sum_chances(1..=n).into_iter().enumerate() {
        reached += chance;
        // Equal but for rounding counts as reached.
        if reached > tail * (1.0 + 1e-12) {
            break;
        }
        found = Some((k as u64, reached));
    }
    found
}

/// All pairwise means of some values, never written down.
struct Walsh {
    sorted: Vec<f64>,
}

impl Walsh {
    fn new(values: &[f64]) -> Option<Walsh> {
        if values.is_empty() || values.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Walsh { sorted })
    }

    fn count(&self) -> u64 {
        let n = self.sorted.len() as u64;
        n * (n + 1) / 2
    }

    /// The k-th smallest, from 1.
    fn at(&self, k: u64) -> f64 {
        let (low, high) = (self.sorted[0], self.sorted[self.sorted.len() - 1]);
        kth_smallest(k, low, high, |x| self.at_most(x))
    }

    fn median(&self) -> f64 {
        selection::median(self.count(), |k| self.at(k))
    }

    /// Pairs i <= j whose mean is not above x: as i grows, fewer j will do.
    fn at_most(&self, x: f64) -> u64 {
        let mut end = self.sorted.len();
        let mut pairs = 0;
        for (i, &value) in self.sorted.iter().enumerate() {
            while end > i && f64::midpoint(value, self.sorted[end - 1]) > x {
                end -= 1;
            }
            if end <= i {
                break;
            }
            pairs += (end - i) as u64;
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    /// Hollander and Wolfe, Nonparametric Statistical Methods (1973), p. 29: depression scale before and after.
    #[expect(clippy::approx_constant, reason = "3.14 was measured")]
    fn depression() -> Vec<f64> {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        before.iter().zip(after).map(|(x, y)| x - y).collect()
    }

    /// R: `wilcox.test(x, y, paired = TRUE)` on these data (the example of its help page): V = 40, p = 0.03906, and
    /// 0.01953 with `alternative = "greater"`; with `conf.int = TRUE` the pseudomedian is 0.46, the interval 0.010 .. 0.786.
    #[test]
    fn the_depression_data_give_what_r_gives() {
        let test = signed_rank(&depression()).unwrap();
        assert_eq!((test.v, test.pairs), (40.0, 9));
        assert!((test.p_greater - 0.019_531_25).abs() < 1e-15, "{test:?}");
        assert!((test.p_two_sided - 0.039_062_5).abs() < 1e-15, "{test:?}");
        let location = hodges_lehmann(&depression(), 0.95).unwrap();
        assert!((location.estimate - 0.46).abs() < 1e-12, "{location:?}");
        assert!(
            (location.low - 0.010).abs() < 1e-12 && (location.high - 0.786).abs() < 1e-12,
            "{location:?}"
        );
        assert!((location.level_reached - 0.960_937_5).abs() < 1e-12, "{location:?}");
    }

    /// The median over 400 sets of 12 and of 40 differences each is within a tenth of the truth at normal noise, and one far value in
    /// twelve makes it no more than half as large again, where the standard deviation is tenfold.
    #[test]
    fn the_spread_by_ranks_is_the_standard_deviation_and_hardly_minds_one_far_value() {
        let mut random = Random::new(3);
        let mut typical = |n: usize, far: f64| {
            let mut of: Vec<f64> = (0..400)
                .map(|_| {
                    let mut values: Vec<f64> = (0..n).map(|_| 0.05 * random.normal()).collect();
                    values[0] += far;
                    rank_spread(&values).unwrap()
                })
                .collect();
            of.sort_by(f64::total_cmp);
            of[200]
        };
        for n in [12, 40] {
            let seen = typical(n, 0.0);
            assert!((seen / 0.05 - 1.0).abs() < 0.1, "{n}: {seen}");
        }
        let seen = typical(12, 2.0);
        assert!((0.05..0.075).contains(&seen), "{seen}");
        assert_eq!(rank_spread(&[0.1, 0.2, 0.3]), None);
    }

    /// Pairs of a spread of 5 %, some of them off by a factor of 1.8: so many as follow from the spread by ranks, a quarter larger as
    /// is careful with a pilot of 12, show 5 % in 80 % of 1,000 trials (standard error 1.3 %); the standard deviation asks for
    /// several times as many.
    #[test]
    fn so_many_pairs_as_follow_from_the_spread_by_ranks_show_what_they_should() {
        let mut random = Random::new(5);
        for far_share in [0.05, 0.1, 0.2] {
            let mut pair = || {
                let far = if random.unit() < far_share { 0.6 } else { 0.0 };
                let sign = if random.unit() < 0.5 { -far } else { far };
                sign + 0.05 * random.normal()
            };
            let many: Vec<f64> = (0..4_000).map(|_| pair()).collect();
            let needed = |sd: f64| crate::power::pairs_needed(sd, 1.05, 0.95, 0.8).unwrap();
            let pairs = needed(1.25 * rank_spread(&many).unwrap());
            let plain = needed(crate::paired::standard_deviation(&many).unwrap());
            assert!(2 * pairs < plain, "{far_share}: {pairs} {plain}");
            let trials = (0..1_000).filter(|_| {
                let differences: Vec<f64> = (0..pairs).map(|_| 1.05f64.ln() + pair()).collect();
                signed_rank(&differences).unwrap().p_two_sided <= 0.05
            });
            let shown = trials.count();
            eprintln!("{far_share}: {pairs} pairs instead of {plain}, {shown} of 1,000");
            assert!((774..940).contains(&shown), "{far_share}: {pairs} pairs, {shown}");
        }
    }

    /// R: pseudomedian of the `sleep` data's differences (Student 1908), which are tied.
    #[test]
    fn the_sleep_data_have_the_pseudo_median_of_r() {
        let differences = [-1.2, -2.4, -1.3, -1.3, 0.0, -1.0, -1.8, -0.8, -4.6, -1.4];
        assert!((Walsh::new(&differences).unwrap().median() - -1.3).abs() < 1e-12);
    }

    /// R: `psignrank(k, n)`, by which the ranks of the interval at 95 % are chosen: k + 1 and the confidence reached.
    #[test]
    fn the_interval_lies_between_the_published_ranks() {
        let table = [
            (6, 1, 0.968_75),
            (7, 3, 0.953_1),
            (8, 4, 0.960_9),
            (9, 6, 0.960_9),
            (10, 9, 0.951_2),
            (12, 14, 0.957_5),
            (14, 22, 0.950_6),
            (15, 26, 0.952_1),
            (16, 30, 0.955_7),
            (20, 53, 0.951_6),
            (24, 82, 0.950_9),
            (30, 138, 0.950_3),
        ];
        for (n, rank, reached) in table {
            let (k, tail) = rank_of_interval(n, 0.025).unwrap();
            assert_eq!(k + 1, rank, "{n} differences");
            assert!((1.0 - 2.0 * tail - reached).abs() < 1e-4, "{n} differences: {tail}");
        }
    }

    #[test]
    fn six_differences_are_the_fewest_for_95_percent() {
        assert_eq!(pairs_min(0.95), Some(6));
        assert_eq!(pairs_min(0.90), Some(5));
        assert_eq!(pairs_min(0.99), Some(8));
        assert_eq!((pairs_min(1.0), pairs_min(0.0), pairs_min(f64::NAN)), (None, None, None));
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95), None);
        assert!(hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).is_some());
    }

    #[test]
    fn no_difference_at_all_is_no_evidence() {
        let test = signed_rank(&[0.0, -0.0, 0.0]).unwrap();
        assert_eq!((test.pairs, test.p_two_sided, test.p_greater, test.p_less), (0, 1.0, 1.0, 1.0));
        assert_eq!(signed_rank(&[]), None);
        assert_eq!(signed_rank(&[1.0, f64::NAN]), None);
        assert_eq!(hodges_lehmann(&[f64::INFINITY; 6], 0.95), None);
    }

    /// Every choice of signs, one after the other.
    fn tails_by_enumeration(ranks: &[usize], v: usize) -> (f64, f64) {
        let sums = (0..1u32 << ranks.len()).map(|signs| {
            ranks.iter().enumerate().filter(|(i, _)| signs >> i & 1 == 1).map(|(_, rank)| rank).sum::<usize>()
        });
        let (less, greater) = sums
            .fold((0, 0), |(less, greater), sum| (less + u32::from(sum <= v), greater + u32::from(sum >= v)));
        let all = f64::from(1u32 << ranks.len());
        (f64::from(less) / all, f64::from(greater) / all)
    }

    proptest! {
        #[test]
        fn tied_tails_are_those_of_all_sign_choices(
            differences in proptest::collection::vec(-4i32..5, 1..11),
        ) {
            let values: Vec<f64> = differences.iter().map(|&d| f64::from(d)).collect();
            let test = signed_rank(&values).unwrap();
            let mut sizes: Vec<f64> = values.iter().copied().filter(|&d| d != 0.0).collect();
            sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            let (less, greater) = tails_by_enumeration(&doubled_ranks(&sizes), (2.0 * test.v) as usize);
            prop_assert!((test.p_less - less).abs() < 1e-12 && (test.p_greater - greater).abs() < 1e-12);
        }

        #[test]
        fn walsh_averages_are_found_without_writing_them_down(
            values in proptest::collection::vec(-1e3..1e3f64, 1..25),
            place in 0usize..400,
        ) {
            let pairs = values.iter().enumerate().flat_map(|(i, &a)| values[i..].iter().map(move |&b| (a, b)));
            let mut means: Vec<f64> = pairs.map(|(a, b)| f64::midpoint(a, b)).collect();
            means.sort_by(f64::total_cmp);
            let walsh = Walsh::new(&values).unwrap();
            prop_assert_eq!(walsh.count(), means.len() as u64);
            let place = place % means.len();
            prop_assert_eq!(walsh.at(place as u64 + 1), means[place]);
        }

        #[test]
        fn the_interval_leaves_0_out_just_where_the_test_rejects_it(
            values in proptest::collection::vec(-1.0..1.5f64, 6..16),
        ) {
            let location = hodges_lehmann(&values, 0.95).unwrap();
            let p = signed_rank(&values).unwrap().p_two_sided;
            prop_assert_eq!(location.low > 0.0 || location.high < 0.0, p <= 0.05);
        }

        #[test]
        fn the_interval_moves_with_the_differences_and_turns_with_their_sign(
            values in proptest::collection::vec(-1.0..1.0f64, 6..16), shift in -5.0..5.0f64,
        ) {
            let location = hodges_lehmann(&values, 0.95).unwrap();
            let moved = hodges_lehmann(&values.iter().map(|d| shift - d).collect::<Vec<_>>(), 0.95).unwrap();
            prop_assert!((moved.low - (shift - location.high)).abs() < 1e-12);
            prop_assert!((moved.estimate - (shift - location.estimate)).abs() < 1e-12);
        }
    }

    #[test]
    fn the_normal_law_takes_over_without_a_jump() {
        let mut random = Random::new(4);
        let values: Vec<f64> = (0..EXACT_MAX).map(|_| random.normal() + 0.12).collect();
        let mut sorted = values.clone();
        sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let ranks = doubled_ranks(&sorted);
        let v = (2.0 * signed_rank(&values).unwrap().v) as usize;
        let (exact, normal) = (exact_tails(&ranks, v), normal_tails(&ranks, v));
        assert!(
            (exact.0 - normal.0).abs() < 1e-4 && (exact.1 - normal.1).abs() < 1e-4,
            "{exact:?} {normal:?}"
        );
    }

    #[test]
    fn thousands_of_differences_have_an_interval_too() {
        let mut random = Random::new(9);
        let values: Vec<f64> = (0..5_000).map(|_| 0.3 + random.normal()).collect();
        let location = hodges_lehmann(&values, 0.95).unwrap();
        // The standard error is sqrt(pi / 3) / sqrt(n) = 0.0145 for normal noise.
        assert!((location.estimate - 0.3).abs() < 0.05, "{location:?}");
        assert!((location.high - location.low - 2.0 * 1.96 * 0.014_5).abs() < 0.004, "{location:?}");
    }
}
