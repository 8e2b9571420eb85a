//! Two groups that are not paired, by their means: Welch's t, which does not take the spreads for equal.

use crate::law::{student_quantile, student_two_sided};

/// How far b's mean lies above a's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Mean of b less mean of a.
    pub difference: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Difference over its standard error.
    pub t: f64,
    /// Degrees of freedom (Welch and Satterthwaite).
    pub freedom: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Welch's t of b against a with the interval at a level in 0..1 (Welch 1947, Biometrika 34); none with fewer than 2 values
/// in a group, one that is not finite, or no spread in either.
pub fn welch(a: &[f64], b: &[f64], level: f64) -> Option<Welch> {
    let (a, b) = (Group::of(a)?, Group::of(b)?);
    let squared_error = a.squared_error + b.squared_error;
    let difference = b.mean - a.mean;
    let parts = [&a, &b].map(|group| group.squared_error.powi(2) / (group.size - 1.0));
    let freedom = squared_error.powi(2) / (parts[0] + parts[1]);
    let reach = student_quantile(0.5 + level / 2.0, freedom)? * squared_error.sqrt();
    let t = difference / squared_error.sqrt();
    let p = student_two_sided(t, freedom)?;
    Some(Welch { difference, low: difference - reach, high: difference + reach, t, freedom, p })
}

struct Group {
    size: f64,
    mean: f64,
    squared_error: f64,
}

impl Group {
    fn of(values: &[f64]) -> Option<Group> {
        if values.len() < 2 || values.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let size = values.len() as f64;
        let mean = values.iter().sum::<f64>() / size;
        let squares = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        Some(Group { size, mean, squared_error: squares / (size - 1.0) / size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `ttest_ind(b, a, equal_var=False)` with `confidence_interval(0.95)`, on the permeability data of Hollander and
    /// Wolfe 1973.
    #[test]
    fn the_permeability_data_give_what_scipy_gives() {
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let result = welch(&earlier, &at_term, 0.95).unwrap();
        assert!((result.t - 2.041_383_092).abs() < 1e-9, "{result:?}");
        assert!((result.freedom - 12.970_538_44).abs() < 1e-8, "{result:?}");
        assert!((result.p - 0.062_101_343_8).abs() < 1e-9, "{result:?}");
        assert!((result.low + 0.019_724_996_3).abs() < 1e-8, "{result:?}");
        assert!((result.high - 0.693_724_996_3).abs() < 1e-8, "{result:?}");
    }

    #[test]
    fn what_has_no_spread_or_too_few_values_gives_nothing() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0], 0.95), None);
        assert_eq!(welch(&[1.0, f64::NAN], &[2.0, 2.5], 0.95), None);
        assert!(welch(&[1.0, 1.0], &[2.0, 2.5], 0.95).is_some());
    }
}
