//! A quantile of few values that does not jump from one of them to the next: Harrell and Davis.
//!
//! For a figure over blocks or servers. Not for messages, of which a histogram has enough ([`crate::histogram`]).

use statrs::function::beta::beta_reg;

/// A quantile with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothQuantile {
    /// The weighted mean of all values.
    pub estimate: f64,
    /// Its standard error, by the same weights (Maritz and Jarrett 1978).
    pub standard_error: f64,
}

/// The quantile, 0..1 both left out, as the mean of all values, each weighted with the chance that it is the quantile: increments of
/// the beta law with the parameters (n + 1) q and (n + 1)(1 - q) (Harrell and Davis 1982, Biometrika 69). None with fewer
/// than 2 values, or one that is not finite.
pub fn harrell_davis(values: &[f64], quantile: f64) -> Option<SmoothQuantile> {
    let n = values.len();
    let domain = n >= 2 && quantile > 0.0 && quantile < 1.0;
    if !domain || values.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let size = (n + 1) as f64;
    let at = |rank: usize| beta_reg(size * quantile, size * (1.0 - quantile), rank as f64 / n as f64);
    let weights: Vec<f64> = (0..n).map(|i| at(i + 1) - at(i)).collect();
    let estimate: f64 = sorted.iter().zip(&weights).map(|(x, weight)| x * weight).sum();
    let variance: f64 = sorted.iter().zip(&weights).map(|(x, weight)| weight * (x - estimate).powi(2)).sum();
    Some(SmoothQuantile { estimate, standard_error: variance.sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `mstats.hdquantiles(range(1, 101), [.5, .9, .99], var=True)`.
    #[test]
    fn quantiles_of_1_to_100_are_those_of_scipy() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for (quantile, estimate, variance) in
            [(0.5, 50.5, 24.593_137_25), (0.9, 90.5, 8.906_862_71), (0.99, 99.419_825_94, 0.894_469_32)]
        {
            let ours = harrell_davis(&values, quantile).unwrap();
            assert!((ours.estimate - estimate).abs() < 1e-7, "{quantile}: {ours:?}");
            assert!((ours.standard_error.powi(2) - variance).abs() < 1e-7, "{quantile}: {ours:?}");
        }
    }

    #[test]
    fn what_has_no_quantile_gives_nothing() {
        assert_eq!(harrell_davis(&[1.0], 0.5), None);
        assert_eq!(harrell_davis(&[1.0, 2.0], 1.0), None);
        assert_eq!(harrell_davis(&[1.0, f64::NAN], 0.5), None);
    }
}
