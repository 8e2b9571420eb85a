//! Figures as people read them: three digits that matter, the unit always beside or above them.
//!
//! An absent figure is [`ABSENT`], never 0: functions here take values, and whoever has none writes that.

/// What stands where a figure is absent.
pub const ABSENT: &str = "-";

/// A time with the unit that suits it: `48 ns`, `61.0 µs`, `0.61 ms`, `17.2 ms`, `1.40 s`, `9m 12s`.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        n if n < 999.5 => format!("{ns:.0} ns"),
        n if n < 99_950.0 => format!("{} µs", three_digits(ns / 1e3)),
        n if n < 999.5e6 => format!("{} ms", three_digits(ns / 1e6)),
        n if n < 119.5e9 => format!("{} s", three_digits(ns / 1e9)),
        _ => minutes(ns / 1e9),
    }
}

/// Milliseconds without their unit, for columns that carry it: three significant digits (`0.612`, `9.09`, `110`).
pub(crate) fn milliseconds(ns: f64) -> String {
    significant(ns / 1e6, 3)
}

/// The half width of an interval in milliseconds, two significant digits: `±0.31`.
pub(crate) fn plus_minus_ms(half_width_ns: f64) -> String {
    format!("±{}", significant(half_width_ns / 1e6, 2))
}

/// A span in milliseconds, `41.2..50.1`.
pub(crate) fn span_ms(low_ns: f64, high_ns: f64) -> String {
    format!("{}..{}", milliseconds(low_ns), milliseconds(high_ns))
}

/// A measured rate: enough digits to tell 99.5 % from 100 % (`99.98`, `2,999.1`, `1,250,000`).
pub(crate) fn rate(per_s: f64) -> String {
    match per_s.abs() {
        n if n < 999.995 => format!("{per_s:.2}"),
        n if n < 9_999.95 => grouped(&format!("{per_s:.1}")),
        _ => grouped(&format!("{per_s:.0}")),
    }
}

/// A rate as somebody wrote it, without zeros that say nothing: `100`, `0.5`, `1,000`.
pub(crate) fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    grouped(text.trim_end_matches('0').trim_end_matches('.'))
}

/// A number of things: `10,000`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A ratio of two figures: `×1.23`.
pub fn ratio(value: f64) -> String {
    format!("×{}", significant(value, 3))
}

/// A share of one: `95 %`, `99.5 %`, `0.3 %`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A share that somebody chose, as it was written: `3 %`, `0.25 %`, `0.01 %`.
pub(crate) fn chosen_percent(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    match text.trim_end_matches('0').trim_end_matches('.') {
        "0" if share != 0.0 => format!("{:.1e} %", share * 100.0),
        text => format!("{text} %"),
    }
}

/// A probability: three decimals, and a bound where they say nothing.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// A noun with its count: `1 block`, `5 blocks`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n as u64), if n == 1 { "" } else { "s" })
}

/// `digits` significant digits in plain notation; whole numbers are kept whole and never rounded to tens.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = decimals_for(value, digits);
    // Rounding may carry into a new digit (9.999 -> 10.0): the decimals are those of the rounded value.
    let rounded: f64 = format!("{value:.decimals$}").parse().unwrap_or(value);
    let decimals = if rounded == 0.0 { decimals } else { decimals_for(rounded, digits).min(decimals) };
    grouped(&format!("{value:.decimals$}"))
}

fn decimals_for(value: f64, digits: i32) -> usize {
    let whole_digits = value.abs().log10().floor() as i32 + 1;
    usize::try_from((digits - whole_digits).clamp(0, 12)).unwrap_or(0)
}

/// Two decimals at most, for prose: `0.61`, `9.09`, `17.2`, `110`.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        n if n < 9.995 => 2,
        n if n < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn minutes(seconds: f64) -> String {
    let seconds = seconds.round() as i64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}h {minutes:02}m") } else { format!("{minutes}m {rest:02}s") }
}

/// Thousands apart: `1250000.5` -> `1,250,000.5`.
fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    let (sign, digits) = whole.split_at(whole.len() - whole.trim_start_matches('-').len());
    let mut out = String::from(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_takes_the_unit_that_leaves_about_three_digits() {
        for (ns, text) in [
            (48.0, "48 ns"),
            (61_000.0, "61.0 µs"),
            (610_000.0, "0.61 ms"),
            (9_090_000.0, "9.09 ms"),
            (17_240_000.0, "17.2 ms"),
            (110_380_000.0, "110 ms"),
            (1_400_000_000.0, "1.40 s"),
            (552e9, "9m 12s"),
            (3_780e9, "1h 03m"),
            (-2_500_000.0, "-2.50 ms"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn rounding_that_gains_a_digit_does_not_gain_precision() {
        assert_eq!(milliseconds(9_999_000.0), "10.0");
        assert_eq!(milliseconds(99_960_000.0), "100");
        assert_eq!(time(999_700_000.0), "1.00 s");
        assert_eq!(time(99_960.0), "0.10 ms");
    }

    #[test]
    fn columns_of_milliseconds_keep_three_significant_digits() {
        for (ns, text) in [
            (612_345.0, "0.612"),
            (4_320.0, "0.00432"),
            (9_090_000.0, "9.09"),
            (49_430_000.0, "49.4"),
            (1_234_500_000.0, "1,234"),
            (0.0, "0"),
        ] {
            assert_eq!(milliseconds(ns), text, "{ns}");
        }
        assert_eq!(plus_minus_ms(312_000.0), "±0.31");
        assert_eq!(plus_minus_ms(12_400_000.0), "±12");
    }

    #[test]
    fn rates_tell_half_a_percent_apart() {
        assert_eq!(rate(99.984), "99.98");
        assert_eq!(rate(999.999), "1,000.0");
        assert_eq!(rate(2_999.14), "2,999.1");
        assert_eq!(rate(1_250_000.4), "1,250,000");
        assert_eq!(plain(100.0), "100");
        assert_eq!(plain(0.5), "0.5");
        assert_eq!(plain(1000.0), "1,000");
    }

    #[test]
    fn thousands_are_apart_and_signs_stay_in_front() {
        assert_eq!(count(999), "999");
        assert_eq!(count(80_000), "80,000");
        assert_eq!(grouped("-1234567.25"), "-1,234,567.25");
        assert_eq!(counted(1, "block"), "1 block");
        assert_eq!(counted(1_000, "block"), "1,000 blocks");
    }

    #[test]
    fn shares_and_probabilities_are_short() {
        assert_eq!(percent(0.95), "95 %");
        assert_eq!(percent(0.995), "99.5 %");
        assert_eq!(p_value(0.0004), "p < 0.001");
        assert_eq!(p_value(0.0123), "p = 0.012");
        assert_eq!(ratio(1.2345), "×1.23");
    }
}
