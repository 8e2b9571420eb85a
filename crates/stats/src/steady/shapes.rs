//! The shapes of a series that does not hold its level: curves that only rise or fall, levels with steps between them, swings.
//!
//! Each shape is fitted by least squares and gives what it leaves over. Which of them is closest is decided by the caller; the
//! weights against shapes that can follow more of the noise are beside them here.

use super::squares;

/// Fewest values of a level between steps (ours).
const SIDE_MIN: usize = 4;

/// Most steps that are looked for (ours): more of them are a curve or swings.
const STEPS_MAX: usize = 4;

/// Fewest periods of a swing in a series (ours): two of them are two steps up and down.
const PERIODS_MIN: f64 = 3.0;

/// Shortest period, in values (ours).
const PERIOD_MIN: f64 = 4.0;

/// Sines of a swing: with three of them a saw-tooth is one to four fifths.
const HARMONICS_MAX: usize = 3;

/// Factors by which the curves rise in a straight line of which the logarithm is taken: a queue that grows evenly.
const FACTORS: [f64; 3] = [5.0, 50.0, 500.0];

/// Parts of the series at which a curve may begin (ours).
const BEGINNINGS: [f64; 5] = [0.2, 0.35, 0.5, 0.65, 0.8];

/// Weights in units of ln n, like the number of fitted values in Schwarz's criterion (1978, Annals of Statistics 6): the size of a
/// curve and which it is, the size and place of a step, the two sizes of a sine and its period. The halves are ours, set by
/// the simulations so that none of them makes most of the false alarms.
const CURVE_WEIGHT: f64 = 1.5;
const STEP_WEIGHT: f64 = 2.5;
const MORE_STEPS_WEIGHT: f64 = 2.0;
const SWING_WEIGHT: f64 = 2.5;
const MORE_SINES_WEIGHT: f64 = 1.5;

/// A shape fitted to a series whose mean is 0.
pub(super) struct Fitted {
    pub(super) outline: Outline,
    /// The series without it.
    pub(super) rest: Vec<f64>,
    /// The penalty of the shape, in units of ln n.
    pub(super) weight: f64,
    /// Values fitted, the series' own mean included.
    pub(super) parameters: f64,
}

/// The kind of a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outline {
    Curve,
    Steps(Vec<usize>),
    Swings { period: f64 },
}

/// All curves and sines for series of one length, made once.
pub(super) struct Shapes {
    curves: Vec<Vec<f64>>,
    waves: Vec<Wave>,
    steps: bool,
}

struct Wave {
    period: f64,
    /// Orthogonal columns of length 1: sine and cosine of the first harmonic, of the second ...
    sines: Vec<Vec<f64>>,
}

impl Shapes {
    /// Every shape.
    pub(super) fn all(n: usize) -> Shapes {
        Shapes { curves: curves(n), waves: waves(n), steps: true }
    }

    /// Swings alone.
    pub(super) fn swings(n: usize) -> Shapes {
        Shapes { curves: Vec::new(), waves: waves(n), steps: false }
    }

    /// Hands every candidate to `look`; `phi` is the correlation of neighbours in the series.
    pub(super) fn fit(&self, series: &[f64], phi: f64, mut look: impl FnMut(Fitted)) {
        for curve in &self.curves {
            let rest = without(series, std::slice::from_ref(curve));
            look(Fitted { outline: Outline::Curve, rest, weight: CURVE_WEIGHT, parameters: 2.0 });
        }
        if self.steps {
            fit_steps(series, &mut look);
        }
        self.fit_swings(series, phi, &mut look);
    }

    /// The period that explains most, for one sine, two and three: of the series itself, and of what its neighbours do not
    /// explain, because noise that lingers is strongest at long periods.
    fn fit_swings(&self, series: &[f64], phi: f64, look: &mut impl FnMut(Fitted)) {
        let news = series.windows(2).map(|pair| pair[1] - phi * pair[0]);
        let news: Vec<f64> = std::iter::once(0.0).chain(news).collect();
        for of in [news.as_slice(), series] {
            let mut best = [(0.0, None); HARMONICS_MAX];
            for wave in &self.waves {
                let mut energy = 0.0;
                for (harmonic, pair) in wave.sines.chunks(2).enumerate() {
                    energy += pair.iter().map(|sine| product(sine, of).powi(2)).sum::<f64>();
                    if energy > best[harmonic].0 {
                        best[harmonic] = (energy, Some(wave));
                    }
                }
            }
            for (more, (_, wave)) in best.into_iter().enumerate() {
                let Some(wave) = wave else { continue };
                let sines = &wave.sines[..wave.sines.len().min(2 * (more + 1))];
                look(Fitted {
                    outline: Outline::Swings { period: wave.period },
                    rest: without(series, sines),
                    weight: SWING_WEIGHT + MORE_SINES_WEIGHT * more as f64,
                    parameters: 1.0 + sines.len() as f64,
                });
            }
        }
    }
}

/// Levels with one step between them, with two and so on: each next step is the one that explains most.
fn fit_steps(series: &[f64], look: &mut impl FnMut(Fitted)) {
    let side = SIDE_MIN.max(series.len() / 20);
    let mut bounds = vec![0, series.len()];
    for more in 0..STEPS_MAX {
        let next = bounds.windows(2).filter_map(|part| best_split(series, part[0], part[1], side));
        let Some((_, start)) = next.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        bounds.push(start);
        bounds.sort_unstable();
        let mut rest = series.to_vec();
        for part in bounds.windows(2) {
            let part = &mut rest[part[0]..part[1]];
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter_mut().for_each(|x| *x -= mean);
        }
        look(Fitted {
            outline: Outline::Steps(bounds[1..bounds.len() - 1].to_vec()),
            rest,
            weight: STEP_WEIGHT + MORE_STEPS_WEIGHT * more as f64,
            parameters: 2.0 + more as f64,
        });
    }
}

/// The split at which two levels explain most of a part, and the squares that they explain.
fn best_split(series: &[f64], from: usize, to: usize, side: usize) -> Option<(f64, usize)> {
    let total: f64 = series[from..to].iter().sum();
    let mut before = 0.0;
    let splits = (from + 1..to).filter_map(|start| {
        before += series[start - 1];
        let (left, right) = ((start - from) as f64, (to - start) as f64);
        let apart = before / left - (total - before) / right;
        let room = start - from >= side && to - start >= side;
        room.then(|| (apart * apart * left * right / (left + right), start))
    });
    splits.filter(|(gain, _)| *gain > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Straight lines, their logarithms, and both from later on; each also run backwards.
fn curves(n: usize) -> Vec<Vec<f64>> {
    let mut curves = Vec::new();
    let mut add = |rise: &dyn Fn(f64) -> f64| {
        let at = |i: usize| i as f64 / (n - 1) as f64;
        for curve in [(0..n).map(|i| rise(at(i))).collect(), (0..n).map(|i| -rise(1.0 - at(i))).collect()] {
            curves.extend(scaled(curve, &[]));
        }
    };
    let grown = |factor: f64, at: f64| (1.0 + (factor - 1.0) * at).ln();
    add(&|at| at);
    FACTORS.iter().for_each(|factor| add(&|at| grown(*factor, at)));
    for beginning in BEGINNINGS {
        add(&|at| (at - beginning).max(0.0));
        FACTORS[..2].iter().for_each(|factor| add(&|at| grown(*factor, (at - beginning).max(0.0))));
    }
    // A straight line runs backwards as it runs forwards.
    curves.remove(1);
    curves
}

/// Sines of every period that fits, two to each step of 1/n in frequency.
fn waves(n: usize) -> Vec<Wave> {
    let periods = (0..).map(|step| 2.0 * n as f64 / (2.0 * PERIODS_MIN + f64::from(step)));
    let waves = periods.take_while(|period| *period >= PERIOD_MIN).map(|period| {
        let mut sines: Vec<Vec<f64>> = Vec::new();
        for harmonic in (1..=HARMONICS_MAX).map(|harmonic| harmonic as f64) {
            let turn = std::f64::consts::TAU * harmonic / period;
            // Beyond half a turn a value it would be another sine.
            if harmonic / period <= 0.5 {
                for wave in [f64::sin, f64::cos] {
                    sines.extend(scaled((0..n).map(|i| wave(turn * i as f64)).collect(), &sines));
                }
            }
        }
        Wave { period, sines }
    });
    waves.collect()
}

/// A shape of mean 0 and length 1, at right angles to others; none where nothing is left of it.
fn scaled(mut shape: Vec<f64>, others: &[Vec<f64>]) -> Option<Vec<f64>> {
    let mean = shape.iter().sum::<f64>() / shape.len() as f64;
    shape.iter_mut().for_each(|x| *x -= mean);
    let mut shape = without(&shape, others);
    let length = squares(&shape).sqrt();
    shape.iter_mut().for_each(|x| *x /= length);
    (length > 1e-6).then_some(shape)
}

/// A series without its parts along shapes of length 1 that are at right angles to each other.
fn without(series: &[f64], shapes: &[Vec<f64>]) -> Vec<f64> {
    let mut rest = series.to_vec();
    for shape in shapes {
        let size = product(shape, &rest);
        rest.iter_mut().zip(shape).for_each(|(x, part)| *x -= size * part);
    }
    rest
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
