//! The intervals that the usual ways of looking at a fleet would give: to stand beside the answer, never in its place.
//!
//! Each takes the events as independent of each other. They are not: a server's drops share its customers and its moment,
//! so these intervals are far too narrow ([`super`] has what to do instead).

use crate::law::normal_two_sided;
use statrs::distribution::{ContinuousCDF, Normal};

/// Events, and what they are held against, such as packets or server-days.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// The number of events.
    pub events: f64,
    /// Over how much.
    pub exposure: f64,
}

/// A ratio with an interval that is not to be relied on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Naive {
    /// The ratio.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p.
    pub p: f64,
}

/// Products and quotients of rates as if all events were independent (Poisson): each of `over` counts upwards, each of
/// `under` downwards. Two rates give a rate ratio, four a ratio of ratios. None with an empty rate.
pub fn poisson(over: &[Rate], under: &[Rate], level: f64) -> Option<Naive> {
    let all = || over.iter().chain(under);
    if all().any(|rate| !(rate.events > 0.0 && rate.exposure > 0.0)) {
        return None;
    }
    let log = |rates: &[Rate]| rates.iter().map(|rate| (rate.events / rate.exposure).ln()).sum::<f64>();
    from_log(log(over) - log(under), all().map(|rate| 1.0 / rate.events).sum::<f64>().sqrt(), level)
}

/// Geometric means of samples, as if each sample were independent of each other (normal): as [`poisson`] otherwise. The samples
/// are logarithms.
pub fn samples(over: &[&[f64]], under: &[&[f64]], level: f64) -> Option<Naive> {
    let all = || over.iter().chain(under);
    if all().any(|samples| samples.len() < 2) {
        return None;
    }
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = |samples: &[f64]| {
        let n = samples.len() as f64;
        samples.iter().map(|value| (value - mean(samples)).powi(2)).sum::<f64>() / (n - 1.0) / n
    };
    let log = |parts: &[&[f64]]| parts.iter().map(|samples| mean(samples)).sum::<f64>();
    from_log(log(over) - log(under), all().map(|samples| variance(samples)).sum::<f64>().sqrt(), level)
}

fn from_log(log: f64, error: f64, level: f64) -> Option<Naive> {
    if !(level > 0.0 && level < 1.0 && error > 0.0 && log.is_finite()) {
        return None;
    }
    let reach = Normal::standard().inverse_cdf(0.5 + level / 2.0) * error;
    let p = normal_two_sided(log / error)?;
    Some(Naive { ratio: log.exp(), low: (log - reach).exp(), high: (log + reach).exp(), p })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of R's help page of poisson.test: 11 in 800 against 21 in 3,011, ratio 1.971488 as printed there. The interval is
    /// Wald's on the logarithm, by hand: error sqrt(1/11 + 1/21) = 0.372194.
    #[test]
    fn a_ratio_of_rates_has_walds_interval() {
        let (a, b) = (Rate { events: 11.0, exposure: 800.0 }, Rate { events: 21.0, exposure: 3_011.0 });
        let ratio = poisson(&[a], &[b], 0.95).unwrap();
        assert!((ratio.ratio - 1.971_488).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.low - 0.950_566).abs() < 1e-4 && (ratio.high - 4.088_895).abs() < 1e-4, "{ratio:?}");
    }

    #[test]
    fn four_rates_give_a_ratio_of_ratios_and_an_empty_one_gives_nothing() {
        let rate = |events| Rate { events, exposure: 1.0 };
        let ratio = poisson(&[rate(40.0), rate(100.0)], &[rate(100.0), rate(80.0)], 0.95).unwrap();
        assert!((ratio.ratio - 0.5).abs() < 1e-12);
        assert_eq!(poisson(&[rate(0.0)], &[rate(5.0)], 0.95), None);
    }

    #[test]
    fn samples_are_held_against_each_other_by_their_means() {
        let of = |middle: f64| [middle - 0.1, middle, middle + 0.1];
        let ratio = samples(&[&of(2f64.ln())], &[&of(0.0)], 0.95).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-12 && ratio.p < 1e-6, "{ratio:?}");
        assert_eq!(samples(&[&[1.0]], &[&of(0.0)], 0.95), None);
    }
}
