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

/// Benjamini and Hochberg's adjusted p values (1995, Journal of the Royal Statistical Society B 57), in the order given: of
/// those called different at a level, that share at most is false in the mean, among independent or positively
/// dependent comparisons. For figures that one looks through, not for the one that decides.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 1.0;
    for (above, &index) in order.iter().enumerate() {
        most = most.min(p[index] * p.len() as f64 / (p.len() - above) as f64);
        adjusted[index] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `p.adjust(c(0.01, 0.04, 0.03, 0.5), "BH")` gives 0.04 0.05333333 0.05333333 0.5.
    #[test]
    fn false_discoveries_are_allowed_for_as_r_does_in_any_order() {
        let adjusted = benjamini_hochberg(&[0.04, 0.5, 0.01, 0.03]);
        for (ours, r) in adjusted.iter().zip([0.16 / 3.0, 0.5, 0.04, 0.16 / 3.0]) {
            assert!((ours - r).abs() < 1e-12, "{adjusted:?}");
        }
        assert!(benjamini_hochberg(&[]).is_empty());
    }

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
