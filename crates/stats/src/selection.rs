//! The k-th smallest of values that are too many to write down, such as all pairwise means.
//!
//! Bisection over the floating-point numbers themselves: 64 counts find the value exactly, whatever the unit.

/// The smallest number of which `at_most` says that at least `k` values are not above it. `at_most` must not fall, and
/// must reach `k` between `low` and `high`.
pub(crate) fn kth_smallest(k: u64, low: f64, high: f64, at_most: impl Fn(f64) -> u64) -> f64 {
    let (mut below, mut above) = (ordinal(low), ordinal(high));
    while below < above {
        let middle = below + (above - below) / 2;
        if at_most(number(middle)) >= k {
            above = middle;
        } else {
            below = middle + 1;
        }
    }
    number(below)
}

/// The median of so many values, of which `at` gives the k-th smallest, from 1.
pub(crate) fn median(count: u64, at: impl Fn(u64) -> f64) -> f64 {
    f64::midpoint(at(count.div_ceil(2)), at(count / 2 + 1))
}

/// Place of a number among all: the sign bit turned for positive numbers, every bit for negative ones.
fn ordinal(x: f64) -> u64 {
    // -0 and 0 are one number; left apart they would be two places.
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn number(ordinal: u64) -> f64 {
    let bits = if ordinal >> 63 == 1 { ordinal & !(1 << 63) } else { !ordinal };
    f64::from_bits(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_value_at_that_place_of_the_sorted_list(
            mut values in proptest::collection::vec(-1e6..1e6f64, 1..40),
            place in 0usize..40,
        ) {
            let place = place % values.len();
            values.sort_by(f64::total_cmp);
            let at_most = |x: f64| values.iter().filter(|&&value| value <= x).count() as u64;
            let (low, high) = (values[0], values[values.len() - 1]);
            prop_assert_eq!(kth_smallest(place as u64 + 1, low, high, at_most), values[place]);
        }
    }
}
