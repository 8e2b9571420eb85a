//! Counts of events that come independently of each other: the ratio of two rates.
//!
//! Not the verdict on drops or errors of servers: those come in bursts, and then this finds differences that are not there in
//! nine of ten comparisons. It is what remains when there is nothing but two totals, and it says so of itself by its name
//! in a report.

use crate::law::{binomial_above, binomial_at_most};
use statrs::distribution::{Binomial, Discrete};

/// Counts with what they were counted over: time, messages, server-days.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Events.
    pub events: u64,
    /// What they were counted over; above 0.
    pub exposure: f64,
}

/// How b's rate relates to a's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRatio {
    /// b / a; infinite where a has no events.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end; infinite where a has no events.
    pub high: f64,
    /// Two-sided p of a ratio other than 1.
    pub p: f64,
}

/// The ratio of b's rate to a's with its interval at a level in 0..1; none without any events, or without an exposure.
///
/// Given all events, b's are binomial with the chance r B / (A + r B), exposures A and B and r the ratio (Przyborowski and
/// Wilenski 1940, Biometrika 31). The interval is Clopper and Pearson's; p is the chance of all outcomes that are no
/// likelier than this one, as in R's `poisson.test`.
pub fn rate_ratio(a: Count, b: Count, level: f64) -> Option<RateRatio> {
    let exposed = |count: Count| count.exposure > 0.0 && count.exposure.is_finite();
    let events = a.events.checked_add(b.events)?;
    if !(exposed(a) && exposed(b) && events > 0 && level > 0.0 && level < 1.0) {
        return None;
    }
    let as_ratio = |chance: f64| chance / (1.0 - chance) * a.exposure / b.exposure;
    let tail = (1.0 - level) / 2.0;
    // As the chance grows, so many or more get likelier and so many or fewer less likely.
    let low =
        if b.events == 0 { 0.0 } else { chance_at(|p| binomial_above(b.events - 1, events, p) > Some(tail)) };
    let high =
        if a.events == 0 { 1.0 } else { chance_at(|p| binomial_at_most(b.events, events, p) < Some(tail)) };
    Some(RateRatio {
        ratio: as_ratio(b.events as f64 / events as f64),
        low: as_ratio(low),
        high: as_ratio(high),
        p: no_likelier(b.events, events, b.exposure / (a.exposure + b.exposure))?,
    })
}

/// The chance from which on `holds`, by bisection.
fn chance_at(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if holds(middle) { high = middle } else { low = middle }
    }
    (low + high) / 2.0
}

/// The chance of all numbers of successes that are no likelier than `k` of `n`.
fn no_likelier(k: u64, n: u64, chance: f64) -> Option<f64> {
    let law = Binomial::new(chance, n).ok()?;
    // Equal but for rounding is no likelier (R does the same).
    let likely = law.ln_pmf(k) + 1e-7;
    let mode = ((n + 1) as f64 * chance).floor().min(n as f64) as u64;
    let p = if k <= mode {
        let from = first(mode, n + 1, |j| law.ln_pmf(j) <= likely);
        let above = if from > n { 0.0 } else { binomial_above(from - 1, n, chance)? };
        binomial_at_most(k, n, chance)? + above
    } else {
        // Probabilities rise up to the mode: those no likelier end before the first that is.
        let from = first(0, mode + 1, |j| law.ln_pmf(j) > likely);
        let below = if from == 0 { 0.0 } else { binomial_at_most(from - 1, n, chance)? };
        binomial_above(k - 1, n, chance)? + below
    };
    Some(p.min(1.0))
}

/// The first number in low..high of which `holds`, or high; it holds of all from there on.
fn first(low: u64, high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(events: u64, exposure: f64) -> Count {
        Count { events, exposure }
    }

    /// R: `poisson.test(c(11, 6+8+7), c(800, 1083+1050+878))` (the example of its help page): ratio 1.971488, p = 0.07967,
    /// interval 0.8584264 .. 4.277266.
    #[test]
    fn a_rate_ratio_is_that_of_r() {
        let result = rate_ratio(count(21, 3_011.0), count(11, 800.0), 0.95).unwrap();
        assert!((result.ratio - 1.971_488).abs() < 1e-6, "{result:?}");
        assert!((result.p - 0.079_668_63).abs() < 1e-8, "{result:?}");
        assert!((result.low - 0.858_426_4).abs() < 1e-7, "{result:?}");
        assert!((result.high - 4.277_266).abs() < 1e-6, "{result:?}");
    }

    /// SciPy: `binomtest(b, a + b, 0.5)`.
    #[test]
    fn equal_exposures_give_the_binomial_p_of_scipy() {
        for (a, b, p) in [
            (40, 60, 0.056_887_933_6),
            (60, 40, 0.056_887_933_6),
            (80, 120, 0.005_685_155_996_8),
            (20, 5, 0.004_077_315_330_5),
            (400, 500, 0.000_956_444_136_9),
            (0, 3, 0.25),
        ] {
            let ours = rate_ratio(count(a, 1.0), count(b, 1.0), 0.95).unwrap().p;
            assert!((ours - p).abs() < 1e-10, "{a} {b}: {ours}");
        }
    }

    #[test]
    fn exchanging_the_sides_turns_the_ratio_round() {
        let (a, b) = (count(33, 12.5), count(71, 40.0));
        let (one, other) = (rate_ratio(a, b, 0.95).unwrap(), rate_ratio(b, a, 0.95).unwrap());
        assert!((one.low * other.high - 1.0).abs() < 1e-9 && (one.ratio * other.ratio - 1.0).abs() < 1e-12);
        assert!((one.p - other.p).abs() < 1e-9);
    }

    #[test]
    fn no_events_on_one_side_leave_that_end_open() {
        let none_after = rate_ratio(count(7, 1.0), count(0, 1.0), 0.95).unwrap();
        assert_eq!((none_after.ratio, none_after.low), (0.0, 0.0));
        assert!(
            none_after.high < 1.0 && (none_after.p - 2.0 * 0.5f64.powi(7)).abs() < 1e-12,
            "{none_after:?}"
        );
        let none_before = rate_ratio(count(0, 1.0), count(7, 1.0), 0.95).unwrap();
        assert!(none_before.low > 1.0 && none_before.high.is_infinite() && none_before.ratio.is_infinite());
    }

    #[test]
    fn nothing_counted_or_no_exposure_gives_nothing() {
        assert_eq!(rate_ratio(count(0, 1.0), count(0, 1.0), 0.95), None);
        assert_eq!(rate_ratio(count(1, 0.0), count(1, 1.0), 0.95), None);
        assert_eq!(rate_ratio(count(1, 1.0), count(1, f64::NAN), 0.95), None);
    }

    #[test]
    fn millions_of_events_are_no_burden() {
        let result = rate_ratio(count(5_000_000, 1.0), count(5_010_000, 1.0), 0.95).unwrap();
        // By the normal law: z = 10,000 / sqrt(10,010,000) = 3.1607, p = 0.00157.
        assert!((result.p - 0.001_574).abs() < 1e-5, "{result:?}");
        assert!((result.high / result.ratio - 1.0 - 1.24e-3).abs() < 1e-5, "{result:?}");
    }
}
