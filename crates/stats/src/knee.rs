//! The knee of a rate over the number of clients: the point from which more clients add nothing, and the one from which the rate
//! falls.
//!
//! Rates are looked at in logarithms, because noise grows with the rate. The curve is the closest one that rises and then
//! falls (unimodal least squares by pooling adjacent violators: Frisen 1986, The Statistician 35), so no shape between is
//! assumed. Its top is the highest level together with the neighbours that cannot be told from it: the highest of many
//! noisy points alone would be too high. Intervals come from curves rebuilt with residuals of neighbouring points. In our
//! simulations they hold the true knee at least as often as they say, except where the rate creeps up until the last
//! point: there they hold it in eight of ten, and the estimate is a point early.
//! Not for the variance of the points: that is [`crate::variability`].

use crate::random::Random;
use std::ops::Range;

/// Fewest points of a curve that has a knee worth looking for (ours).
pub const POINTS_MIN: usize = 4;

/// Fewest blocks of a point: their spread is the noise (ours, as for an interval of a mean).
pub const BLOCKS_MIN: usize = 3;

/// Series that are drawn anew for an interval.
pub(crate) const REBUILDS: usize = 999;

/// One number of clients and the rate of each of its blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Number of clients; points ascend.
    pub clients: u32,
    /// A number of clients at which something begins, with its interval. The true one is one of the points.
    pub rates_per_s: Vec<f64>,
}

/// A number of clients at which something begins, with its interval. The true place is one of the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientCount {
    /// The estimate.
    pub clients: u32,
    /// Lower end.
    pub low: u32,
    /// Upper end; none when it may lie beyond the last point.
    pub high: Option<u32>,
}

/// The number of clients at which a rate stops rising, as far as its blocks tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knee {
    /// Here.
    At(ClientCount),
    /// Not before the last point.
    StillRises,
    /// Blocks differ so much that it may be any point.
    Unclear,
}

impl Knee {
    /// The place, where there is one.
    pub fn place(self) -> Option<ClientCount> {
        match self {
            Knee::At(place) => Some(place),
            Knee::StillRises | Knee::Unclear => None,
        }
    }
}

/// The shape of a rate over the number of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KneeShape {
    /// The number of clients from which more add no more than the margin.
    pub knee: Knee,
    /// The number of clients from which the rate is below the best by more than the margin; none when it is not seen to fall.
    pub fall: Option<ClientCount>,
    /// The best rate: that of the level top.
    pub best_per_s: f64,
    /// Rate at the last point over the best.
    pub last_share: f64,
}

/// The shape of a curve. `margin` is the share of the best rate that does not matter, `level` that of the intervals.
/// None with fewer than [`POINTS_MIN`] points of at least [`BLOCKS_MIN`] blocks, or a rate that is not above 0.
pub fn shape(points: &[Point], margin: f64, level: f64, seed: u64) -> Option<KneeShape> {
    let measured: Vec<&Point> = points.iter().filter(|point| point.rates_per_s.len() >= BLOCKS_MIN).collect();
    let rates = || measured.iter().flat_map(|point| &point.rates_per_s);
    let sound = rates().all(|rate| rate.is_finite() && *rate > 0.0) && (0.0..1.0).contains(&margin);
    if measured.len() < POINTS_MIN || !sound || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let samples: Vec<Vec<f64>> =
        measured.iter().map(|point| point.rates_per_s.iter().map(|rate| rate.ln()).collect()).collect();
    let curve = Curve::fit(&samples, margin)?;
    let rebuilt = rebuilt(&curve, &samples, margin, seed);
    let tail = (1.0 - level) / 2.0;
    let last = measured.len() - 1;
    let clients = |index: usize| measured[index].clients;
    let place = |at: usize, (low, high): (usize, usize), beyond: usize| ClientCount {
        clients: clients(at),
        low: clients(low.min(at)),
        high: (high.max(at) < beyond).then(|| clients(high.max(at))),
    };
    let (low, high) = percentiles(rebuilt.iter().map(|curve| curve.knee).collect(), tail)?;
    let high = high.max(curve.latest_knee);
    let knee = match low.min(curve.knee) {
        low if low == last => Knee::StillRises,
        0 if high == last => Knee::Unclear,
        low => Knee::At(place(curve.knee, (low, high), last)),
    };
    let falls: Vec<usize> = rebuilt.iter().filter_map(|curve| curve.fall).collect();
    let certain = falls.len() as f64 >= level * rebuilt.len() as f64;
    let fall = curve.fall.filter(|_| certain);
    Some(KneeShape {
        knee,
        fall: fall.and_then(|at| Some(place(at, percentiles(falls, tail)?, last + 1))),
        best_per_s: curve.best.exp(),
        last_share: (curve.levels[last] - curve.best).exp(),
    })
}

/// A fitted curve, in logarithms.
struct Curve {
    levels: Vec<f64>,
    best: f64,
    knee: usize,
    fall: Option<usize>,
    /// The knee under the highest single level: later than the knee where the top still rises, or is only noisy.
    latest_knee: usize,
}

impl Curve {
    fn fit(samples: &[Vec<f64>], margin: f64) -> Option<Curve> {
        let means: Vec<f64> = samples.iter().map(|values| mean(values)).collect();
        let weights: Vec<f64> = samples.iter().map(|values| values.len() as f64).collect();
        let mut levels = unimodal(&means, &weights);
        let Top { points, level: best } = top(&levels, samples)?;
        let end = points.end;
        let highest = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let latest_knee = levels.iter().position(|level| *level >= highest + (1.0 - margin).ln())?;
        levels[points].fill(best);
        let enough = best + (1.0 - margin).ln();
        let knee = levels.iter().position(|level| *level >= enough)?;
        let fall = levels[end..].iter().position(|level| *level < enough).map(|after| end + after);
        Some(Curve { levels, best, knee, fall, latest_knee })
    }
}

/// The highest level with its neighbours that cannot be told from it.
struct Top {
    points: Range<usize>,
    /// Their common mean.
    level: f64,
}

fn top(levels: &[f64], samples: &[Vec<f64>]) -> Option<Top> {
    let highest = levels.iter().copied().max_by(f64::total_cmp)?;
    let mut first = levels.iter().position(|level| *level == highest)?;
    let mut end = first + levels[first..].iter().take_while(|level| **level == highest).count();
    loop {
        let below = (first > 0).then(|| {
            let level = levels[first - 1];
            levels[..first].iter().rposition(|other| *other != level).map_or(0, |before| before + 1)
        });
        let above = levels
            .get(end)
            .map(|level| end + levels[end..].iter().take_while(|other| *other == level).count());
        let apart = |part: Range<usize>, whole: Range<usize>| {
            distance(samples, first..end, part).max(steepness(samples, whole))
        };
        let left = below.map(|start| (start, end, apart(start..first, start..end)));
        let right = above.map(|stop| (first, stop, apart(end..stop, first..stop)));
        let nearest = left.into_iter().chain(right).min_by(|a, b| a.2.total_cmp(&b.2));
        match nearest {
            Some((start, stop, distance)) if distance <= 1.0 => (first, end) = (start, stop),
            _ => return Some(Top { points: first..end, level: mean_of(&samples[first..end]) }),
        }
    }
}

/// The distance of a part below the top, over the distance that chance makes: at most 1 cannot be told from level.
fn distance(samples: &[Vec<f64>], top: Range<usize>, part: Range<usize>) -> f64 {
    let (top, part) = (&samples[top], &samples[part]);
    let noise = Noise::pooled(top.iter().chain(part));
    let error = (noise.variance * (1.0 / count(top) + 1.0 / count(part))).sqrt();
    over(mean_of(top) - mean_of(part), noise.reach * error)
}

/// The absolute slope of a straight line through a part, over the slope that chance makes.
fn steepness(samples: &[Vec<f64>], part: Range<usize>) -> f64 {
    let part = &samples[part];
    let noise = Noise::pooled(part.iter());
    let places =
        || part.iter().enumerate().flat_map(|(x, values)| values.iter().map(move |y| (x as f64, *y)));
    let middle = places().map(|(x, _)| x).sum::<f64>() / count(part);
    let spread: f64 = places().map(|(x, _)| (x - middle).powi(2)).sum();
    let slope = places().map(|(x, y)| (x - middle) * y).sum::<f64>() / spread;
    over(slope.abs(), noise.reach * (noise.variance / spread).sqrt())
}

/// The noise within points: the variance of one value, pooled over several points.
struct Noise {
    variance: f64,
    /// The number of standard errors up to which a difference is chance.
    reach: f64,
}

impl Noise {
    fn pooled<'v>(points: impl Iterator<Item = &'v Vec<f64>> + Clone) -> Noise {
        let freedom: usize = points.clone().map(|values| values.len() - 1).sum();
        let squares: f64 = points.map(|values| (values.len() - 1) as f64 * variance(values)).sum();
        Noise { variance: squares / freedom as f64, reach: student_99(freedom as f64) }
    }
}

/// The 99th percentile of Student's t by its expansion around the normal law (Abramowitz and Stegun 26.7.5): looked up
/// thousands of times for one curve, and off by less than one in a hundred from 4 degrees of freedom on.
fn student_99(freedom: f64) -> f64 {
    let z = 2.326_347_874_f64;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / freedom + second / freedom.powi(2) + third / freedom.powi(3)
}

fn over(size: f64, chance: f64) -> f64 {
    if chance > 0.0 { size / chance } else { f64::INFINITY }
}

fn count(part: &[Vec<f64>]) -> f64 {
    part.iter().map(Vec::len).sum::<usize>() as f64
}

/// Curves with the fitted levels and residuals of each point's neighbourhood in random order, through the same fit.
fn rebuilt(curve: &Curve, samples: &[Vec<f64>], margin: f64, seed: u64) -> Vec<Curve> {
    let mut random = Random::new(seed);
    let residuals: Vec<Vec<f64>> = samples.iter().map(|values| residuals(values)).collect();
    let pools: Vec<Vec<f64>> = (0..samples.len())
        .map(|index| residuals[index.saturating_sub(1)..(index + 2).min(samples.len())].concat())
        .collect();
    let mut draw = |level: f64, pool: &[f64], count: usize| -> Vec<f64> {
        (0..count).map(|_| level + pool[random.below(pool.len())]).collect()
    };
    let rebuild = |_| {
        let points = curve.levels.iter().zip(&pools).zip(samples);
        let drawn: Vec<Vec<f64>> =
            points.map(|((level, pool), values)| draw(*level, pool, values.len())).collect();
        Curve::fit(&drawn, margin)
    };
    (0..REBUILDS).filter_map(rebuild).collect()
}

/// The deviations of values from their mean, widened to the spread of independent draws.
pub(crate) fn residuals(values: &[f64]) -> Vec<f64> {
    let (mean, n) = (mean(values), values.len() as f64);
    let widen = if n > 1.0 { (n / (n - 1.0)).sqrt() } else { 1.0 };
    values.iter().map(|value| (value - mean) * widen).collect()
}

/// The values that leave the tail's share on each side.
pub(crate) fn percentiles(mut found: Vec<usize>, tail: f64) -> Option<(usize, usize)> {
    found.sort_unstable();
    let last = found.len().checked_sub(1)?;
    let low = (tail * found.len() as f64).floor() as usize;
    Some((found[low.min(last)], found[last - low.min(last)]))
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

fn mean_of(part: &[Vec<f64>]) -> f64 {
    part.iter().flatten().sum::<f64>() / count(part)
}

/// Levels that rise up to some point and fall after it, closest to the means by weighted least squares.
fn unimodal(means: &[f64], weights: &[f64]) -> Vec<f64> {
    let points =
        |part: Range<usize>| part.map(move |at| WeightedMean { mean: means[at], weight: weights[at] });
    let rising: Vec<f64> = Pools::prefixes(points(0..means.len()));
    let mut falling: Vec<f64> = Pools::prefixes(points(0..means.len()).rev());
    falling.reverse();
    // What the levels explain is largest where what they leave is least.
    let explained = |end: usize| rising[end - 1] + falling.get(end).copied().unwrap_or(0.0);
    let end = (1..=means.len()).max_by(|a, b| explained(*a).total_cmp(&explained(*b))).unwrap_or(0);
    let mut levels = Pools::fit(points(0..end)).levels();
    let after = Pools::fit(points(end..means.len()).rev()).levels();
    levels.extend(after.into_iter().rev());
    levels
}

/// The mean of a point's blocks, and its weight in the fit.
struct WeightedMean {
    mean: f64,
    weight: f64,
}

/// Levels that never fall, closest to the means: neighbours out of order share their mean.
struct Pool {
    level: f64,
    weight: f64,
    points: usize,
}

/// The pools so far, from the first point on.
#[derive(Default)]
struct Pools {
    pools: Vec<Pool>,
    /// Sum of weight times level squared.
    explained: f64,
}

impl Pools {
    fn fit(points: impl Iterator<Item = WeightedMean>) -> Pools {
        let mut pools = Pools::default();
        points.for_each(|point| pools.push(point));
        pools
    }

    /// The sum of squares that the levels of the first point, the first two, ... explain.
    fn prefixes(points: impl Iterator<Item = WeightedMean>) -> Vec<f64> {
        let mut pools = Pools::default();
        let explained = points.map(|point| {
            pools.push(point);
            pools.explained
        });
        explained.collect()
    }

    fn push(&mut self, point: WeightedMean) {
        let squared = |pool: &Pool| pool.weight * pool.level * pool.level;
        let mut last = Pool { level: point.mean, weight: point.weight, points: 1 };
        while let Some(before) = self.pools.pop_if(|before| before.level >= last.level) {
            self.explained -= squared(&before);
            let weight = before.weight + last.weight;
            let level = (before.level * before.weight + last.level * last.weight) / weight;
            last = Pool { level, weight, points: before.points + last.points };
        }
        self.explained += squared(&last);
        self.pools.push(last);
    }

    fn levels(self) -> Vec<f64> {
        self.pools.into_iter().flat_map(|pool| std::iter::repeat_n(pool.level, pool.points)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: f64 = 0.05;

    fn sweep(rates: &[f64], blocks: usize, noise: f64, random: &mut Random) -> Vec<Point> {
        let point = |(index, rate): (usize, &f64)| Point {
            clients: index as u32 + 1,
            rates_per_s: (0..blocks).map(|_| rate * (noise * random.normal()).exp()).collect(),
        };
        rates.iter().enumerate().map(point).collect()
    }

    fn truth(rates: &[f64]) -> u32 {
        let best = rates.iter().copied().fold(0.0, f64::max);
        rates.iter().position(|rate| *rate >= (1.0 - MARGIN) * best).unwrap() as u32 + 1
    }

    /// Rises evenly up to 8 clients, then stays.
    fn broken_stick(points: u32) -> Vec<f64> {
        (1..=points).map(|n| 10_000.0 * f64::from(n.min(8))).collect()
    }

    /// Gunther's universal scalability law: contention and coherence.
    fn scalability(points: u32, contention: f64, coherence: f64) -> Vec<f64> {
        let rate = |n: f64| 10_000.0 * n / (1.0 + contention * (n - 1.0) + coherence * n * (n - 1.0));
        (1..=points).map(|n| rate(f64::from(n))).collect()
    }

    /// Share of sweeps whose interval holds the true knee, and mean of the estimates.
    fn coverage(rates: &[f64], blocks: usize, noise: f64, trials: u64) -> (f64, f64) {
        let mut random = Random::new(17);
        let (mut hits, mut sum) = (0, 0.0);
        for trial in 0..trials {
            let found = shape(&sweep(rates, blocks, noise, &mut random), MARGIN, 0.95, trial).unwrap();
            let truth = truth(rates);
            match found.knee {
                Knee::At(knee) => {
                    hits += u32::from(knee.low <= truth && knee.high.is_none_or(|high| truth <= high));
                    sum += f64::from(knee.clients);
                }
                Knee::StillRises => {
                    hits += u32::from(truth == rates.len() as u32);
                    sum += rates.len() as f64;
                }
                // Nothing is claimed; as an estimate it is as bad as any.
                Knee::Unclear => hits += 1,
            }
        }
        (f64::from(hits) / trials as f64, sum / trials as f64)
    }

    #[test]
    fn the_knee_of_a_curve_that_rises_and_stays_is_found_where_it_is() {
        let (share, estimate) = coverage(&broken_stick(12), 5, 0.04, 25);
        assert!(share >= 0.9 && (7.5..=8.8).contains(&estimate), "{share}, {estimate}");
    }

    #[test]
    fn a_curve_that_still_rises_at_its_end_has_no_knee() {
        let rates: Vec<f64> = (1..=8).map(|n| 10_000.0 * f64::from(n)).collect();
        let found = shape(&sweep(&rates, 5, 0.03, &mut Random::new(1)), MARGIN, 0.95, 1).unwrap();
        assert_eq!((found.knee, found.fall), (Knee::StillRises, None));
        assert_eq!(found.last_share, 1.0);
    }

    #[test]
    fn blocks_that_differ_more_than_the_points_leave_the_knee_unclear() {
        let rates: Vec<f64> = (1..=5).map(|n| 10_000.0 * f64::from(n)).collect();
        let found = shape(&sweep(&rates, 3, 1.0, &mut Random::new(11)), MARGIN, 0.95, 1).unwrap();
        assert_eq!((found.knee, found.fall), (Knee::Unclear, None));
    }

    #[test]
    fn where_one_client_is_enough_the_knee_is_the_first_point() {
        let found = shape(&sweep(&[5e4; 8], 5, 0.02, &mut Random::new(2)), MARGIN, 0.95, 1).unwrap();
        assert_eq!(found.knee.place().map(|knee| knee.clients), Some(1));
        assert_eq!(found.fall, None);
        assert!((found.best_per_s / 5e4 - 1.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn a_rate_that_falls_again_is_seen_and_the_best_is_that_of_the_top() {
        let rates: Vec<f64> =
            (1..=14).map(|n: u32| 1e4 * f64::from(n.min(5)) * 0.9f64.powi(n as i32 - 9).min(1.0)).collect();
        let found = shape(&sweep(&rates, 5, 0.02, &mut Random::new(3)), MARGIN, 0.95, 1).unwrap();
        let (knee, fall) = (found.knee.place().unwrap(), found.fall.unwrap());
        assert_eq!(knee.clients, 5, "{found:?}");
        assert!(fall.low <= 10 && fall.high.unwrap() >= 10 && fall.clients >= 10, "{found:?}");
        assert!((found.last_share - 0.9f64.powi(5)).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn the_answer_follows_from_the_seed() {
        let points = sweep(&broken_stick(10), 5, 0.05, &mut Random::new(4));
        assert_eq!(shape(&points, MARGIN, 0.95, 7), shape(&points, MARGIN, 0.95, 7));
    }

    #[test]
    fn few_points_few_blocks_and_rates_of_nothing_give_no_shape() {
        let mut points = sweep(&broken_stick(4), 3, 0.01, &mut Random::new(5));
        assert!(shape(&points, MARGIN, 0.95, 1).is_some());
        assert_eq!(shape(&points[..3], MARGIN, 0.95, 1), None);
        points[2].rates_per_s[1] = 0.0;
        assert_eq!(shape(&points, MARGIN, 0.95, 1), None);
        points[2].rates_per_s.truncate(1);
        assert_eq!(shape(&points, MARGIN, 0.95, 1), None);
    }

    /// By hand: 3 and 1 out of order share 2, 5 and 4 share 4.5 on the way up; then it falls.
    #[test]
    fn levels_rise_and_fall_and_what_is_out_of_order_shares_its_mean() {
        let levels = unimodal(&[3.0, 1.0, 5.0, 6.0, 4.0, 2.0, 3.0], &[1.0; 7]);
        assert_eq!(levels, [2.0, 2.0, 5.0, 6.0, 4.0, 2.5, 2.5]);
    }

    /// Printed table of Student's t, 0.99.
    #[test]
    fn the_expansion_of_student_s_t_is_that_of_the_table() {
        for (freedom, table) in [(4.0, 3.747), (8.0, 2.896), (20.0, 2.528), (60.0, 2.390)] {
            assert!((student_99(freedom) / table - 1.0).abs() < 0.01, "{freedom}");
        }
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn intervals_of_the_knee_hold_the_truth_in_long_simulations() {
        // A knee that is a corner, a round one with a fall after it, none at all: the interval errs to the safe side.
        for rates in
            [broken_stick(16), scalability(30, 0.05, 0.002), scalability(16, 0.05, 0.01), vec![1e5; 10]]
        {
            for (blocks, noise) in [(3, 0.05), (5, 0.02), (5, 0.05), (5, 0.1)] {
                let (share, _) = coverage(&rates, blocks, noise, 200);
                assert!(share >= 0.94, "{} points, {blocks} blocks, noise {noise}: {share}", rates.len());
            }
        }
        // A rate that creeps up to the end of the sweep: what is merged with the top lies a little below it.
        for (blocks, noise) in [(3, 0.05), (5, 0.02), (5, 0.05), (5, 0.1)] {
            let (share, _) = coverage(&scalability(30, 0.1, 0.0), blocks, noise, 200);
            assert!(share >= 0.75, "{blocks} blocks, noise {noise}: {share}");
        }
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn a_rate_that_stays_is_hardly_ever_said_to_fall() {
        let mut random = Random::new(3);
        let falls = (0..300).filter(|&trial| {
            shape(&sweep(&broken_stick(16), 5, 0.05, &mut random), MARGIN, 0.95, trial)
                .is_some_and(|found| found.fall.is_some())
        });
        assert!(falls.count() <= 6);
    }
}
