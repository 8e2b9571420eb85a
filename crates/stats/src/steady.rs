//! A test that a series holds its level, and the form of its change if it does not: growth or decline, steps, swings; tested
//! against autocorrelated noise.
//!
//! Every shape is fitted, and each is held against "no change" by the logarithm of the innovation variances of AR(1) models without
//! and with it, less a weight for what it can follow of the noise (a likelihood ratio under Schwarz's criterion). The best
//! shape's figure is the statistic. Its law under "no change" comes from series rebuilt with the fitted correlation and the
//! series' own innovations in random order, put through the same search: having looked at many shapes is allowed for, and a
//! spike or a lingering disturbance, which are noise, do not pass for a change. Not for the places of many changes in a long
//! series, which is [`crate::change_point`].
//!
//! How well it does, for 15, 30 and 60 values, is in the simulations below.

mod shapes;

use crate::autocorrelation::{PHI_MAX, redrawn, unbiased};
use crate::random::Random;
use shapes::{Fitted, Outline, Shapes};

/// Fewest values of a series (ours): below that the fitted noise is a guess.
pub const POINTS_MIN: usize = 12;

/// Longer series are thinned to means of neighbours; their last part is searched for swings that this would hide.
const POINTS_MAX: usize = 300;

/// Rebuilt series at most.
const REBUILDS: u32 = 1_999;

/// Rebuilt series stop early when so many were as extreme as the real one: p is then far from small
/// (Besag and Clifford 1991, Biometrika 78).
const EXTREMES_ENOUGH: u32 = 10;

/// Weight of the correlation that a series without change would have, the rest being what the best shape leaves (ours, by
/// simulation: 1 would miss growth by half in 30 values, 0 would take lingering noise for steps twice too often).
const UNCHANGED_WEIGHT: f64 = 0.5;

/// The form of a departure from the level.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Little by little, in one direction.
    Drift {
        /// Index from which on nine tenths of it are done.
        settled: usize,
    },
    /// From level to level.
    Steps {
        /// Index of the first value after each step.
        starts: Vec<usize>,
        /// Mean of each level: one more than steps.
        levels: Vec<f64>,
    },
    /// Up and down again and again.
    Swings {
        /// From one rise to the next, in values of the series.
        period: f64,
    },
}

/// The clearest change in a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The form of its departure from the level.
    pub shape: Shape,
    /// The first level; where a drift begins; the lowest of a swing.
    pub before: f64,
    /// The last level; where a drift ends; the highest of a swing.
    pub after: f64,
    /// Highest less lowest level.
    pub span: f64,
    /// Chance that a series without change shows as clear a one.
    pub p: f64,
}

impl Change {
    /// Index from which on the series is at its last level; none for swings, which have none.
    pub fn settled(&self) -> Option<usize> {
        match &self.shape {
            Shape::Drift { settled } => Some(*settled),
            Shape::Steps { starts, .. } => starts.last().copied(),
            Shape::Swings { .. } => None,
        }
    }

    fn thinned_by(mut self, stride: usize) -> Change {
        match &mut self.shape {
            Shape::Drift { settled } => *settled *= stride,
            Shape::Steps { starts, .. } => starts.iter_mut().for_each(|start| *start *= stride),
            Shape::Swings { period } => *period *= stride as f64,
        }
        self
    }
}

/// The clearest change of a series with its p; none with fewer than [`POINTS_MIN`] values, one that is not finite, or
/// values that are all alike.
pub fn largest_change(series: &[f64], seed: u64) -> Option<Change> {
    if series.len() < POINTS_MIN || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let stride = series.len().div_ceil(POINTS_MAX);
    let points: Vec<f64> =
        series.chunks_exact(stride).map(|part| part.iter().sum::<f64>() / stride as f64).collect();
    let whole = clearest(&points, &Shapes::all(points.len()), seed).map(|change| change.thinned_by(stride));
    if stride == 1 {
        return whole;
    }
    let last = &series[series.len() - POINTS_MAX..];
    // Swings too short for the means of neighbours may still show there, as longer ones than they are.
    let found = [clearest(last, &Shapes::swings(last.len()), seed), whole];
    let clearer = found.into_iter().flatten().min_by(|a, b| a.p.total_cmp(&b.p))?;
    // Two searches.
    Some(Change { p: (2.0 * clearer.p).min(1.0), ..clearer })
}

fn clearest(points: &[f64], shapes: &Shapes, seed: u64) -> Option<Change> {
    let fit = Fit::best(points, shapes)?;
    Some(fit.change(points, fit.p(points.len(), shapes, seed)))
}

/// The best shape, and the noise around it.
struct Fit {
    best: Fitted,
    statistic: f64,
    phi: f64,
    innovations: Vec<f64>,
}

impl Fit {
    fn best(points: &[f64], shapes: &Shapes) -> Option<Fit> {
        let n = points.len() as f64;
        let mean = points.iter().sum::<f64>() / n;
        let centred: Vec<f64> = points.iter().map(|x| x - mean).collect();
        if squares(&centred) <= f64::EPSILON * squares(points) {
            return None;
        }
        let unchanged = Noise::estimate(&centred);
        let mut best: Option<(f64, Fitted)> = None;
        shapes.fit(&centred, unchanged.phi, |fitted| {
            // What is described exactly is described better than anything else, and not infinitely well.
            let left = (Noise::estimate(&fitted.rest).variance / unchanged.variance).max(1e-12);
            let statistic = -n * left.ln() - fitted.weight * n.ln();
            if best.as_ref().is_none_or(|(most, _)| statistic > *most) {
                best = Some((statistic, fitted));
            }
        });
        let (statistic, best) = best?;
        let without_change = unbiased(unchanged.phi, 1.0, n).max(0.0);
        let around = unbiased(Noise::estimate(&best.rest).phi, best.parameters, n).clamp(0.0, without_change);
        let phi = UNCHANGED_WEIGHT * without_change + (1.0 - UNCHANGED_WEIGHT) * around;
        let news: Vec<f64> = centred.windows(2).map(|pair| pair[1] - without_change * pair[0]).collect();
        let mean = news.iter().sum::<f64>() / news.len() as f64;
        let innovations = news.iter().map(|x| x - mean).collect();
        Some(Fit { best, statistic, phi, innovations })
    }

    fn p(&self, n: usize, shapes: &Shapes, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let mut extremes = 0;
        for rebuild in 1..=REBUILDS {
            let rebuilt = Fit::best(&redrawn(self.phi, &self.innovations, n, &mut random), shapes);
            extremes += u32::from(rebuilt.is_some_and(|fit| fit.statistic >= self.statistic));
            if extremes == EXTREMES_ENOUGH {
                return f64::from(extremes) / f64::from(rebuild);
            }
        }
        f64::from(extremes + 1) / f64::from(REBUILDS + 1)
    }

    fn change(&self, points: &[f64], p: f64) -> Change {
        let mean = points.iter().sum::<f64>() / points.len() as f64;
        // The shape itself: the series without what the shape leaves.
        let level: Vec<f64> = points.iter().zip(&self.best.rest).map(|(x, rest)| x - rest).collect();
        let (first, last) = (level.first().copied().unwrap_or(mean), level.last().copied().unwrap_or(mean));
        let (low, high) =
            level.iter().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(*x), high.max(*x)));
        let span = high - low;
        let (shape, before, after) = match &self.best.outline {
            Outline::Curve => {
                let done = |x: &f64| (x - first).abs() >= 0.9 * (last - first).abs();
                (Shape::Drift { settled: level.iter().position(done).unwrap_or(0) }, first, last)
            }
            Outline::Steps(starts) => {
                let levels = std::iter::once(0).chain(starts.iter().copied()).map(|start| level[start]);
                (Shape::Steps { starts: starts.clone(), levels: levels.collect() }, first, last)
            }
            Outline::Swings { period } => (Shape::Swings { period: *period }, low, high),
        };
        Change { shape, before, after, span, p }
    }
}

/// AR(1) noise: correlation of neighbours and variance of what they do not explain (Burg's estimate, which does not need the
/// series to be long; Kay 1988, Modern Spectral Estimation, section 7.3).
struct Noise {
    phi: f64,
    variance: f64,
}

impl Noise {
    fn estimate(rest: &[f64]) -> Noise {
        let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let both: f64 = squares(&rest[1..]) + squares(&rest[..rest.len() - 1]);
        if both <= 0.0 {
            return Noise { phi: 0.0, variance: 0.0 };
        }
        let phi = (2.0 * products / both).clamp(-PHI_MAX, PHI_MAX);
        let left = both * (1.0 + phi * phi) - 4.0 * phi * products;
        Noise { phi, variance: left / (2.0 * (rest.len() - 1) as f64) }
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum()
}

#[cfg(test)]
mod tests;
