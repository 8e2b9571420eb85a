//! Allowing for having made many comparisons (Holm 1979, Scandinavian Journal of Statistics 6).

/// Holm's adjusted p values, in the order given: the chance of even one false alarm among all comparisons stays below
/// a level when only those with an adjusted p below it are called different. No independence is assumed.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        least = least.max(p[index] * (p.len() - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")` gives 0.05 0.08 0.09 0.09 0.09.
    #[test]
    fn adjusted_values_are_those_of_r_in_any_order() {
        let adjusted = holm(&[0.05, 0.01, 0.04, 0.02, 0.03]);
        for (ours, r) in adjusted.iter().zip([0.09, 0.05, 0.09, 0.08, 0.09]) {
            assert!((ours - r).abs() < 1e-12, "{adjusted:?}");
        }
    }

    #[test]
    fn one_comparison_needs_no_adjustment_and_none_gives_none() {
        assert_eq!(holm(&[0.03]), [0.03]);
        assert!(holm(&[]).is_empty());
    }
}
