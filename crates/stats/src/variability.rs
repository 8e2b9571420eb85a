//! The number of clients from which a rate varies more from block to block.
//!
//! The points of a sweep are split in two at each place in turn; the split under which the blocks' variances, pooled on
//! either side, are most likely is the candidate (likelihood ratio of normal variances of the logarithms). Its law when
//! nothing changes comes from the points' variances in random order, which are then as likely as any other order. Only a
//! rise is looked for. Not for levels: that is [`crate::knee`].

use crate::knee::{BLOCKS_MIN, ClientCount, Point, REBUILDS, percentiles, residuals, variance};
use crate::random::Random;

/// Fewest points for a test at [`ALPHA`] to have a chance: of six points' orders, 2 + 4 splits, one in fifteen is as clear.
pub const POINTS_MIN: usize = 7;

/// Fewest points on each side: one point alone may hold one bad block.
const SIDE_MIN: usize = 2;

/// Chance of seeing a rise where there is none.
const ALPHA: f64 = 0.05;

/// Smallest rise of the standard deviation that matters (ours).
const RATIO_MIN: f64 = 1.5;

const SHUFFLES: u32 = 1_999;

/// A rise of the variation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Onset {
    /// The first number of clients with the larger variation.
    pub place: ClientCount,
    /// Coefficient of variation of blocks before it.
    pub before: f64,
    /// The same from it on.
    pub after: f64,
    /// Chance of such a rise where there is none.
    pub p: f64,
}

/// The place from which on rates vary more; none where that is not seen, or with fewer than [`POINTS_MIN`] points of at
/// least [`BLOCKS_MIN`] blocks.
pub fn onset(points: &[Point], level: f64, seed: u64) -> Option<Onset> {
    let measured: Vec<&Point> = points.iter().filter(|point| point.rates_per_s.len() >= BLOCKS_MIN).collect();
    let rates = || measured.iter().flat_map(|point| &point.rates_per_s);
    if measured.len() < POINTS_MIN || !rates().all(|rate| rate.is_finite() && *rate > 0.0) {
        return None;
    }
    let samples: Vec<Vec<f64>> =
        measured.iter().map(|point| point.rates_per_s.iter().map(|rate| rate.ln()).collect()).collect();
    let spreads: Vec<Spread> = samples.iter().map(|values| Spread::from_values(values)).collect();
    let split = split(&spreads)?;
    let mut random = Random::new(seed);
    let p = p(&spreads, split.likelihood, &mut random);
    if p > ALPHA || split.after < RATIO_MIN * split.before {
        return None;
    }
    let (low, high) = percentiles(rebuilt(&samples, split.at, &mut random), (1.0 - level) / 2.0)?;
    let clients = |index: usize| measured[index].clients;
    let place = ClientCount {
        clients: clients(split.at),
        low: clients(low.min(split.at)),
        high: Some(clients(high.max(split.at))),
    };
    // A standard deviation of logarithms is a coefficient of variation where it is small, and a log-normal one's is this.
    let variation = |deviation: f64| (deviation.powi(2).exp() - 1.0).sqrt();
    Some(Onset { place, before: variation(split.before), after: variation(split.after), p })
}

/// Sum of squared deviations of a point's blocks, and its degrees of freedom.
#[derive(Clone, Copy)]
struct Spread {
    squares: f64,
    freedom: f64,
}

impl Spread {
    fn from_values(values: &[f64]) -> Spread {
        let freedom = values.len() as f64 - 1.0;
        Spread { squares: variance(values) * freedom, freedom }
    }

    fn plus(self, other: Spread) -> Spread {
        Spread { squares: self.squares + other.squares, freedom: self.freedom + other.freedom }
    }

    fn minus(self, other: Spread) -> Spread {
        Spread { squares: (self.squares - other.squares).max(0.0), freedom: self.freedom - other.freedom }
    }

    fn variance(self) -> f64 {
        self.squares / self.freedom
    }

    fn likelihood(self) -> f64 {
        -self.freedom * self.variance().max(f64::MIN_POSITIVE).ln()
    }
}

/// A split of the points, with the standard deviation on either side.
struct Split {
    at: usize,
    likelihood: f64,
    before: f64,
    after: f64,
}

/// The most likely split with more variation after it than before.
fn split(spreads: &[Spread]) -> Option<Split> {
    let nothing = Spread { squares: 0.0, freedom: 0.0 };
    let whole = spreads.iter().fold(nothing, |sum, spread| sum.plus(*spread));
    let mut before = nothing;
    let mut best: Option<Split> = None;
    for (index, spread) in spreads.iter().enumerate().take(spreads.len().saturating_sub(SIDE_MIN)) {
        before = before.plus(*spread);
        let (at, after) = (index + 1, whole.minus(before));
        if at < SIDE_MIN || after.variance() <= before.variance() {
            continue;
        }
        let likelihood = before.likelihood() + after.likelihood() - whole.likelihood();
        if best.as_ref().is_none_or(|best| likelihood > best.likelihood) {
            best = Some(Split {
                at,
                likelihood,
                before: before.variance().sqrt(),
                after: after.variance().sqrt(),
            });
        }
    }
    best
}

fn p(spreads: &[Spread], likelihood: f64, random: &mut Random) -> f64 {
    let mut order = spreads.to_vec();
    let extremes = (0..SHUFFLES).filter(|_| {
        random.shuffle(&mut order);
        split(&order).is_some_and(|split| split.likelihood >= likelihood)
    });
    (extremes.count() as f64 + 1.0) / f64::from(SHUFFLES + 1)
}

/// The place of the split when the blocks of either side are drawn anew.
fn rebuilt(samples: &[Vec<f64>], at: usize, random: &mut Random) -> Vec<usize> {
    let pool = |part: &[Vec<f64>]| -> Vec<f64> { part.iter().flat_map(|values| residuals(values)).collect() };
    let pools = [pool(&samples[..at]), pool(&samples[at..])];
    let rebuild = |_| {
        let spreads: Vec<Spread> = samples
            .iter()
            .enumerate()
            .map(|(index, values)| {
                let pool = &pools[usize::from(index >= at)];
                let drawn: Vec<f64> = values.iter().map(|_| pool[random.below(pool.len())]).collect();
                Spread::from_values(&drawn)
            })
            .collect();
        split(&spreads).map(|split| split.at)
    };
    (0..REBUILDS).filter_map(rebuild).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The noise of rates: `quiet`, and from a number of clients on `loud`.
    struct Noise {
        from: u32,
        quiet: f64,
        loud: f64,
    }

    /// Rates around one level.
    fn sweep(points: u32, blocks: usize, noise: Noise, random: &mut Random) -> Vec<Point> {
        let point = |clients: u32| {
            let noise = if clients >= noise.from { noise.loud } else { noise.quiet };
            let rates_per_s = (0..blocks).map(|_| 1e5 * (noise * random.normal()).exp()).collect();
            Point { clients, rates_per_s }
        };
        (1..=points).map(point).collect()
    }

    #[test]
    fn variation_that_begins_at_a_place_is_found_there() {
        let mut random = Random::new(1);
        let trials = 30;
        let hits = (0..trials).filter(|&trial| {
            let found =
                onset(&sweep(16, 5, Noise { from: 10, quiet: 0.02, loud: 0.12 }, &mut random), 0.95, trial);
            found
                .is_some_and(|found| found.place.low <= 10 && found.place.high.is_some_and(|high| high >= 10))
        });
        assert!(hits.count() >= 26);
    }

    #[test]
    fn how_much_it_varies_on_either_side_is_told() {
        let found =
            onset(&sweep(20, 8, Noise { from: 11, quiet: 0.02, loud: 0.10 }, &mut Random::new(2)), 0.95, 1)
                .unwrap();
        assert!((found.before - 0.02).abs() < 0.006 && (found.after - 0.10).abs() < 0.03, "{found:?}");
        assert!(found.p < 0.01, "{found:?}");
    }

    #[test]
    fn even_variation_and_variation_that_falls_have_no_onset() {
        let mut random = Random::new(3);
        let even = (0..60).filter(|&trial| {
            onset(&sweep(14, 5, Noise { from: 1, quiet: 0.05, loud: 0.05 }, &mut random), 0.95, trial)
                .is_some()
        });
        assert!(even.count() <= 6);
        assert_eq!(
            onset(&sweep(16, 5, Noise { from: 9, quiet: 0.12, loud: 0.02 }, &mut random), 0.95, 1),
            None
        );
    }

    #[test]
    fn few_points_or_blocks_give_no_onset() {
        assert_eq!(
            onset(&sweep(6, 5, Noise { from: 4, quiet: 0.01, loud: 0.3 }, &mut Random::new(4)), 0.95, 1),
            None
        );
        assert_eq!(
            onset(&sweep(12, 2, Noise { from: 6, quiet: 0.01, loud: 0.3 }, &mut Random::new(5)), 0.95, 1),
            None
        );
    }

    #[test]
    fn blocks_that_are_equal_to_the_last_digit_do_not_break_it() {
        let point = |clients: u32| Point { clients, rates_per_s: vec![1e5; 5] };
        assert_eq!(onset(&(1..=10).map(point).collect::<Vec<_>>(), 0.95, 1), None);
    }

    #[test]
    #[ignore = "slow: make simulations"]
    fn false_alarms_and_coverage_are_as_stated_in_long_simulations() {
        let mut random = Random::new(6);
        for points in [8, 15, 30] {
            let alarms = (0..600).filter(|&trial| {
                onset(&sweep(points, 5, Noise { from: 1, quiet: 0.05, loud: 0.05 }, &mut random), 0.95, trial)
                    .is_some()
            });
            assert!(alarms.count() <= 48, "{points} points");
        }
        for (from, loud) in [(8, 0.08), (15, 0.08), (15, 0.2)] {
            let found: Vec<Onset> = (0..400)
                .filter_map(|trial| {
                    onset(&sweep(30, 5, Noise { from, quiet: 0.03, loud }, &mut random), 0.95, trial)
                })
                .collect();
            let held =
                found.iter().filter(|it| it.place.low <= from && it.place.high.is_some_and(|it| it >= from));
            let share = held.count() as f64 / found.len() as f64;
            assert!(found.len() > 300 && share >= 0.9, "{from}, {loud}: {} found, {share}", found.len());
        }
    }
}
