//! Arithmetic on figures of which any may be absent, or no number at all. Not here: what the figures mean.

/// No figure of a path is larger: what is above would become infinite in the next product.
const FIGURE_MAX: f64 = 1e100;

/// The figure, if it is a number from 0 up: a document may hold anything.
pub(super) fn known(figure: Option<f64>) -> Option<f64> {
    // Adding 0 makes a 0 of -0.
    figure.filter(|figure| (0.0..=FIGURE_MAX).contains(figure)).map(|figure| figure + 0.0)
}

/// A share, if it is a number; never outside 0 to 1.
pub(super) fn share(figure: Option<f64>) -> Option<f64> {
    known(figure).map(|share| share.min(1.0))
}

/// The largest of the known figures.
pub(super) fn most(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures.filter_map(known).max_by(f64::total_cmp)
}

/// The smallest of the known figures.
pub(super) fn least(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures.filter_map(known).min_by(f64::total_cmp)
}

/// The sum of the known figures; absent without any.
pub(super) fn sum(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures
        .filter_map(known)
        .fold(None, |sum, figure| Some(sum.unwrap_or(0.0) + figure))
        .filter(|sum| sum.is_finite())
}

/// The mean of the known figures by their weights; absent without any of a weight above 0.
pub(super) fn mean(figures: impl Iterator<Item = (Option<f64>, f64)>) -> Option<f64> {
    let known_ones = figures.filter_map(|(figure, weight)| Some((known(figure)?, known(Some(weight))?)));
    let (sum, weights) = known_ones
        .fold((0.0, 0.0), |(sum, weights), (figure, weight)| (sum + figure * weight, weights + weight));
    known(Some(sum / weights).filter(|_| weights > 0.0))
}

/// One over the other; absent where either is unknown or the second is 0.
pub(super) fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let whole = known(whole).filter(|whole| *whole > 0.0)?;
    known(Some(known(part)? / whole))
}

/// A count as a figure.
pub(super) fn count(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

/// The first number of a setting's text: `100` of `100`, none of `producer`.
pub(super) fn number(text: &str) -> Option<f64> {
    known(text.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_unknown_and_never_part_of_a_sum() {
        let figures = [Some(1.0), None, Some(f64::NAN), Some(f64::INFINITY), Some(-3.0), Some(2.0)];
        assert_eq!(sum(figures.into_iter()), Some(3.0));
        assert_eq!((most(figures.into_iter()), least(figures.into_iter())), (Some(2.0), Some(1.0)));
        assert_eq!(mean(figures.into_iter().map(|figure| (figure, 1.0))), Some(1.5));
        assert_eq!(mean([(Some(1.0), 0.0)].into_iter()), None);
        assert_eq!(sum([Some(f64::MAX), Some(f64::MAX)].into_iter()), None);
        assert_eq!((ratio(Some(1.0), Some(0.0)), ratio(Some(1.0), Some(4.0))), (None, Some(0.25)));
        assert_eq!((number(" 5 "), number("producer"), number("-1")), (Some(5.0), None, None));
    }
}
