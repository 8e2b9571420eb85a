//! Logarithmic scales with round ticks, and places on them as percentages of the plot.

use plumb_model::figure::plain;

/// A logarithmic scale over positive values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogScale {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl LogScale {
    /// The scale that holds all values between two ticks of 1, 2, 5, 10 ...; None without a positive value.
    pub(crate) fn around(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        (high > 0.0).then(|| {
            let (low, high) = (tick_at_or_below(low), tick_at_or_above(high));
            LogScale { low, high: if high > low { high } else { low * 10.0 } }
        })
    }

    /// The place of the value between the ends, 0..1; values outside lie at the nearer end.
    pub(crate) fn share(self, value: f64) -> f64 {
        let share = (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln();
        share.clamp(0.0, 1.0)
    }

    /// Ticks at 1, 2 and 5 of each decade, or at 1 alone when there are many decades.
    pub(crate) fn ticks(self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        (first..=last)
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001)
            .collect()
    }
}

/// A linear scale's ticks from 0: about `wanted` of them, at 1, 2 or 5 times a power of ten.
pub(crate) fn linear_ticks(high: f64, wanted: f64) -> Vec<f64> {
    let step = tick_at_or_above(high / wanted);
    (0..).map(|n| f64::from(n) * step).take_while(|tick| *tick <= high * 1.0001).collect()
}

/// A place or length of the plot: `12.34%`, from a share of 0..1.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A round time with its unit: `500 ns`, `20 µs`, `0.5 ms`, `20 ms`, `1 s`.
pub(crate) fn time_tick(ns: f64) -> String {
    match ns {
        n if n < 1e3 => format!("{} ns", plain(ns)),
        n if n < 99e3 => format!("{} µs", plain(ns / 1e3)),
        n if n < 999e6 => format!("{} ms", plain(ns / 1e6)),
        _ => format!("{} s", plain(ns / 1e9)),
    }
}

fn tick_at_or_below(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|step| step * decade)
        .find(|tick| *tick <= value * 1.000_001)
        .unwrap_or(decade)
}

fn tick_at_or_above(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|step| step * decade)
        .find(|tick| *tick >= value * 0.999_999)
        .unwrap_or(decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_scale_ends_at_round_ticks_around_all_values() {
        let scale = LogScale::around([7.86e6, 110.38e6, 0.0, f64::NAN].into_iter()).unwrap();
        assert_eq!(scale, LogScale { low: 5e6, high: 200e6 });
        let labels: Vec<String> = scale.ticks().into_iter().map(time_tick).collect();
        assert_eq!(labels, ["5 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms"]);
        assert_eq!(percent(scale.share(5e6)), "0.00%");
        assert_eq!(percent(scale.share(1e12)), "100.00%");
        assert_eq!(LogScale::around([0.0].into_iter()), None);
    }

    #[test]
    fn one_value_alone_still_makes_a_scale() {
        let scale = LogScale::around([1e6].into_iter()).unwrap();
        assert!(scale.high > scale.low, "{scale:?}");
    }

    #[test]
    fn linear_ticks_start_at_nothing_and_stay_inside() {
        assert_eq!(linear_ticks(27.5, 6.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
    }
}
