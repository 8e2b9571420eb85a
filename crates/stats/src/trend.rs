//! The direction of a series: Mann and Kendall's test and the slope of Theil and Sen.
//!
//! Both look only at the order of pairs, so single spikes do not move them. The test's p assumes independent values:
//! on an autocorrelated series it is too small, so whoever uses it asks for a size as well.

use crate::law::normal_two_sided;
use crate::median::median;

/// Longest series that is looked at point by point; longer ones are thinned to means of neighbours (ours: the work
/// grows with the square).
const POINTS_MAX: usize = 400;

/// A monotonic trend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Kendall's S: rising pairs less falling pairs. Above 0 the series rises.
    pub s: i64,
    /// Two-sided p of S under independence, with the correction for ties (Kendall 1975).
    pub p: f64,
    /// Median of all pairwise slopes, per step of the series (Sen 1968).
    pub slope: f64,
}

/// The trend of a series; none with fewer than 4 values or one that is not finite.
pub fn trend(series: &[f64]) -> Option<Trend> {
    if series.len() < 4 || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let (points, stride) = thinned(series);
    let mut s: i64 = 0;
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (i, &early) in points.iter().enumerate() {
        for (j, &late) in points.iter().enumerate().skip(i + 1) {
            s += i64::from(late > early) - i64::from(late < early);
            slopes.push((late - early) / (j - i) as f64);
        }
    }
    let variance = variance_of_s(&points);
    let z = if variance > 0.0 { (s.abs() - 1).max(0) as f64 / variance.sqrt() } else { 0.0 };
    Some(Trend { s, p: normal_two_sided(z)?, slope: median(slopes)? / stride as f64 })
}

/// The series, or means of `stride` neighbours when it is long.
fn thinned(series: &[f64]) -> (Vec<f64>, usize) {
    let stride = series.len().div_ceil(POINTS_MAX);
    let means = series.chunks_exact(stride).map(|part| part.iter().sum::<f64>() / stride as f64);
    (means.collect(), stride)
}

fn variance_of_s(points: &[f64]) -> f64 {
    let pairs = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = points.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|group| pairs(group.len() as f64)).sum();
    (pairs(points.len() as f64) - ties) / 18.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gilbert, Statistical Methods for Environmental Pollution Monitoring (1987), formula 16.2 and 16.6 on a series
    /// without ties: n = 10 rising gives S = 45, variance 125.
    #[test]
    fn a_rising_series_has_every_pair_rising() {
        let result = trend(&[1., 2., 3., 4., 5., 6., 7., 8., 9., 10.]).unwrap();
        assert_eq!((result.s, result.slope), (45, 1.0));
        let expected = normal_two_sided(44.0 / 125f64.sqrt()).unwrap();
        assert!((result.p - expected).abs() < 1e-15);
    }

    #[test]
    fn a_level_series_has_no_trend() {
        let result = trend(&[3.0; 8]).unwrap();
        assert_eq!((result.s, result.p, result.slope), (0, 1.0, 0.0));
    }

    #[test]
    fn the_slope_keeps_its_unit_in_a_long_series() {
        let series: Vec<f64> = (0..5_000).map(|i| f64::from(i) * 0.25).collect();
        assert!((trend(&series).unwrap().slope - 0.25).abs() < 1e-9);
    }

    #[test]
    fn one_spike_does_not_move_the_slope() {
        let mut series: Vec<f64> = (0..40).map(f64::from).collect();
        series[20] = 1e9;
        assert!((trend(&series).unwrap().slope - 1.0).abs() < 1e-9);
    }

    /// Pairwise slopes 0, 0, 0, 4/3, 2, 4.
    #[test]
    fn the_slope_of_an_even_number_of_pairs_lies_between_the_two_in_the_middle() {
        let slope = trend(&[0.0, 0.0, 0.0, 4.0]).unwrap().slope;
        assert!((slope - 2.0 / 3.0).abs() < 1e-12, "{slope}");
    }
}
