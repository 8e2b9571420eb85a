//! Whether a series holds its level: one step or one drift, tested against autocorrelated noise.
//!
//! Two descriptions are fitted, two levels with a step between them and a straight line, and the closer one is kept.
//! Its statistic is the size of the change over the long-run standard deviation of an AR(1) model of what is left.
//! Its law under "no change" comes from series rebuilt with the fitted model and its own innovations in random order, put
//! through the same fits: so a spike or a lingering disturbance, which are noise, do not pass for a change. Not for
//! finding many changes.

use crate::autocorrelation::redrawn;
use crate::random::Random;

/// Fewest values on each side of a change (ours).
const SIDE_MIN: usize = 4;

/// Fewest values of a series (ours): below that the fitted noise is a guess.
pub const POINTS_MIN: usize = 12;

/// Longer series are thinned to means of neighbours.
const POINTS_MAX: usize = 300;

/// Rebuilt series at most.
const REBUILDS: u32 = 1_999;

/// Rebuilt series stop early when so many were as extreme as the real one: p is then far from small
/// (Besag and Clifford 1991, Biometrika 78).
const EXTREMES_ENOUGH: u32 = 10;

/// Strongest autocorrelation that the fit allows: beyond it noise cannot be told from change.
const PHI_MAX: f64 = 0.95;

/// How a series left its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// From one level to another.
    Step,
    /// Little by little.
    Drift,
}

/// The largest change in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Whether it is a step or a drift.
    pub shape: Shape,
    /// Index of the first value after a step; 0 for a drift.
    pub start: usize,
    /// Mean before a step; where a drift begins.
    pub before: f64,
    /// Mean after a step; where a drift ends.
    pub after: f64,
    /// Chance that a series without change shows as large a one.
    pub p: f64,
}

/// The largest change of a series with its p; none with fewer than [`POINTS_MIN`] values, one that is not finite, or
/// no noise around the change.
pub fn largest_change(series: &[f64], seed: u64) -> Option<Change> {
    if series.len() < POINTS_MIN || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let stride = series.len().div_ceil(POINTS_MAX);
    let points: Vec<f64> =
        series.chunks_exact(stride).map(|part| part.iter().sum::<f64>() / stride as f64).collect();
    let fit = Fit::of(&points)?;
    let Description { shape, start, before, after, .. } = fit.description;
    Some(Change { shape, start: start * stride, before, after, p: fit.p(points.len(), seed) })
}

/// A series as a step or as a line, and what it leaves over.
struct Description {
    shape: Shape,
    start: usize,
    before: f64,
    after: f64,
    /// Size of the change over the standard error that it would have if the rest were independent and of variance 1.
    distance: f64,
    rest: Vec<f64>,
}

/// The closer description, and AR(1) noise around it.
struct Fit {
    description: Description,
    statistic: f64,
    phi: f64,
    innovations: Vec<f64>,
}

impl Fit {
    fn of(points: &[f64]) -> Option<Fit> {
        let (step, line) = (step(points), line(points));
        let squares = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
        let (step_squares, line_squares) = (squares(&step.rest), squares(&line.rest));
        let (description, left) =
            if line_squares < step_squares { (line, line_squares) } else { (step, step_squares) };
        if left <= f64::EPSILON * squares(points) {
            // Described exactly: any rebuilt series would be constant.
            return None;
        }
        let rest = &description.rest;
        let raw = rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / left;
        // Taking two means out of n values lowers the estimate by about 2 (1 + 3 phi) / n (Kendall 1954 for one mean).
        // One standard error more keeps false alarms of 20 correlated values near the level (our simulations).
        let n = points.len() as f64;
        let phi = (raw + 2.0 * (1.0 + 3.0 * raw.max(0.0)) / n + 1.0 / n.sqrt()).clamp(0.0, PHI_MAX);
        let innovations: Vec<f64> = rest.windows(2).map(|pair| pair[1] - phi * pair[0]).collect();
        let scale = (squares(&innovations) / innovations.len() as f64).sqrt();
        let statistic = description.distance * (1.0 - phi) / scale;
        Some(Fit { statistic, phi, innovations, description })
    }

    fn p(&self, n: usize, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let mut extremes = 0;
        for rebuild in 1..=REBUILDS {
            let rebuilt = Fit::of(&self.rebuilt(n, &mut random));
            extremes += u32::from(rebuilt.is_some_and(|fit| fit.statistic >= self.statistic));
            if extremes == EXTREMES_ENOUGH {
                return f64::from(extremes) / f64::from(rebuild);
            }
        }
        f64::from(extremes + 1) / f64::from(REBUILDS + 1)
    }

    /// A series without change: the fitted noise, its innovations drawn with replacement.
    fn rebuilt(&self, n: usize, random: &mut Random) -> Vec<f64> {
        redrawn(self.phi, &self.innovations, n, random)
    }
}

/// Two levels: the split with the largest standardised difference |difference| * sqrt(k (n-k) / n).
fn step(points: &[f64]) -> Description {
    let n = points.len();
    let side = SIDE_MIN.max(n / 20);
    let total: f64 = points.iter().sum();
    let mut sum: f64 = points[..side - 1].iter().sum();
    let (mut start, mut distance) = (side, 0.0);
    for k in side..=n - side {
        sum += points[k - 1];
        let (left, right) = (k as f64, (n - k) as f64);
        let found = (sum / left - (total - sum) / right).abs() * (left * right / n as f64).sqrt();
        if found > distance {
            (start, distance) = (k, found);
        }
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (before, after) = (mean(&points[..start]), mean(&points[start..]));
    let level = |i: usize| if i < start { before } else { after };
    let rest = points.iter().enumerate().map(|(i, x)| x - level(i)).collect();
    Description { shape: Shape::Step, start, before, after, distance, rest }
}

/// A straight line by least squares.
fn line(points: &[f64]) -> Description {
    let n = points.len() as f64;
    let mean = points.iter().sum::<f64>() / n;
    let middle = (n - 1.0) / 2.0;
    let spread = n * (n * n - 1.0) / 12.0;
    let slope = points.iter().enumerate().map(|(i, x)| (i as f64 - middle) * x).sum::<f64>() / spread;
    let at = |i: f64| mean + slope * (i - middle);
    let rest = points.iter().enumerate().map(|(i, x)| x - at(i as f64)).collect();
    let distance = slope.abs() * spread.sqrt();
    Description { shape: Shape::Drift, start: 0, before: at(0.0), after: at(n - 1.0), distance, rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latency of each second in logarithms: AR(1) noise of 10 % with a change of level at a point.
    fn seconds(n: usize, phi: f64, change: (usize, f64), random: &mut Random) -> Vec<f64> {
        let mut noise = 0.1 * random.normal();
        let series = (0..n).map(|second| {
            noise = phi * noise + 0.1 * (1.0 - phi * phi).sqrt() * random.normal();
            noise + if second >= change.0 { change.1 } else { 0.0 }
        });
        series.collect()
    }

    /// Share of series in which a change is found at the level alpha.
    fn found(trials: u64, n: usize, phi: f64, change: (usize, f64), alpha: f64) -> f64 {
        let mut random = Random::new(99);
        let hits = (0..trials).filter(|&trial| {
            let series = seconds(n, phi, change, &mut random);
            largest_change(&series, trial).is_some_and(|change| change.p <= alpha)
        });
        hits.count() as f64 / trials as f64
    }

    #[test]
    fn lingering_noise_does_not_pass_for_a_change() {
        let share = found(200, 60, 0.5, (0, 0.0), 0.05);
        assert!(share <= 0.10, "{share}");
    }

    #[test]
    fn a_step_of_20_percent_is_found_where_it_is() {
        let mut random = Random::new(5);
        let series = seconds(100, 0.5, (40, 1.2f64.ln()), &mut random);
        let change = largest_change(&series, 1).unwrap();
        assert!(change.p < 0.01, "{change:?}");
        assert!((36..=44).contains(&change.start), "{change:?}");
        assert!(((change.after - change.before).exp() - 1.2).abs() < 0.08, "{change:?}");
        assert_eq!(change.shape, Shape::Step);
    }

    #[test]
    fn a_slow_rise_is_a_drift() {
        let mut random = Random::new(6);
        let noise = seconds(120, 0.3, (0, 0.0), &mut random);
        let series: Vec<f64> = noise.iter().enumerate().map(|(i, x)| x + 0.005 * i as f64).collect();
        let change = largest_change(&series, 1).unwrap();
        assert!(change.p < 0.01, "{change:?}");
        assert_eq!(change.shape, Shape::Drift);
    }

    #[test]
    fn one_spike_is_no_change() {
        let mut random = Random::new(8);
        let mut series = seconds(60, 0.0, (0, 0.0), &mut random);
        series[30] += 3.0;
        assert!(largest_change(&series, 1).unwrap().p > 0.05);
    }

    #[test]
    fn the_answer_follows_from_the_seed() {
        let series = seconds(50, 0.5, (25, 0.15), &mut Random::new(2));
        assert_eq!(largest_change(&series, 4), largest_change(&series, 4));
    }

    #[test]
    fn a_series_too_short_or_constant_gives_nothing() {
        assert_eq!(largest_change(&[1.0; 11], 0), None);
        assert_eq!(largest_change(&[1.0; 40], 0), None);
        assert_eq!(largest_change(&[f64::NAN; 40], 0), None);
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn false_alarms_and_power_are_as_stated_in_long_simulations() {
        for (n, phi) in [(20, 0.0), (20, 0.5), (40, 0.5), (100, 0.0), (100, 0.5), (100, 0.8)] {
            let (at_5, at_1) = (found(2_000, n, phi, (0, 0.0), 0.05), found(2_000, n, phi, (0, 0.0), 0.01));
            assert!(at_5 <= 0.075 && at_1 <= 0.03, "n {n}, phi {phi}: {at_5}, {at_1}");
        }
        let power = found(500, 100, 0.5, (50, 1.2f64.ln()), 0.01);
        assert!(power >= 0.7, "{power}");
    }
}
