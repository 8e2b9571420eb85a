//! Whether a series holds its level: one change point, tested against autocorrelated noise.
//!
//! The statistic is the largest standardised difference of means before and after a point, over the long-run standard
//! deviation of an AR(1) model fitted to what is left when that difference is taken out. Its law under "no change" comes
//! from series rebuilt with the fitted model and its own innovations in random order, put through the same fit: so
//! a spike or a lingering disturbance, which are noise, do not pass for a change. Not for finding many changes.

use crate::random::Random;
use crate::trend::trend;

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

/// The largest change of level in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value after it.
    pub start: usize,
    /// Mean before.
    pub before: f64,
    /// Mean after.
    pub after: f64,
    /// Chance that a series without change shows as large a one.
    pub p: f64,
    /// Whether a straight line describes the series better than two levels.
    pub shape: Shape,
}

/// The largest change of a series with its p; none with fewer than [`POINTS_MIN`] values, one that is not finite, or
/// all values equal.
pub fn largest_change(series: &[f64], seed: u64) -> Option<Change> {
    if series.len() < POINTS_MIN || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let stride = series.len().div_ceil(POINTS_MAX);
    let points: Vec<f64> =
        series.chunks_exact(stride).map(|part| part.iter().sum::<f64>() / stride as f64).collect();
    let fit = Fit::of(&points)?;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    Some(Change {
        start: fit.start * stride,
        before: mean(&points[..fit.start]),
        after: mean(&points[fit.start..]),
        p: fit.p(points.len(), seed),
        shape: shape(&points, fit.start),
    })
}

/// One change of level and AR(1) noise around it.
struct Fit {
    start: usize,
    statistic: f64,
    phi: f64,
    innovations: Vec<f64>,
}

impl Fit {
    fn of(points: &[f64]) -> Option<Fit> {
        let n = points.len();
        let (start, distance) = widest_split(points);
        let rest = around_levels(points, start);
        let squares: f64 = rest.iter().map(|x| x * x).sum();
        if squares <= f64::EPSILON * points.iter().map(|x| x * x).sum::<f64>() {
            // Two exact levels: any rebuilt series would be constant.
            return None;
        }
        let raw = rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares;
        // Taking two means out of n values lowers the estimate by about 2 (1 + 3 phi) / n (Kendall 1954 for one mean).
        // One standard error more keeps false alarms of 20 correlated values near the level (our simulations).
        let correction = 2.0 * (1.0 + 3.0 * raw.max(0.0)) / n as f64 + 1.0 / (n as f64).sqrt();
        let phi = (raw + correction).clamp(0.0, PHI_MAX);
        let innovations: Vec<f64> = rest.windows(2).map(|pair| pair[1] - phi * pair[0]).collect();
        let scale = (innovations.iter().map(|x| x * x).sum::<f64>() / innovations.len() as f64).sqrt();
        Some(Fit { start, statistic: distance * (1.0 - phi) / scale, phi, innovations })
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
        let mut draw = || self.innovations[random.below(self.innovations.len())];
        // Start in the spread that the noise has in the long run.
        let mut value = draw() / (1.0 - self.phi * self.phi).sqrt();
        let series = (0..n).map(|_| {
            value = self.phi * value + draw();
            value
        });
        series.collect()
    }
}

/// The split with the largest difference of means, standardised by |difference| * sqrt(k (n-k) / n).
fn widest_split(points: &[f64]) -> (usize, f64) {
    let n = points.len();
    let side = SIDE_MIN.max(n / 20);
    let total: f64 = points.iter().sum();
    let mut before: f64 = points[..side - 1].iter().sum();
    let mut widest = (side, 0.0);
    for k in side..=n - side {
        before += points[k - 1];
        let (left, right) = (k as f64, (n - k) as f64);
        let distance = (before / left - (total - before) / right).abs() * (left * right / n as f64).sqrt();
        if distance > widest.1 {
            widest = (k, distance);
        }
    }
    widest
}

/// The series less the mean of its side of the change.
fn around_levels(points: &[f64], start: usize) -> Vec<f64> {
    let (before, after) = points.split_at(start);
    let centred = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|x| x - mean).collect::<Vec<f64>>()
    };
    [centred(before), centred(after)].concat()
}

fn shape(points: &[f64], start: usize) -> Shape {
    let around_step: f64 = around_levels(points, start).iter().map(|x| x * x).sum();
    let slope = trend(points).map_or(0.0, |trend| trend.slope);
    let n = points.len() as f64;
    let mean = points.iter().sum::<f64>() / n;
    let line = |i: usize| mean + slope * (i as f64 - (n - 1.0) / 2.0);
    let around_line: f64 = points.iter().enumerate().map(|(i, x)| (x - line(i)).powi(2)).sum();
    if around_line < around_step { Shape::Drift } else { Shape::Step }
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
