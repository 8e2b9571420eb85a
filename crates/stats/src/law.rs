//! Distribution functions: Student's t, the standard normal and the binomial.
//!
//! A thin, total shell over the `statrs` crate: arguments outside a law's domain give `None` instead of a panic.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The t that a Student variable with `freedom` degrees of freedom stays below with probability `p`, 0 < p < 1.
pub fn student_quantile(p: f64, freedom: f64) -> Option<f64> {
    let law = StudentsT::new(0.0, 1.0, freedom).ok()?;
    (p > 0.0 && p < 1.0).then(|| law.inverse_cdf(p)).filter(|t| t.is_finite())
}

/// Probability that a Student variable is farther from 0 than `t`, on either side.
pub(crate) fn student_two_sided(t: f64, freedom: f64) -> Option<f64> {
    let law = StudentsT::new(0.0, 1.0, freedom).ok()?;
    (!t.is_nan()).then(|| (2.0 * law.cdf(-t.abs())).min(1.0))
}

/// The value that a chi-squared variable with `freedom` degrees of freedom stays below with probability `p`, 0 < p < 1.
pub fn chi_squared_quantile(p: f64, freedom: f64) -> Option<f64> {
    let law = ChiSquared::new(freedom).ok()?;
    (p > 0.0 && p < 1.0).then(|| law.inverse_cdf(p)).filter(|x| x.is_finite())
}

/// Probability that a standard normal variable is farther from 0 than `z`, on either side.
pub(crate) fn normal_two_sided(z: f64) -> Option<f64> {
    (!z.is_nan()).then(|| (2.0 * Normal::standard().cdf(-z.abs())).min(1.0))
}

/// Probability that a standard normal variable is at most `z`.
pub fn normal_at_most(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The z that a standard normal variable stays below with probability `p`, 0 < p < 1.
pub(crate) fn normal_quantile(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| Normal::standard().inverse_cdf(p))
}

/// Probability that at most `k` of `n` independent trials, each of probability `p`, succeed.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> Option<f64> {
    Binomial::new(p, n).ok().map(|law| law.cdf(k))
}

/// The smallest `k` for which at most `k` of `n` trials succeed with probability `below` or more, 0 < below < 1.
pub(crate) fn binomial_quantile(below: f64, n: u64, p: f64) -> Option<u64> {
    let law = Binomial::new(p, n).ok()?;
    if !(below > 0.0 && below < 1.0) {
        return None;
    }
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if law.cdf(middle) >= below {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `qchisq(0.2, 7)` is 3.822322, `qchisq(0.95, 10)` is 18.30704.
    #[test]
    fn chi_squared_quantiles_are_those_of_r() {
        assert!((chi_squared_quantile(0.2, 7.0).unwrap() - 3.822_322).abs() < 1e-5);
        assert!((chi_squared_quantile(0.95, 10.0).unwrap() - 18.307_04).abs() < 1e-4);
        assert_eq!(chi_squared_quantile(0.5, 0.0), None);
    }

    /// NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, upper critical values of Student's t.
    #[test]
    fn student_quantiles_are_those_of_the_printed_table() {
        for (p, freedom, table) in
            [(0.975, 1.0, 12.706), (0.975, 2.0, 4.303), (0.975, 9.0, 2.262), (0.95, 30.0, 1.697)]
        {
            let t = student_quantile(p, freedom).unwrap();
            assert!((t - table).abs() < 5.1e-4, "t({p}, {freedom}) = {t}, table {table}");
        }
    }

    #[test]
    fn quantile_and_probability_are_inverse_far_out_in_the_tail() {
        for p in [1e-3, 1e-5, 1e-7] {
            for freedom in [2.0, 4.0, 19.0] {
                let t = student_quantile(1.0 - p / 2.0, freedom).unwrap();
                let back = student_two_sided(t, freedom).unwrap();
                assert!((back / p - 1.0).abs() < 1e-3, "p {p}, df {freedom}: {back}");
            }
        }
    }

    #[test]
    fn two_sided_normal_probability_of_1_96_is_5_percent() {
        assert!((normal_two_sided(1.959_963_985).unwrap() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn arguments_outside_the_domain_give_nothing() {
        assert_eq!(student_quantile(1.0, 3.0), None);
        assert_eq!(student_quantile(0.9, 0.0), None);
        assert_eq!(student_two_sided(f64::NAN, 3.0), None);
        assert_eq!(binomial_at_most(3, 10, 1.5), None);
        assert_eq!(binomial_quantile(0.0, 10, 0.5), None);
    }
}
