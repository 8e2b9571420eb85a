//! How figures are written in a sentence: three digits, the unit that fits, no more certainty than there is.

use plumb_model::observation::Interval;

/// A time in the unit that fits: `3.14 us`, `5.02 ms`, `1.20 s`. A sign is kept.
pub(crate) fn time(time_ns: f64) -> String {
    let unit = TimeUnit::fitting(time_ns);
    format!("{} {}", digits(time_ns / unit.ns), unit.sign)
}

/// A unit of time and its length.
struct TimeUnit {
    ns: f64,
    sign: &'static str,
}

impl TimeUnit {
    /// The unit in which the time has at most three digits before the point once it is rounded:
    /// 999.7 us is written `1.00 ms`, as 1,000.3 us is.
    fn fitting(time_ns: f64) -> TimeUnit {
        match time_ns.abs() {
            t if t < 999.5 => TimeUnit { ns: 1.0, sign: "ns" },
            t if t < 999.5e3 => TimeUnit { ns: 1e3, sign: "us" },
            t if t < 999.5e6 => TimeUnit { ns: 1e6, sign: "ms" },
            _ => TimeUnit { ns: 1e9, sign: "s" },
        }
    }
}

/// A time in milliseconds without its unit, for `5.0 of 5.6 ms`.
pub(crate) fn ms(time_ns: f64) -> String {
    digits(time_ns / 1e6)
}

/// An interval of times in the unit that fits its upper end: `5.01-5.09 ms`.
pub(crate) fn time_interval(interval: &Interval) -> String {
    let unit = TimeUnit::fitting(interval.high);
    format!("{}-{} {}", digits(interval.low / unit.ns), digits(interval.high / unit.ns), unit.sign)
}

/// A number with two or three digits that matter.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        // The bounds are those of the rounded value: 9.996 is written 10.0, not 10.00.
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A share 0..1 in percent; small ones are not rounded to nothing.
pub(crate) fn percent(share: f64) -> String {
    match (share * 100.0).abs() {
        p if p != 0.0 && p < 0.01 => format!("{:.1e} %", share * 100.0),
        p if p < 10.0 => format!("{:.2} %", share * 100.0),
        _ => format!("{:.0} %", share * 100.0),
    }
}

/// A share and the limit that it is held against, with as many digits as it takes to tell them apart: `99.4 %`, `99.5 %`.
pub(crate) fn percents(share: f64, limit: f64) -> [String; 2] {
    let exact = |share: f64, places: usize| format!("{:.places$} %", share * 100.0);
    // A limit is a round figure, and never shown as another one.
    let limit_text = round_percent(limit);
    if (share - limit).abs() >= NEAR_A_LIMIT || share == limit {
        return [percent(share), limit_text];
    }
    let least = usize::from(limit_text.contains('.'));
    let apart = (least..=PLACES_MAX).find(|places| exact(share, *places) != exact(limit, *places));
    [exact(share, apart.unwrap_or(PLACES_MAX)), limit_text]
}

/// A share this near its limit needs the limit's own digits.
const NEAR_A_LIMIT: f64 = 0.02;

/// Digits after the point at most: what is closer is written as equal.
const PLACES_MAX: usize = 6;

/// Two rates, with more digits where whole messages round their difference away: `199.8/s`, `200.0/s`.
pub(crate) fn rates(a: f64, b: f64) -> [String; 2] {
    let exact = |places: usize| [a, b].map(|per_s| format!("{per_s:.places$}/s"));
    let near = (a - b).abs() < NEAR_A_LIMIT * a.abs().max(b.abs());
    let told = |shown: &[String; 2]| shown[0] != shown[1];
    let usual = [a, b].map(rate);
    match a == b || (!near && told(&usual)) {
        true => usual,
        false => (1..=PLACES_MAX).map(exact).find(told).unwrap_or(usual),
    }
}

/// A share that somebody chose, or that is no more exact than a tenth of a percent: `3 %`, `4.2 %`; below one percent two digits that
/// matter: `0.25 %`, `0.01 %`.
pub(crate) fn round_percent(share: f64) -> String {
    let percent = share * 100.0;
    let places = match percent.abs() {
        p if p > 0.0 && p < 0.995 => (1 - p.log10().floor() as i32).clamp(1, ROUND_PLACES_MAX) as usize,
        _ => 1,
    };
    let text = format!("{percent:.places$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Digits of a rounded share after the point, at most.
const ROUND_PLACES_MAX: i32 = 12;

/// A ratio as the change that it is: `+12 %`, `-3.1 %`; above 2 as a factor, below 1/2 as its inverse.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        r if r >= 2.0 => format!("{} times", digits(r)),
        r if r > 0.0 && r <= 0.5 => format!("1/{}", digits(1.0 / r)),
        r => format!("{:+.1} %", (r - 1.0) * 100.0),
    }
}

/// A rate.
pub(crate) fn rate(per_s: f64) -> String {
    format!("{}/s", digits_of_rate(per_s))
}

/// Messages per second, to the message, thousands apart: `412,345 messages/s`.
pub(crate) fn messages_per_s(per_s: f64) -> String {
    format!("{} messages/s", whole(per_s))
}

/// Bytes per second in MB (10^6 bytes): `422 MB/s`.
pub(crate) fn megabytes_per_s(bytes_per_s: f64) -> String {
    format!("{} MB/s", if bytes_per_s >= 1e8 { whole(bytes_per_s / 1e6) } else { digits(bytes_per_s / 1e6) })
}

/// A ratio to say how many times as much: `5.1`, `12.4`.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { digits(ratio) }
}

/// A number rounded to a whole one, thousands apart.
fn whole(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits.split_at(digits.len() - digits.trim_start_matches('-').len());
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    let groups: Vec<String> =
        groups.into_iter().map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    format!("{sign}{}", groups.join(","))
}

/// The digits of a rate.
pub(crate) fn digits_of_rate(per_s: f64) -> String {
    if per_s.fract() == 0.0 { format!("{per_s:.0}") } else { digits(per_s) }
}

/// A count with its noun in singular or plural: `1 message`, `3 messages`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A setup's name inside a sentence: in quotation marks, because users write commas and blanks in names.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

/// The text as a sentence: a capital first and a full stop last.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let stop = if text.ends_with('.') || text.is_empty() { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_fits() {
        let written = [12.0, 3_140.0, 5_020_000.0, -45_600_000.0, 1.2e9].map(time);
        assert_eq!(written, ["12.0 ns", "3.14 us", "5.02 ms", "-45.6 ms", "1.20 s"]);
    }

    #[test]
    fn a_time_that_is_rounded_up_to_the_next_unit_is_written_in_it() {
        let written = [999.7, 999_700.0, -999_700.0, 999_700_000.0].map(time);
        assert_eq!(written, ["1.00 us", "1.00 ms", "-1.00 ms", "1.00 s"]);
        assert_eq!([999_400.0, 9_996.0, 99_960.0].map(time), ["999 us", "10.0 us", "100 us"]);
        let interval = Interval {
            low: 998_000.0,
            high: 999_700.0,
            level: 0.95,
            method: plumb_model::observation::IntervalMethod::Blocks,
        };
        assert_eq!(time_interval(&interval), "1.00-1.00 ms");
    }

    #[test]
    fn changes_are_percent_until_they_are_factors() {
        assert_eq!([1.124, 0.97, 3.0, 0.25].map(change), ["+12.4 %", "-3.0 %", "3.00 times", "1/4.00"]);
    }

    #[test]
    fn a_share_that_somebody_chose_is_written_as_that_however_small() {
        assert_eq!([0.03, 0.042, 0.1, 1.0, 0.0].map(round_percent), ["3 %", "4.2 %", "10 %", "100 %", "0 %"]);
        assert_eq!(
            [0.0001, 0.0025, 0.000_001_23, 0.009_96, -0.005].map(round_percent),
            ["0.01 %", "0.25 %", "0.00012 %", "1 %", "-0.5 %"]
        );
    }

    #[test]
    fn a_share_that_is_not_zero_is_not_written_as_zero() {
        assert_eq!(percent(0.000_001), "1.0e-4 %");
        assert_eq!(percent(0.0), "0.00 %");
        assert_eq!(percent(0.123), "12 %");
    }

    #[test]
    fn figures_near_their_limit_have_the_digits_that_tell_them_apart() {
        assert_eq!(percents(0.994_2, 0.995), ["99.4 %", "99.5 %"]);
        assert_eq!(percents(0.994_98, 0.995), ["99.498 %", "99.5 %"]);
        assert_eq!(percents(0.84, 0.995), ["84 %", "99.5 %"]);
        assert_eq!(percents(0.996, 0.995), ["99.6 %", "99.5 %"]);
        assert_eq!(percents(0.204, 0.2), ["20.4 %", "20 %"]);
        assert_eq!(rates(199.8, 200.0), ["199.8/s", "200.0/s"]);
        assert_eq!(rates(4_210.0, 5_000.0), ["4210/s", "5000/s"]);
    }

    #[test]
    fn rates_have_their_thousands_apart_and_say_which_megabytes() {
        assert_eq!(messages_per_s(1_412_345.4), "1,412,345 messages/s");
        assert_eq!([99.0, 1_000.0].map(whole), ["99", "1,000"]);
        assert_eq!([4.22e6, 9.9e7, 4.22e9].map(megabytes_per_s), ["4.22 MB/s", "99.0 MB/s", "4,220 MB/s"]);
    }

    #[test]
    fn lists_and_counts_read_as_prose() {
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!((count(1, "message"), count(2, "message")), ("1 message".into(), "2 messages".into()));
        assert_eq!(sentence("it is so"), "It is so.");
    }
}
