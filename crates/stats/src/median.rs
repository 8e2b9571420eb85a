//! The median: the middle value, or the mean of the two in the middle.
//!
//! The only one for plain values. The medians of all pairwise differences and means ([`crate::rank_sum`],
//! [`crate::signed_rank`]) are found without making the pairs, the rank of a histogram is [`crate::histogram`]'s.

/// The median of values in any order; absent without values. Their order is the total one, with NaN at its ends.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The median of values that ascend; absent without values.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let above = sorted.get(sorted.len() / 2)?;
    let below = sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(*below, *above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_odd_number_it_is_the_middle_value() {
        assert_eq!(median([7.0]), Some(7.0));
        assert_eq!(median([9.0, -1.0, 2.0]), Some(2.0));
        assert_eq!(median_of_sorted(&[1.0, 2.0, 4.0, 8.0, 16.0]), Some(4.0));
    }

    #[test]
    fn of_an_even_number_it_is_the_mean_of_the_two_in_the_middle() {
        assert_eq!(median([3.0, 1.0]), Some(2.0));
        assert_eq!(median([100.0, 1.0, 4.0, 2.0]), Some(3.0));
        assert_eq!(median_of_sorted(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), Some(6.0));
    }

    #[test]
    fn the_mean_of_the_two_in_the_middle_does_not_overflow() {
        assert_eq!(median([f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(median([f64::MAX, f64::MIN]), Some(0.0));
    }

    #[test]
    fn without_values_there_is_none() {
        assert_eq!((median([]), median_of_sorted(&[])), (None, None));
    }
}
