//! A histogram as the figures of a run document.
//!
//! A quantile is given only where at least 10/(1-q) samples stand behind it: then about ten samples lie beyond it, and
//! one stray message does not make it. Below that it is absent.

use crate::histogram::Histogram;
use crate::interval::{Spread, effective_samples, mean_interval, quantile_interval};
use plumb_model::observation::Distribution;

/// Samples that must lie beyond a quantile, in the mean, before it is given.
const BEYOND_MIN: f64 = 10.0;

/// Points of the curve below the median, and in each halving of what is beyond.
const POINTS_PER_STEP: u32 = 8;

/// Fewest samples for a quantile, 0..1: 20 for the median, 1,000 for p99, 10,000 for p99.9.
pub fn samples_needed(quantile: f64) -> u64 {
    // 10/(1-0.99) is 999.999... in floating point.
    (BEYOND_MIN / (1.0 - quantile) - 1e-6).ceil() as u64
}

/// All figures of a histogram, with intervals, and with its percentile curve.
pub fn distribution(histogram: &Histogram, spread: &Spread) -> Distribution {
    Distribution { curve: curve(histogram), ..figures(histogram, spread) }
}

/// All figures of a histogram, with intervals, without the curve.
pub fn figures(histogram: &Histogram, spread: &Spread) -> Distribution {
    let effective = effective_samples(histogram, spread.batches);
    let at = |quantile: f64| supported(histogram, quantile);
    let interval = |quantile: f64| {
        at(quantile)?;
        quantile_interval(histogram, quantile, effective, spread.level)
    };
    let exact = histogram.exact();
    Distribution {
        samples: histogram.samples(),
        min_ns: exact.min_ns,
        mean_ns: histogram.mean_ns(),
        p50_ns: at(0.5),
        p75_ns: at(0.75),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: exact.max_ns,
        mean_interval: mean_interval(spread),
        p50_interval: interval(0.5),
        p99_interval: interval(0.99),
        negative: exact.negative,
        overflow: exact.overflow,
        clock_error_ns: None,
        curve: Vec::new(),
    }
}

/// The quantile, if there are enough samples for it.
pub fn supported(histogram: &Histogram, quantile: f64) -> Option<u64> {
    (histogram.samples() >= samples_needed(quantile)).then(|| histogram.at_quantile(quantile))?
}

/// The percentile curve: each halving of what lies beyond has as many points as the whole lower half, up to the last
/// quantile that has enough samples.
fn curve(histogram: &Histogram) -> Vec<(f64, u64)> {
    let mut points = Vec::new();
    let mut beyond: f64 = 1.0;
    loop {
        for part in 0..POINTS_PER_STEP {
            let quantile = 1.0 - beyond * (1.0 - 0.5 * f64::from(part) / f64::from(POINTS_PER_STEP));
            match supported(histogram, quantile) {
                Some(time_ns) => points.push((quantile, time_ns)),
                None => return points,
            }
        }
        beyond /= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NO_SPREAD: Spread = Spread { level: 0.95, block_means_ns: &[], batches: &[] };

    fn times_up_to(n: i64) -> Histogram {
        let mut histogram = Histogram::new();
        (1..=n).for_each(|i| histogram.record_ns(i * 1_000));
        histogram
    }

    #[test]
    fn quantiles_need_ten_samples_beyond_them() {
        let needed = [0.5, 0.75, 0.95, 0.99, 0.999].map(samples_needed);
        assert_eq!(needed, [20, 40, 200, 1_000, 10_000]);
    }

    #[test]
    fn one_sample_too_few_makes_a_quantile_absent() {
        let (enough, short) =
            (figures(&times_up_to(1_000), &NO_SPREAD), figures(&times_up_to(999), &NO_SPREAD));
        assert!(enough.p99_ns.is_some() && enough.p999_ns.is_none());
        assert!(short.p99_ns.is_none() && short.p99_interval.is_none() && short.p95_ns.is_some());
    }

    #[test]
    fn nothing_recorded_is_absent_and_not_zero() {
        let empty = distribution(&Histogram::new(), &NO_SPREAD);
        assert_eq!(empty, Distribution::default());
    }

    #[test]
    fn figures_are_within_three_digits_of_the_samples() {
        let result = figures(&times_up_to(10_000), &NO_SPREAD);
        for (figure, truth) in [(result.p50_ns, 5e6), (result.p99_ns, 9.9e6), (result.p999_ns, 9.99e6)] {
            assert!((figure.unwrap() as f64 / truth - 1.0).abs() < 1e-3, "{figure:?}, true {truth}");
        }
        let p99 = result.p99_interval.unwrap();
        // Ranks 9,880 and 9,920 of the binomial law.
        assert!((p99.low / 9.88e6 - 1.0).abs() < 1e-3 && (p99.high / 9.92e6 - 1.0).abs() < 1e-3, "{p99:?}");
    }

    proptest! {
        #[test]
        fn whatever_is_recorded_quantiles_ascend_between_smallest_and_largest(
            times in proptest::collection::vec(any::<i64>(), 0..1_200),
            small in proptest::collection::vec(0i64..5_000_000, 0..1_200),
        ) {
            let mut histogram = Histogram::new();
            times.iter().chain(&small).for_each(|&time| histogram.record_ns(time));
            let result = distribution(&histogram, &NO_SPREAD);
            let figures = [result.min_ns, result.p50_ns, result.p75_ns, result.p95_ns, result.p99_ns, result.max_ns];
            let known: Vec<u64> = figures.into_iter().flatten().collect();
            prop_assert!(known.is_sorted(), "{result:?}");
            prop_assert_eq!(result.samples + result.negative + result.overflow, (times.len() + small.len()) as u64);
            prop_assert!(result.curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
            if let (Some(interval), Some(p50)) = (result.p50_interval, result.p50_ns) {
                prop_assert!(interval.low <= p50 as f64 && p50 as f64 <= interval.high);
            }
        }
    }

    #[test]
    fn the_curve_ascends_and_ends_where_samples_end() {
        let (short, long) = (curve(&times_up_to(10_000)), curve(&times_up_to(1_000_000)));
        for points in [&short, &long] {
            assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        }
        assert!((80..=100).contains(&short.len()), "{}", short.len());
        assert!((0.998..=0.999).contains(&short.last().unwrap().0), "{:?}", short.last());
        assert!((130..=150).contains(&long.len()), "{}", long.len());
        assert!(curve(&times_up_to(9)).is_empty());
    }
}
