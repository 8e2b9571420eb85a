//! A Gaussian process: a function of many inputs, learned from few noisy observations that drift.
//!
//! The function is a constant, plus a Matérn 5/2 term with a length of its own for each input, so that inputs that do nothing get
//! long lengths (Rasmussen and Williams 2006, 4.2 and 5.1). Lengths grow with the square root of the number of inputs beforehand,
//! without which a plain process fails in many dimensions (Hvarfner, Hellsten and Nardi, ICML 2024). To that comes what each input
//! does by itself, as a sum (Duvenaud, Nickisch and Rasmussen, NeurIPS 2011): logarithms of latencies and costs are nearly sums
//! of single effects, and a sum is learned from fewer observations. Observations have noise, and drift with the time at which
//! they were made.
//!
//! Hyperparameters are those of the highest posterior, within bounds: without these a fit to a few observations runs away.
//! Everything is done in a few tens of observations at once; for thousands this is the wrong module.

use crate::random::Random;

/// Observations that lie so many steps of time apart share 1/e of the drift.
const DRIFT_REACH: f64 = 6.0;

/// How far the logarithms of joint effects, of sums of single ones, of drift and of noise may be from what is expected of them.
/// Effects are expected as large as the values' own standard deviation, with a standard deviation of 1 of the logarithm.
const REACH: [f64; 4] = [2.5, 2.0, 1.5, 1.5];

/// Logarithm of what is expected of the sum of single effects, in units of the values' standard deviation: few of them are large.
const ALONE_EXPECTED: f64 = 0.7;

/// Length of what an input does by itself; a line's values lie in about 0 to 1.
const ALONE_LENGTH: f64 = 0.7;

/// How far the logarithm of a length may be from what is expected of it; its standard deviation beforehand is 1.
const LENGTH_REACH: f64 = 3.0;

/// Steps of the climb to the highest posterior.
const CLIMB_STEPS: usize = 40;

/// Values that hardly differ are not blown up to differ by 1.
const SCALE_LEAST: f64 = 0.02;

/// How two values of an input are held against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// By their difference; values lie in about 0 to 1.
    Line,
    /// They are the same, or as far from each other as 0 from 1.
    Choice,
}

/// One observation of the function.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// As many as there are axes.
    pub inputs: Vec<f64>,
    /// When it was made, in steps.
    pub at: f64,
    /// What was seen.
    pub value: f64,
}

/// What is known of the function at one place: without the noise and the drift that an observation would have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
}

/// A function learned from observations.
#[derive(Debug, Clone)]
pub struct GaussianProcess {
    axes: Vec<Axis>,
    inputs: Vec<Vec<f64>>,
    hyper: Hyper,
    factor: Square,
    /// The covariance's inverse times the values.
    weights: Vec<f64>,
    mean: f64,
    scale: f64,
}

impl GaussianProcess {
    /// Learns from observations whose noise and drift are expected to have about this standard deviation; `None` without any, with one that is not finite, or one whose inputs are not as many as the axes.
    pub fn fit(axes: &[Axis], seen: &[Observation], noise_sd: f64) -> Option<GaussianProcess> {
        let fits = |one: &Observation| {
            one.inputs.len() == axes.len()
                && one.inputs.iter().chain([&one.at, &one.value]).all(|number| number.is_finite())
        };
        if seen.is_empty() || !seen.iter().all(fits) || !(noise_sd > 0.0 && noise_sd.is_finite()) {
            return None;
        }
        let n = seen.len() as f64;
        let mean = seen.iter().map(|one| one.value).sum::<f64>() / n;
        let variance = seen.iter().map(|one| (one.value - mean).powi(2)).sum::<f64>() / n;
        let scale = variance.sqrt().max(SCALE_LEAST);
        let values = seen.iter().map(|one| (one.value - mean) / scale).collect();
        let pairs = Pairs::new(axes, seen, values);
        let hyper = pairs.climb((noise_sd / scale).ln());
        let factor = pairs.covariance(&hyper).cholesky()?;
        let weights = factor.solve(&pairs.values);
        let inputs = seen.iter().map(|one| one.inputs.clone()).collect();
        Some(GaussianProcess { axes: axes.to_vec(), inputs, hyper, factor, weights, mean, scale })
    }

    /// What is known of the function at a place.
    pub fn at(&self, inputs: &[f64]) -> Belief {
        let shared = self.shared(inputs);
        let mean = dot(&shared, &self.weights);
        let known = self.factor.forward(&shared);
        let prior = self.hyper.variance(&self.hyper.inverse_squares());
        let variance = (prior - dot(&known, &known)).max(0.0);
        Belief { mean: self.mean + self.scale * mean, sd: self.scale * variance.sqrt() }
    }

    /// The mean alone: less work than [`GaussianProcess::at`].
    pub fn mean_at(&self, inputs: &[f64]) -> f64 {
        self.mean + self.scale * dot(&self.shared(inputs), &self.weights)
    }

    /// Functions that the observations leave possible, each as its values at these places: joint draws. `None` where the places'
    /// covariance cannot be factored.
    pub fn draws(&self, places: &[Vec<f64>], count: usize, random: &mut Random) -> Option<Vec<Vec<f64>>> {
        let shared: Vec<Vec<f64>> = places.iter().map(|place| self.shared(place)).collect();
        let known: Vec<Vec<f64>> = shared.iter().map(|row| self.factor.forward(row)).collect();
        let means: Vec<f64> = shared.iter().map(|row| dot(row, &self.weights)).collect();
        let lengths = self.hyper.inverse_squares();
        let mut left = Square::zero(places.len());
        for row in 0..places.len() {
            for column in 0..=row {
                let prior = self.between(&places[row], &places[column], &lengths);
                left.put(row, column, prior - dot(&known[row], &known[column]));
            }
        }
        let factor = left.cholesky()?;
        let mut draw = || {
            let normal: Vec<f64> = places.iter().map(|_| random.normal()).collect();
            let stray = (0..places.len()).map(|row| dot(&factor.row(row)[..=row], &normal[..=row]));
            means.iter().zip(stray).map(|(mean, stray)| self.mean + self.scale * (mean + stray)).collect()
        };
        Some((0..count).map(|_| draw()).collect())
    }

    /// Covariance of the function at a place with that at each observation.
    fn shared(&self, inputs: &[f64]) -> Vec<f64> {
        let lengths = self.hyper.inverse_squares();
        self.inputs.iter().map(|seen| self.between(seen, inputs, &lengths)).collect()
    }

    fn between(&self, a: &[f64], b: &[f64], inverse_squares: &[f64]) -> f64 {
        let (mut joint, mut alone) = (0.0, 0.0);
        for ((axis, inverse), (a, b)) in self.axes.iter().zip(inverse_squares).zip(a.iter().zip(b)) {
            let square = axis.square(*a, *b);
            joint += square * inverse;
            alone += axis.alone(square) * inverse;
        }
        self.hyper.shared(joint, alone)
    }
}

impl Axis {
    fn square(self, a: f64, b: f64) -> f64 {
        match self {
            Axis::Line => (a - b) * (a - b),
            Axis::Choice if a == b => 0.0,
            Axis::Choice => 1.0,
        }
    }

    /// What two values share of what the input does by itself.
    fn alone(self, square: f64) -> f64 {
        match self {
            _ if square == 0.0 => 1.0,
            Axis::Line => matern(square / (ALONE_LENGTH * ALONE_LENGTH)),
            Axis::Choice => 0.0,
        }
    }
}

/// Logarithms of the hyperparameters.
#[derive(Debug, Clone, PartialEq)]
struct Hyper {
    lengths: Vec<f64>,
    /// Of what inputs do together.
    signal: f64,
    /// Of what each does by itself: its variance is this squared over the length squared.
    alone: f64,
    drift: f64,
    noise: f64,
}

impl Hyper {
    fn inverse_squares(&self) -> Vec<f64> {
        self.lengths.iter().map(|ln| (-2.0 * ln).exp()).collect()
    }

    /// Covariance of the function at two places, from their squared distance in lengths, and what they share of the sum of single
    /// effects.
    fn shared(&self, joint: f64, alone: f64) -> f64 {
        1.0 + (2.0 * self.signal).exp() * matern(joint) + (2.0 * self.alone).exp() * alone
    }

    /// Variance of the function beforehand.
    fn variance(&self, inverse_squares: &[f64]) -> f64 {
        1.0 + (2.0 * self.signal).exp() + (2.0 * self.alone).exp() * inverse_squares.iter().sum::<f64>()
    }

    fn of_slice(values: &[f64]) -> Hyper {
        let (lengths, rest) = values.split_at(values.len() - 4);
        Hyper { lengths: lengths.to_vec(), signal: rest[0], alone: rest[1], drift: rest[2], noise: rest[3] }
    }
}

/// Matérn 5/2 at a squared distance in lengths.
fn matern(square: f64) -> f64 {
    let r = (5.0 * square).sqrt();
    (1.0 + r + r * r / 3.0) * (-r).exp()
}

/// The observations as a fit needs them.
struct Pairs {
    count: usize,
    axes: usize,
    /// Squared differences of each pair of observations (row > column, row by row), along each axis.
    squares: Vec<f64>,
    /// What these share of what each input does by itself.
    alone: Vec<f64>,
    /// Drift shared by each such pair.
    drift: Vec<f64>,
    values: Vec<f64>,
}

impl Pairs {
    fn new(axes: &[Axis], seen: &[Observation], values: Vec<f64>) -> Pairs {
        let (mut squares, mut alone, mut drift) = (Vec::new(), Vec::new(), Vec::new());
        for (row, a) in seen.iter().enumerate() {
            for b in &seen[..row] {
                let inputs = axes.iter().zip(a.inputs.iter().zip(&b.inputs));
                for (axis, (a, b)) in inputs {
                    squares.push(axis.square(*a, *b));
                    alone.push(axis.alone(axis.square(*a, *b)));
                }
                drift.push((-(a.at - b.at).abs() / DRIFT_REACH).exp());
            }
        }
        Pairs { count: seen.len(), axes: axes.len(), squares, alone, drift, values }
    }

    /// Row, column and place of each pair.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..self.count)
            .flat_map(|row| (0..row).map(move |column| (row, column, row * (row - 1) / 2 + column)))
    }

    fn squares_of(&self, pair: usize) -> &[f64] {
        &self.squares[pair * self.axes..(pair + 1) * self.axes]
    }

    fn alone_of(&self, pair: usize) -> &[f64] {
        &self.alone[pair * self.axes..(pair + 1) * self.axes]
    }

    fn covariance(&self, hyper: &Hyper) -> Square {
        let lengths = hyper.inverse_squares();
        let drift = (2.0 * hyper.drift).exp();
        let mut covariance = Square::zero(self.count);
        for (row, column, pair) in self.pairs() {
            let joint = dot(self.squares_of(pair), &lengths);
            let shared = hyper.shared(joint, dot(self.alone_of(pair), &lengths));
            covariance.put(row, column, shared + drift * self.drift[pair]);
        }
        let own = hyper.variance(&lengths) + drift + (2.0 * hyper.noise).exp();
        for row in 0..self.count {
            covariance.put(row, row, own);
        }
        covariance
    }

    /// From what is expected up to the highest posterior, by the signs of the slopes (Rprop: Riedmiller and Braun 1993), which
    /// no scale and no steep wall leads astray.
    fn climb(&self, noise: f64) -> Hyper {
        let length = 0.5 * (self.axes.max(1) as f64).ln();
        let mut expected = vec![length; self.axes];
        expected.extend([0.0, ALONE_EXPECTED, noise, noise]);
        let mut reach = vec![LENGTH_REACH; self.axes];
        reach.extend(REACH);
        let (mut now, mut step, mut before) =
            (expected.clone(), vec![0.3; expected.len()], vec![0.0; expected.len()]);
        let mut best = (f64::NEG_INFINITY, expected.clone());
        for _ in 0..CLIMB_STEPS {
            let Some((height, slopes)) = self.posterior(&now, &expected) else { break };
            if height > best.0 {
                best = (height, now.clone());
            }
            for at in 0..now.len() {
                let turned = slopes[at] * before[at];
                if turned != 0.0 {
                    let by: f64 = if turned > 0.0 { 1.2 } else { 0.5 };
                    step[at] = f64::clamp(step[at] * by, 1e-3, 0.8);
                }
                before[at] = if turned < 0.0 { 0.0 } else { slopes[at] };
                if before[at] != 0.0 {
                    let next = now[at] + step[at] * before[at].signum();
                    now[at] = next.clamp(expected[at] - reach[at], expected[at] + reach[at]);
                }
            }
        }
        Hyper::of_slice(&best.1)
    }

    /// Logarithm of the posterior of hyperparameters up to a constant, and its slopes.
    fn posterior(&self, at: &[f64], expected: &[f64]) -> Option<(f64, Vec<f64>)> {
        let hyper = Hyper::of_slice(at);
        let factor = self.covariance(&hyper).cholesky()?;
        let weights = factor.solve(&self.values);
        let inverse = factor.inverse();
        let mut height = -0.5 * dot(&self.values, &weights) - factor.half_ln_determinant();
        let mut slopes = vec![0.0; at.len()];
        let lengths = hyper.inverse_squares();
        let (signal, drift) = ((2.0 * hyper.signal).exp(), (2.0 * hyper.drift).exp());
        let alone = (2.0 * hyper.alone).exp();
        let of_values = self.axes;
        for (row, column, pair) in self.pairs() {
            // Half of the trace, twice: a pair stands for two places of a symmetric matrix.
            let pull = weights[row] * weights[column] - inverse.row(row)[column];
            let squares = self.squares_of(pair);
            let r = (5.0 * dot(squares, &lengths)).sqrt();
            let decay = (-r).exp();
            slopes[of_values] += pull * 2.0 * signal * (1.0 + r + r * r / 3.0) * decay;
            let shares = self.alone_of(pair);
            slopes[of_values + 1] += pull * 2.0 * alone * dot(shares, &lengths);
            slopes[of_values + 2] += pull * 2.0 * drift * self.drift[pair];
            let each = signal * 5.0 / 3.0 * (1.0 + r) * decay;
            let inputs = squares.iter().zip(shares).zip(&lengths);
            for (slope, ((square, share), length)) in slopes.iter_mut().zip(inputs) {
                *slope += pull * length * (each * square - 2.0 * alone * share);
            }
        }
        for (row, weight) in weights.iter().enumerate() {
            let pull = weight * weight - inverse.row(row)[row];
            slopes[of_values] += pull * signal;
            slopes[of_values + 1] += pull * alone * lengths.iter().sum::<f64>();
            slopes[of_values + 2] += pull * drift;
            slopes[of_values + 3] += pull * (2.0 * hyper.noise).exp();
            for (slope, length) in slopes.iter_mut().zip(&lengths) {
                *slope -= pull * alone * length;
            }
        }
        for ((slope, at), expected) in slopes.iter_mut().zip(at).zip(expected) {
            height -= 0.5 * (at - expected).powi(2);
            *slope -= at - expected;
        }
        height.is_finite().then_some((height, slopes))
    }
}

/// The lower half of a symmetric matrix, or a lower triangle.
#[derive(Debug, Clone)]
struct Square {
    size: usize,
    cells: Vec<f64>,
}

impl Square {
    fn zero(size: usize) -> Square {
        Square { size, cells: vec![0.0; size * size] }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.size..(row + 1) * self.size]
    }

    fn put(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.size + column] = value;
    }

    /// The lower triangle whose product with its transpose this is. Where rounding has made the matrix indefinite, a little is
    /// added to its diagonal; `None` where a hundredth of it does not help.
    fn cholesky(&self) -> Option<Square> {
        let diagonal = (0..self.size).map(|at| self.row(at)[at]).fold(f64::MIN_POSITIVE, f64::max);
        [0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2].iter().find_map(|jitter| self.factored(jitter * diagonal))
    }

    fn factored(&self, jitter: f64) -> Option<Square> {
        let mut factor = Square::zero(self.size);
        for row in 0..self.size {
            for column in 0..=row {
                let product = dot(&factor.row(row)[..column], &factor.row(column)[..column]);
                let left = self.row(row)[column] - product;
                let value = match row == column {
                    true if left + jitter > 0.0 => (left + jitter).sqrt(),
                    true => return None,
                    false => left / factor.row(column)[column],
                };
                factor.put(row, column, value);
            }
        }
        Some(factor)
    }

    /// Of a triangle: the solution of triangle times x = b.
    fn forward(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(self.size);
        for row in 0..self.size {
            let cells = self.row(row);
            x.push((b[row] - dot(&cells[..row], &x)) / cells[row]);
        }
        x
    }

    /// Of a triangle: the solution of its transpose times x = b.
    fn backward(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for row in (0..self.size).rev() {
            let cells = self.row(row);
            x[row] /= cells[row];
            let solved = x[row];
            for (left, cell) in x[..row].iter_mut().zip(cells) {
                *left -= cell * solved;
            }
        }
        x
    }

    /// Of a triangle: the solution of triangle times its transpose times x = b.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        self.backward(&self.forward(b))
    }

    /// Of a triangle: the inverse of its product with its transpose.
    fn inverse(&self) -> Square {
        let mut inverse = Square::zero(self.size);
        let mut unit = vec![0.0; self.size];
        for row in 0..self.size {
            unit[row] = 1.0;
            let column = self.solve(&unit);
            unit[row] = 0.0;
            inverse.cells[row * self.size..(row + 1) * self.size].copy_from_slice(&column);
        }
        inverse
    }

    /// Of a triangle: half of the logarithm of its product's determinant.
    fn half_ln_determinant(&self) -> f64 {
        (0..self.size).map(|at| self.row(at)[at].ln()).sum()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests;
