//! The correlation of neighbouring values in a series, and the noise models that follow from it.
//!
//! A thousand seconds of which each looks like the one before are worth far fewer. Not for the samples of a histogram, whose
//! order is gone: [`crate::interval::effective_samples`] goes by batches.

use crate::random::Random;

/// Correlation of each value with the next, about the mean of all: sum (x(t) - m)(x(t+1) - m) / sum (x - m)^2 (Box and
/// Jenkins 1970; R's `acf`). None with fewer than 3 values, one that is not finite, or all alike.
pub fn lag_1(series: &[f64]) -> Option<f64> {
    Centred::new(series).map(|centred| centred.correlation(1))
}

/// The limit beyond which a [`lag_1`] of `n` independent values is unusual: about 1 in 20 is, 2 / sqrt(n) (Bartlett 1946).
pub fn lag_1_limit(n: usize) -> f64 {
    2.0 / (n as f64).sqrt()
}

/// Strongest correlation of neighbours in fitted noise: beyond it noise cannot be told from change.
pub(crate) const PHI_MAX: f64 = 0.95;

/// A correlation of neighbours without what fitting took of it: about (1 + 3 phi) / n for each mean (Kendall 1954, Biometrika 41).
pub(crate) fn unbiased(phi: f64, parameters: f64, n: f64) -> f64 {
    (phi + parameters * (1.0 + 3.0 * phi.max(0.0)) / n).min(PHI_MAX)
}

/// `n` values of AR(1) noise whose innovations are drawn from those seen, with replacement.
pub(crate) fn redrawn(phi: f64, innovations: &[f64], n: usize, random: &mut Random) -> Vec<f64> {
    let mut draw = || innovations[random.below(innovations.len())];
    // Start in the spread that the noise has in the long run.
    let mut value = draw() / (1.0 - phi * phi).sqrt();
    let series = (0..n).map(|_| {
        value = phi * value + draw();
        value
    });
    series.collect()
}

struct Centred {
    values: Vec<f64>,
    squares: f64,
}

impl Centred {
    fn new(series: &[f64]) -> Option<Centred> {
        if series.len() < 3 || series.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        let values: Vec<f64> = series.iter().map(|x| x - mean).collect();
        let squares: f64 = values.iter().map(|x| x * x).sum();
        // Values that are alike leave nothing but the mean's rounding.
        let rounding = (4.0 * f64::EPSILON * series.len() as f64 * mean).powi(2);
        (squares > rounding).then_some(Centred { values, squares })
    }

    fn correlation(&self, lag: usize) -> f64 {
        let later = &self.values[lag.min(self.values.len())..];
        self.values.iter().zip(later).map(|(x, y)| x * y).sum::<f64>() / self.squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Luteinizing hormone in blood at 10-minute intervals (Diggle 1990, Time Series, table A.1; R's `lh`): R's `acf(lh)` prints
    /// 0.576 for lag 1 and 0.182 for lag 2.
    #[test]
    fn correlations_are_those_of_r() {
        let lh = [
            2.4, 2.4, 2.4, 2.2, 2.1, 1.5, 2.3, 2.3, 2.5, 2.0, 1.9, 1.7, 2.2, 1.8, 3.2, 3.2, 2.7, 2.2, 2.2,
            1.9, 1.9, 1.8, 2.7, 3.0, 2.3, 2.0, 2.0, 2.9, 2.9, 2.7, 2.7, 2.3, 2.6, 2.4, 1.8, 1.7, 1.5, 1.4,
            2.1, 3.3, 3.5, 3.5, 3.1, 2.6, 2.1, 3.4, 3.0, 2.9,
        ];
        assert!((lag_1(&lh).unwrap() - 0.576).abs() < 5e-4, "{:?}", lag_1(&lh));
    }

    #[test]
    fn independent_values_pass_the_limit_about_1_time_in_20() {
        let mut random = Random::new(18);
        let beyond = (0..2_000)
            .filter(|_| lag_1(&[(); 24].map(|()| random.normal())).unwrap().abs() > lag_1_limit(24));
        let share = beyond.count() as f64 / 2_000.0;
        assert!((0.02..=0.06).contains(&share), "{share}");
    }

    #[test]
    fn a_series_to_and_fro_has_neighbours_that_differ() {
        let series: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(lag_1(&series).unwrap() < -0.9);
    }

    #[test]
    fn what_has_no_spread_has_no_correlation() {
        assert_eq!(lag_1(&[1.0, 2.0]), None);
        assert_eq!(lag_1(&[0.1; 30]), None);
        assert_eq!(lag_1(&[1.0, 2.0, f64::NAN]), None);
    }
}
