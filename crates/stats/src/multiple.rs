//! Allowing for having made many comparisons.
//!
//! [`holm`] where one false alarm among all would be one too many, as for the comparisons that decide; [`benjamini_hochberg`]
//! where a list is looked through for what deserves a second look, and a known share of false alarms in it is no harm.

/// Holm's adjusted p values, in the order given: the chance of even one false alarm among all comparisons stays below
/// a level when only those with an adjusted p below it are called different (Holm 1979, Scandinavian Journal of Statistics
/// 6). No independence is assumed.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in ascending(p).into_iter().enumerate() {
        least = least.max(p[index] * (p.len() - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p values, in the order given: of those with an adjusted p below a level, at most that
/// share is expected to be false alarms (1995, Journal of the Royal Statistical Society B 57). Holds for independent comparisons
/// and for such as move together, like the quantiles of one latency (Benjamini and Yekutieli 2001).
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 1.0;
    for (rank, index) in ascending(p).into_iter().enumerate().rev() {
        least = least.min(p[index] * (p.len() as f64 / (rank + 1) as f64));
        adjusted[index] = least;
    }
    adjusted
}

/// Places of the values, the smallest first.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// R: `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")` gives 0.05 0.08 0.09 0.09 0.09.
    #[test]
    fn holms_values_are_those_of_r_in_any_order() {
        let adjusted = holm(&[0.05, 0.01, 0.04, 0.02, 0.03]);
        for (ours, r) in adjusted.iter().zip([0.09, 0.05, 0.09, 0.08, 0.09]) {
            assert!((ours - r).abs() < 1e-12, "{adjusted:?}");
        }
    }

    /// R: `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH")` gives 0.05 five times. The other ten are SciPy's
    /// `false_discovery_control`.
    #[test]
    fn benjamini_and_hochbergs_values_are_those_of_r_and_scipy() {
        let check = |p: &[f64], expected: &[f64]| {
            let adjusted = benjamini_hochberg(p);
            let close = adjusted.iter().zip(expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-8);
            assert!(close && adjusted.len() == expected.len(), "{adjusted:?}");
        };
        check(&[0.05, 0.01, 0.04, 0.02, 0.03], &[0.05; 5]);
        check(
            &[0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216],
            &[0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.105_714_29, 0.216, 0.216, 0.216],
        );
    }

    #[test]
    fn one_comparison_needs_no_adjustment_and_none_gives_none() {
        assert_eq!((holm(&[0.03]), benjamini_hochberg(&[0.03])), (vec![0.03], vec![0.03]));
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusting_raises_keeps_the_order_and_holm_is_the_stricter(
            p in proptest::collection::vec(0.0..=1.0f64, 1..20),
        ) {
            let (strict, lenient) = (holm(&p), benjamini_hochberg(&p));
            for i in 0..p.len() {
                prop_assert!(p[i] <= lenient[i] && lenient[i] <= strict[i] + 1e-12 && strict[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (strict[i] <= strict[j] && lenient[i] <= lenient[j]));
                }
            }
        }
    }
}
