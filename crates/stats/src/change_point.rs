//! The places at which a long series changes: burst credits that run out, a leak that sets in, a surge of load.
//!
//! E-divisive (Matteson and James 2014, Journal of the American Statistical Association 109) on ranks: the split at which the two
//! sides' distributions are farthest apart by energy distance, its p by permutation of the whole search, so that having
//! looked at every place is allowed for; then the same on each side. Ranks, so that one spike is one rank. Neighbours that
//! know of each other are permuted together. Not for a single change with its size against lingering noise, which is
//! [`crate::steady`], nor for a block's beginning, which is [`crate::warm_up`].

use crate::autocorrelation::{lag_1, lag_1_limit};
use crate::median::median;
use crate::random::Random;
use crate::rank_sum::shift;

/// Permutations of a search at most.
const PERMUTATIONS: u32 = 499;

/// A search stops early when so many permutations had as large a change: p is then far from small (Besag and Clifford 1991,
/// Biometrika 78).
const EXTREMES_ENOUGH: u32 = 40;

/// Values of a window over which neighbours are held against each other, and fewest windows for that (ours).
const WINDOW: usize = 16;
const WINDOWS_MIN: usize = 5;

/// The limits from which a split counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeRule {
    /// Largest p of a split, 0..1.
    pub alpha: f64,
    /// Fewest values on each side of a change; at least 2.
    pub segment_min: usize,
    /// Smallest shift, as a share of the level before it: 0.05 is 5 %.
    pub magnitude_min: f64,
}

impl Default for ChangeRule {
    /// 5 %, segments of 8, shifts of 5 % (ours).
    fn default() -> Self {
        ChangeRule { alpha: 0.05, segment_min: 8, magnitude_min: 0.05 }
    }
}

/// A place where the series changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after it.
    pub index: usize,
    /// Median of the segment before it.
    pub before: f64,
    /// Median of the segment after it.
    pub after: f64,
    /// The distance from the segment before to the segment after: the Hodges-Lehmann estimate, positive where the level rises. It
    /// has no interval, as the place was chosen by the data.
    pub shift: f64,
    /// Chance that a series without change, searched in the same way, has a split as clear.
    pub p: f64,
}

/// The changes of a series, in order; each segment is searched at the rule's alpha. None with fewer than two segments' worth of
/// values, one that is not finite, or a rule outside its domain. Takes n log n steps a permutation: thousands of values are
/// no burden.
pub fn change_points(series: &[f64], rule: &ChangeRule, seed: u64) -> Option<Vec<ChangePoint>> {
    let domain = rule.alpha > 0.0 && rule.alpha < 1.0 && rule.segment_min >= 2 && rule.magnitude_min >= 0.0;
    if !domain || series.len() < 2 * rule.segment_min || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut splits = Vec::new();
    search(series, 0, rule, &mut Random::new(seed), &mut splits);
    splits.sort_by_key(|split| split.index);
    Some(described(series, splits, rule))
}

/// A place at which a series is split, with its p.
struct Split {
    index: usize,
    p: f64,
}

/// Splits of the part that begins at `start`, and of what they leave.
fn search(part: &[f64], start: usize, rule: &ChangeRule, random: &mut Random, splits: &mut Vec<Split>) {
    let Some((split, distance)) = farthest(&ranks(part), rule.segment_min) else { return };
    let p = chance(part, split, distance, rule, random);
    if p > rule.alpha {
        return;
    }
    splits.push(Split { index: start + split, p });
    search(&part[..split], start, rule, random, splits);
    search(&part[split..], start + split, rule, random, splits);
}

/// The splits as changes between the segments that they make, those that are too small left out.
fn described(series: &[f64], mut splits: Vec<Split>, rule: &ChangeRule) -> Vec<ChangePoint> {
    loop {
        let points: Vec<ChangePoint> = (0..splits.len())
            .map(|i| {
                let Split { index, p } = splits[i];
                let from = if i == 0 { 0 } else { splits[i - 1].index };
                let to = splits.get(i + 1).map_or(series.len(), |next| next.index);
                let (left, right) = (&series[from..index], &series[index..to]);
                let [before, after] = [left, right].map(level);
                // The estimate does not depend on the level; 95 % can always be reached from 4 against 4 on.
                let shift = shift(left, right, 0.95).map_or(after - before, |location| location.estimate);
                ChangePoint { index, before, after, shift, p }
            })
            .collect();
        let size = |point: &ChangePoint| {
            if point.before == 0.0 { f64::INFINITY } else { (point.shift / point.before).abs() }
        };
        let least = points.iter().enumerate().min_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        // Without the smallest its neighbours are longer, and their shifts others.
        match least {
            Some((i, point)) if size(point) < rule.magnitude_min => drop(splits.remove(i)),
            _ => return points,
        }
    }
}

/// The chance of a split as clear anywhere, over permutations of runs of neighbours.
fn chance(part: &[f64], split: usize, distance: f64, rule: &ChangeRule, random: &mut Random) -> f64 {
    let ranks = ranks(part);
    let run = run_length(part, split);
    let mut extremes = 0;
    for permutation in 1..=PERMUTATIONS {
        let permuted = permuted(&ranks, run, random);
        let found = farthest(&permuted, rule.segment_min).map_or(0.0, |(_, distance)| distance);
        extremes += u32::from(found >= distance);
        if extremes == EXTREMES_ENOUGH {
            return f64::from(extremes) / f64::from(permutation);
        }
    }
    f64::from(extremes + 1) / f64::from(PERMUTATIONS + 1)
}

/// Neighbours to keep together: 1 where they show no correlation, else so many that little of an AR(1) correlation goes beyond
/// them; at most an eighth of the part.
fn run_length(part: &[f64], split: usize) -> usize {
    let n = part.len();
    match neighbours_correlation(part, split) {
        Some(r) if r > lag_1_limit(n) / 2.0 => {
            let r = r.min(0.95);
            ((2.0 * (1.0 + r) / (1.0 - r)).ceil() as usize).clamp(1, (n / 8).max(1))
        }
        _ => 1,
    }
}

/// Correlation of neighbours that no change accounts for: the median over windows, as a change is in few of them; in a short
/// part about the levels of both sides. The mean taken out lowers it by about (1 + 3 r) / n (Kendall 1954).
fn neighbours_correlation(part: &[f64], split: usize) -> Option<f64> {
    let corrected = |r: f64, n: usize| r + (1.0 + 3.0 * r.max(0.0)) / n as f64;
    let windows: Vec<f64> = part.chunks_exact(WINDOW).filter_map(lag_1).collect();
    if windows.len() >= WINDOWS_MIN {
        return Some(corrected(level(&windows), WINDOW));
    }
    let levels = [&part[..split], &part[split..]].map(level);
    let rest: Vec<f64> = part.iter().enumerate().map(|(i, x)| x - levels[usize::from(i >= split)]).collect();
    lag_1(&rest).map(|r| corrected(r, part.len()))
}

/// The series with its runs in random order, cut at a random place.
fn permuted(ranks: &[u64], run: usize, random: &mut Random) -> Vec<u64> {
    let mut turned = ranks.to_vec();
    turned.rotate_left(random.below(ranks.len()));
    let mut runs: Vec<&[u64]> = turned.chunks(run).collect();
    random.shuffle(&mut runs);
    runs.concat()
}

/// Twice the rank of each value, tied ones at the middle of their ranks.
fn ranks(values: &[f64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut seen = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        tied.iter().for_each(|&i| ranks[i] = (2 * seen + 1 + tied.len()) as u64);
        seen += tied.len();
    }
    ranks
}

/// The split with the largest energy distance between its sides, m n / (m + n) (2 E|X-Y| - E|X-X'| - E|Y-Y'|), and that
/// distance; none where there is no room for two sides.
fn farthest(ranks: &[u64], side_min: usize) -> Option<(usize, f64)> {
    let n = ranks.len();
    let to_all = distances_to_all(ranks);
    // Sums of distances within the left side, within the right side, and between them.
    let (mut left, mut right, mut between) = (0.0, to_all.iter().sum::<f64>() / 2.0, 0.0);
    let mut tree = RankTree::new(2 * n);
    let mut best = None;
    for (i, &rank) in ranks.iter().enumerate() {
        let to_left = tree.distances(rank);
        let to_right = to_all[i] - to_left;
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        tree.insert(rank);
        let (l, r) = ((i + 1) as f64, (n - i - 1) as f64);
        if i + 1 >= side_min && n - i > side_min {
            let pairs = |size: f64| size * (size - 1.0) / 2.0;
            let energy = 2.0 * between / (l * r) - left / pairs(l) - right / pairs(r);
            let distance = l * r / (l + r) * energy;
            if best.is_none_or(|(_, most)| distance > most) {
                best = Some((i + 1, distance));
            }
        }
    }
    best
}

/// Sum of the distances of each rank to all others.
fn distances_to_all(ranks: &[u64]) -> Vec<f64> {
    let mut tree = RankTree::new(2 * ranks.len());
    ranks.iter().for_each(|&rank| tree.insert(rank));
    ranks.iter().map(|&rank| tree.distances(rank)).collect()
}

/// Ranks so far: how many are at or below one, and their sum (Fenwick 1994).
struct RankTree {
    counts: Vec<u64>,
    sums: Vec<u64>,
    count: u64,
    sum: u64,
}

impl RankTree {
    fn new(rank_max: usize) -> RankTree {
        RankTree { counts: vec![0; rank_max + 1], sums: vec![0; rank_max + 1], count: 0, sum: 0 }
    }

    fn insert(&mut self, rank: u64) {
        let mut at = rank as usize;
        while at < self.counts.len() {
            self.counts[at] += 1;
            self.sums[at] += rank;
            at += at & at.wrapping_neg();
        }
        self.count += 1;
        self.sum += rank;
    }

    /// Sum of the distances of a rank to those in the tree.
    fn distances(&self, rank: u64) -> f64 {
        let (mut below, mut sum_below) = (0, 0);
        let mut at = rank as usize;
        while at > 0 {
            below += self.counts[at];
            sum_below += self.sums[at];
            at &= at - 1;
        }
        ((rank * below - sum_below) + (self.sum - sum_below) - rank * (self.count - below)) as f64
    }
}

/// The median of a segment, which is not empty.
fn level(segment: &[f64]) -> f64 {
    median(segment.iter().copied()).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A level of 5 with noise of 4 % of it, lingering by phi, times what happens.
    fn series(n: usize, phi: f64, level: impl Fn(usize) -> f64, random: &mut Random) -> Vec<f64> {
        let mut noise = random.normal();
        let values = (0..n).map(|i| {
            noise = phi * noise + (1.0 - phi * phi).sqrt() * random.normal();
            5.0 * level(i) * (1.0 + 0.04 * noise)
        });
        values.collect()
    }

    fn places(series: &[f64]) -> Vec<usize> {
        let points = change_points(series, &ChangeRule::default(), 7).unwrap();
        points.iter().map(|point| point.index).collect()
    }

    #[test]
    fn a_level_that_halves_is_found_where_it_does() {
        let halved = series(20, 0.0, |i| if i < 10 { 1.0 } else { 0.5 }, &mut Random::new(1));
        let points = change_points(&halved, &ChangeRule::default(), 7).unwrap();
        assert_eq!(points.len(), 1, "{points:?}");
        assert_eq!(points[0].index, 10);
        assert!((points[0].shift + 2.5).abs() < 0.3 && points[0].p <= 0.01, "{points:?}");
    }

    #[test]
    fn a_surge_that_passes_has_a_beginning_and_an_end() {
        let level = |i: usize| if (60..90).contains(&i) { 1.3 } else { 1.0 };
        let found = places(&series(150, 0.0, level, &mut Random::new(2)));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].abs_diff(60) <= 4 && found[1].abs_diff(90) <= 4, "{found:?}");
    }

    #[test]
    fn neither_a_spike_nor_a_shift_below_the_magnitude_is_a_change() {
        let mut spiked = series(60, 0.0, |_| 1.0, &mut Random::new(3));
        spiked[30] *= 50.0;
        assert!(places(&spiked).is_empty());
        let small = series(400, 0.0, |i| if i < 200 { 1.0 } else { 1.03 }, &mut Random::new(4));
        assert!(places(&small).is_empty());
        let rule = ChangeRule { magnitude_min: 0.0, ..ChangeRule::default() };
        let index = change_points(&small, &rule, 7).unwrap()[0].index;
        assert!(index.abs_diff(200) <= 15, "{index}");
    }

    #[test]
    fn thousands_of_values_are_no_burden() {
        let level = |i: usize| if i < 1_700 { 1.0 } else { 1.1 };
        let found = places(&series(3_000, 0.0, level, &mut Random::new(5)));
        assert!(found.len() == 1 && found[0].abs_diff(1_700) <= 10, "{found:?}");
    }

    #[test]
    fn what_cannot_be_searched_gives_nothing() {
        let rule = ChangeRule::default();
        assert_eq!(change_points(&[1.0; 15], &rule, 0), None);
        assert_eq!(change_points(&[f64::NAN; 40], &rule, 0), None);
        assert_eq!(change_points(&[1.0; 40], &ChangeRule { alpha: 0.0, ..rule }, 0), None);
        assert_eq!(change_points(&[1.0; 40], &rule, 0), Some(vec![]));
    }

    /// Share of series without a change in which one is found.
    fn false_alarms(trials: u64, n: usize, phi: f64) -> f64 {
        let mut random = Random::new(41);
        let rule = ChangeRule { magnitude_min: 0.0, ..ChangeRule::default() };
        let found = (0..trials).filter(|&seed| {
            let level = series(n, phi, |_| 1.0, &mut random);
            !change_points(&level, &rule, seed).unwrap().is_empty()
        });
        found.count() as f64 / trials as f64
    }

    #[test]
    fn noise_is_seldom_taken_for_a_change() {
        let share = false_alarms(100, 40, 0.0);
        assert!(share <= 0.12, "{share}");
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn false_alarms_are_as_stated_in_long_simulations() {
        let shares = [(40, 0.0), (120, 0.0), (120, 0.5)].map(|(n, phi)| false_alarms(1_000, n, phi));
        assert!(shares[0] <= 0.07 && shares[1] <= 0.07 && shares[2] <= 0.15, "{shares:?}");
    }

    proptest! {
        #[test]
        fn the_distance_is_that_of_its_definition(values in proptest::collection::vec(-9i32..9, 8..24)) {
            let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
            let ranks = ranks(&values);
            let (split, distance) = farthest(&ranks, 3).unwrap();
            let mean = |xs: &[u64], ys: &[u64], same: bool| {
                let sum: u64 = xs.iter().flat_map(|x| ys.iter().map(|y| x.abs_diff(*y))).sum();
                sum as f64 / (xs.len() * if same { ys.len() - 1 } else { ys.len() }) as f64
            };
            let by_definition = |split: usize| {
                let (x, y) = ranks.split_at(split);
                let size = (x.len() * y.len()) as f64 / ranks.len() as f64;
                size * (2.0 * mean(x, y, false) - mean(x, x, true) - mean(y, y, true))
            };
            prop_assert!((distance - by_definition(split)).abs() < 1e-6);
            for other in 3..=ranks.len() - 3 {
                prop_assert!(by_definition(other) <= distance + 1e-6);
            }
        }
    }
}
