//! The text of a figure, wherever people read it: in a sentence, a table, a page, a line of progress.
//!
//! Three digits that matter; the unit beside the figure or above its column; thousands apart by commas. Times and ratios keep the zeros
//! that say how exact they are (`1.40 s`, `×2.00`); rates, sizes and shares drop them (`100/s`, `4.5 %`). A unit is used until the rounded
//! figure reaches a thousand of it.
//!
//! An absent figure is [`ABSENT`], never 0: functions here take values, and whoever has none writes that. Not here: what machines read
//! (JSON, CSV, coordinates of a drawing) and what users write ([`crate::units`]). Words around figures are in [`crate::prose`].

/// The text that stands for an absent figure.
pub const ABSENT: &str = "-";

/// A time with the unit that suits it: `48.0 ns`, `610 µs`, `9.09 ms`, `17.2 ms`, `1.40 s`; from two minutes on `9m 12s`, `1h 03m`.
pub fn time(ns: f64) -> String {
    match TimeUnit::fitting(ns) {
        Some(unit) => format!("{} {}", significant(ns / unit.ns, 3), unit.sign),
        None => minutes(ns / 1e9),
    }
}

/// A unit of time and its length.
struct TimeUnit {
    ns: f64,
    sign: &'static str,
}

impl TimeUnit {
    /// The unit in which the time has at most three digits before the point once it is rounded: 999.7 µs is written `1.00 ms`, as
    /// 1,000.3 µs is. None where minutes are better.
    fn fitting(ns: f64) -> Option<TimeUnit> {
        match ns.abs() {
            t if t < 999.5 => Some(TimeUnit { ns: 1.0, sign: "ns" }),
            t if t < 999.5e3 => Some(TimeUnit { ns: 1e3, sign: "µs" }),
            t if t < 999.5e6 => Some(TimeUnit { ns: 1e6, sign: "ms" }),
            t if t >= 119.5e9 && t.is_finite() => None,
            _ => Some(TimeUnit { ns: 1e9, sign: "s" }),
        }
    }
}

fn minutes(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    let whole = seconds.abs().round() as u64;
    if whole < 3_600 {
        return format!("{sign}{}m {:02}s", whole / 60, whole % 60);
    }
    let minutes = (seconds.abs() / 60.0).round() as u64;
    format!("{sign}{}h {:02}m", grouped(&(minutes / 60).to_string()), minutes % 60)
}

/// An estimate of the time that something will take: whole seconds, `48 s`, then as [`time`] has it, `9m 12s`, and from a day on `2d 03h`.
pub fn estimate(seconds: f64) -> String {
    match seconds {
        s if s < 119.5 => format!("{} s", whole(s)),
        s if s < 86_370.0 => minutes(s),
        s => {
            let hours = (s / 3_600.0).round() as u64;
            format!("{}d {:02}h", count(hours / 24), hours % 24)
        }
    }
}

/// An interval of times in the unit that fits its upper end: `5.01 to 5.09 ms`.
pub fn time_interval(low_ns: f64, high_ns: f64) -> String {
    match TimeUnit::fitting(low_ns.abs().max(high_ns.abs())) {
        Some(unit) => {
            format!(
                "{} {}",
                interval(low_ns / unit.ns, high_ns / unit.ns, |it| significant(it, 3)),
                unit.sign
            )
        }
        None => interval(low_ns, high_ns, time),
    }
}

/// A time that is known within so much on either side, with as many digits as that leaves: `12.346 ms ± 31 µs`, `552.000123 s ± 31 µs`.
pub fn time_within(ns: f64, half_ns: f64) -> String {
    let second = TimeUnit { ns: 1e9, sign: "s" };
    let unit = TimeUnit::fitting(ns.abs().max(half_ns)).unwrap_or(second);
    let places = match half_ns {
        half if half > 0.0 => places_for(half / unit.ns, 2),
        // What is known exactly is whole nanoseconds.
        _ => (unit.ns.log10().round() as usize).min(9),
    };
    let half = match TimeUnit::fitting(half_ns) {
        Some(unit) => format!("{} {}", significant(half_ns / unit.ns, 2), unit.sign),
        None => time(half_ns),
    };
    let value = decimals(ns / unit.ns, places);
    // Less than the digits show is 0, on whichever side it is.
    let is_zero = value.chars().all(|c| !c.is_ascii_digit() || c == '0');
    let value = if is_zero { value.trim_start_matches('-') } else { &value };
    format!("{value} {} ± {half}", unit.sign)
}

/// A difference of rates with its sign: `+3.21 ppm`, `-0.04 ppm`.
pub fn ppm(ppm: f64) -> String {
    let sign = if ppm > 0.0 { "+" } else { "" };
    format!("{sign}{} ppm", significant(ppm, 3))
}

/// The two ends of an interval, each as `write` has it: `0.82 to 0.91`.
pub fn interval(low: f64, high: f64, write: impl Fn(f64) -> String) -> String {
    format!("{} to {}", write(low), write(high))
}

/// Milliseconds without their unit, for columns that carry it: three significant digits (`0.612`, `9.09`, `110`).
pub fn milliseconds(ns: f64) -> String {
    significant(ns / 1e6, 3)
}

/// The half width of an interval, two significant digits, in the unit of what it belongs to: `±0.31`.
pub fn plus_minus(half_width: f64) -> String {
    format!("±{}", significant(half_width, 2))
}

/// A measured rate without its unit: enough digits to tell 99.5 % from 100 %, and no zeros that say nothing (`99.98`, `2,999.1`,
/// `1,250,000`, `100`).
pub fn rate(per_s: f64) -> String {
    match per_s.abs() {
        n if n < 0.995 => short(per_s),
        n if n < 999.995 => trimmed(per_s, 2),
        n if n < 9_999.95 => trimmed(per_s, 1),
        _ => trimmed(per_s, 0),
    }
}

/// A rate of anything: `4,210/s`.
pub fn per_s(per_s: f64) -> String {
    format!("{}/s", rate(per_s))
}

/// A rate of messages: `412,345 messages/s`.
pub fn messages_per_s(per_s: f64) -> String {
    format!("{} messages/s", rate(per_s))
}

/// Two rates with as many digits as it takes to tell them apart: `199.8/s`, `200/s`.
pub fn rates(a: f64, b: f64) -> [String; 2] {
    let usual = [a, b].map(per_s);
    if a == b || usual[0] != usual[1] {
        return usual;
    }
    let exact = |places: usize| [a, b].map(|per_s| format!("{}/s", trimmed(per_s, places)));
    (1..=PLACES_MAX).map(exact).find(|shown| shown[0] != shown[1]).unwrap_or(usual)
}

/// Digits after the point at most: what is closer is written as equal.
const PLACES_MAX: usize = 6;

/// A value as somebody wrote it, without zeros that say nothing: `100`, `0.5`, `1,000`.
pub fn plain(value: f64) -> String {
    if value.abs() < 0.1 { short(value) } else { trimmed(value, 3) }
}

/// A number of things: `10,000`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A noun with its count: `1 block`, `5 blocks`.
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A value to the next whole number: `1,412,345`.
pub fn whole(value: f64) -> String {
    decimals(value, 0)
}

/// A ratio of two figures: `×1.23`; within a tenth of 1, where intervals are narrow, three decimals: `×1.041`.
pub fn ratio(value: f64) -> String {
    format!("×{}", ratio_digits(value))
}

/// A ratio without its sign, for columns and sentences that say that it is one, and for the ends of an interval: `1.23`, `1.041`.
pub fn ratio_digits(value: f64) -> String {
    if (value - 1.0).abs() <= 0.1 { decimals(value, 3) } else { significant(value, 3) }
}

/// A ratio as the change that it is: `+12.4 %`, `-95.2 %`; from twice on as the ratio: `×3.40`.
pub fn change(ratio_of: f64) -> String {
    if ratio_of >= 2.0 || !ratio_of.is_finite() {
        return ratio(ratio_of);
    }
    let percent = (ratio_of - 1.0) * 100.0;
    // What is left of a hundred is not rounded away: a drop to a three-thousandth is no drop to nothing.
    let places = match percent + 100.0 {
        left if left > 0.0 && left < 0.095 => places_for(left, 1),
        _ => 1,
    };
    match decimals(percent, places) {
        nothing if nothing.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) => {
            "0.0 %".to_owned()
        }
        less if percent < 0.0 => format!("{less} %"),
        more => format!("+{more} %"),
    }
}

/// A share of one: `95 %`, `99.5 %`, `0.25 %`, `0.00012 %`. A tenth of a percent where that is enough; two digits that matter below
/// one percent, and as many for what is missing above 99, so that only 0 reads `0 %` and only 1 reads `100 %`; and what has just two
/// decimals is written as it is, because somebody will have chosen it (`2.25 %`).
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent.abs() < 1e-6 {
        return format!("{percent:.1e} %");
    }
    let missing = if (share - 1.0).abs() < ROUNDING { 0.0 } else { (100.0 - percent).abs() };
    let has_two_decimals = (percent * 100.0 - (percent * 100.0).round()).abs() < 1e-9;
    let places = [percent.abs(), missing].map(|part| match part {
        part if part > 0.0 && part < 0.995 => places_for(part, 2),
        _ if has_two_decimals => 2,
        _ => 1,
    });
    format!("{} %", trimmed(percent, places[0].max(places[1])))
}

/// Largest distance from one of the sum of its shares by the arithmetic alone.
const ROUNDING: f64 = 1e-12;

/// A share of a time or of a limit that was watched, which no counter tells to more than a hundredth of a percent: as [`percent`], but near
/// the whole with two decimals at most: `99.96 %`, `> 99.99 %`. Only 1 reads `100 %`.
pub fn rough_share(share: f64) -> String {
    match 1.0 - share {
        missing if missing > ROUNDING && missing < 5.1e-5 => "> 99.99 %".to_owned(),
        missing if missing > ROUNDING && missing < 0.01 => format!("{} %", trimmed(share * 100.0, 2)),
        _ => percent(share),
    }
}

/// A share and the limit that it is held against, with as many digits as it takes to tell them apart: `99.498 %`, `99.5 %`.
pub fn percents(share: f64, limit: f64) -> [String; 2] {
    let usual = [share, limit].map(percent);
    if share == limit || usual[0] != usual[1] {
        return usual;
    }
    let exact = |places: usize| [share, limit].map(|share| format!("{} %", trimmed(share * 100.0, places)));
    (1..=PLACES_MAX).map(exact).find(|shown| shown[0] != shown[1]).unwrap_or(usual)
}

/// A probability: three decimals, and a bound where they say nothing: `p = 0.012`, `p < 0.001`.
pub fn p_value(p: f64) -> String {
    let p = probability(p);
    if p.starts_with('<') { format!("p {p}") } else { format!("p = {p}") }
}

/// A probability without its letter, for columns that carry it: `0.012`, `< 0.001`.
pub fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { decimals(p, 3) }
}

/// Bytes as disks and networks count them: `240 KB`, `6.48 TB`.
pub fn bytes(bytes: f64) -> String {
    scaled_to(bytes, 1000.0, DECIMAL, 3)
}

/// Measured bytes per second: `4.22 GB/s`.
pub fn bytes_per_s(per_s: f64) -> String {
    format!("{}/s", bytes(per_s))
}

/// Millions of bytes without their unit, for columns that carry it (MB, MB/s): three significant digits.
pub fn megabytes(bytes: f64) -> String {
    significant(bytes / 1e6, 3)
}

/// Bytes as memory and blocks are counted: `64 KiB`, `15.6 GiB`.
pub fn binary_bytes(bytes: f64) -> String {
    scaled_to(bytes, 1024.0, BINARY, 3)
}

/// Two amounts of memory with as many digits as it takes to tell them apart: `4.75 GiB`, `4.749 GiB`.
pub fn binary_bytes_apart(a: f64, b: f64) -> [String; 2] {
    apart([a, b], |bytes, digits| scaled_to(bytes, 1024.0, BINARY, digits))
}

/// Two amounts of bytes on disks with as many digits as it takes to tell them apart: `1 GB`, `1.001 GB`.
pub fn bytes_apart(a: f64, b: f64) -> [String; 2] {
    apart([a, b], |bytes, digits| scaled_to(bytes, 1000.0, DECIMAL, digits))
}

/// Both with the fewest digits, three or more, with which they do not read alike.
fn apart(pair: [f64; 2], write: impl Fn(f64, i32) -> String) -> [String; 2] {
    let shown = |digits: i32| pair.map(|value| write(value, digits));
    let differ = |shown: &[String; 2]| pair[0] == pair[1] || shown[0] != shown[1];
    (3..=DIGITS_MAX).map(shown).find(differ).unwrap_or_else(|| shown(3))
}

/// Units of disks and networks.
const DECIMAL: &[&str] = &["B", "KB", "MB", "GB", "TB", "PB", "EB"];
/// Units of memory.
const BINARY: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
/// Significant digits at most: those of a 64-bit fraction.
const DIGITS_MAX: i32 = 15;

fn scaled_to(value: f64, step: f64, units: &[&str], digits: i32) -> String {
    let mut scaled = value;
    let mut unit = 0;
    // 999.6 would be written 1,000.
    while scaled.abs() >= step - 0.5 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    format!("{} {}", without_zeros(&significant(scaled, digits)), units[unit])
}

/// Three digits that matter, without zeros that say nothing: `2.08`, `0.5`, `10`.
pub fn short(value: f64) -> String {
    let text = significant(value, 3);
    without_zeros(&text).to_owned()
}

/// `digits` significant digits in plain notation; whole numbers are kept whole and never rounded to tens.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = places_for(value, digits);
    // Rounding may carry into a new digit (9.999 -> 10.0): the decimals are those of the rounded value.
    let rounded: f64 = format!("{value:.places$}").parse().unwrap_or(value);
    let places = if rounded == 0.0 { places } else { places_for(rounded, digits).min(places) };
    decimals(value, places)
}

/// A number of decimals that is the same for every value, for what has a custom of its own (a load average, a correlation).
pub fn decimals(value: f64, places: usize) -> String {
    if value.is_finite() { grouped(&format!("{value:.places$}")) } else { ABSENT.to_owned() }
}

/// Decimals for `digits` significant digits.
fn places_for(value: f64, digits: i32) -> usize {
    let whole_digits = (value.abs().log10().floor() as i32).saturating_add(1);
    usize::try_from(digits.saturating_sub(whole_digits).clamp(0, 12)).unwrap_or(0)
}

fn trimmed(value: f64, places: usize) -> String {
    without_zeros(&decimals(value, places)).to_owned()
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
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

/// A quantile's name: `p99.9` of 0.999.
pub fn quantile(quantile: f64) -> String {
    // 0.999 * 100 is not 99.9 in binary.
    format!("p{}", (quantile * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_takes_the_unit_that_leaves_about_three_digits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (48.0, "48.0 ns"),
            (61_000.0, "61.0 µs"),
            (610_000.0, "610 µs"),
            (9_090_000.0, "9.09 ms"),
            (17_240_000.0, "17.2 ms"),
            (110_380_000.0, "110 ms"),
            (1_400_000_000.0, "1.40 s"),
            (119.4e9, "119 s"),
            (119.5e9, "2m 00s"),
            (552e9, "9m 12s"),
            (3_780e9, "1h 03m"),
            (7_199e9, "2h 00m"),
            (-2_500_000.0, "-2.50 ms"),
            (-552e9, "-9m 12s"),
            (f64::NAN, "- s"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn an_estimate_claims_no_tenths() {
        let written = [0.4, 59.0, 149.0, 3_600.0, 86_400.0, 439_200.0].map(estimate);
        assert_eq!(written, ["0 s", "59 s", "2m 29s", "1h 00m", "1d 00h", "5d 02h"]);
    }

    #[test]
    fn a_time_that_is_rounded_up_to_the_next_unit_is_written_in_it() {
        let written = [999.7, 999_700.0, -999_700.0, 999_700_000.0].map(time);
        assert_eq!(written, ["1.00 µs", "1.00 ms", "-1.00 ms", "1.00 s"]);
        assert_eq!([999_400.0, 9_996.0, 99_960.0].map(time), ["999 µs", "10.0 µs", "100 µs"]);
    }

    #[test]
    fn an_interval_has_the_unit_of_its_larger_end() {
        assert_eq!(time_interval(5_010_000.0, 5_090_000.0), "5.01 to 5.09 ms");
        assert_eq!(time_interval(998_000.0, 999_700.0), "0.998 to 1.00 ms");
        assert_eq!(time_interval(-5_000_000.0, 100_000.0), "-5.00 to 0.100 ms");
        assert_eq!(time_interval(100e9, 130e9), "100 s to 2m 10s");
        assert_eq!(interval(0.82, 1.04, ratio_digits), "0.820 to 1.040");
    }

    #[test]
    fn a_time_within_has_the_digits_that_its_error_leaves() {
        for (ns, half_ns, text) in [
            (12_345_678.0, 31_400.0, "12.346 ms ± 31 µs"),
            (552_000_123_456.0, 31_400.0, "552.000123 s ± 31 µs"),
            (5_000.0, 31_400.0, "5 µs ± 31 µs"),
            (5_000.0, 3_140.0, "5.0 µs ± 3.1 µs"),
            (-300.0, 21_000.0, "0 µs ± 21 µs"),
            (-300.0, 3_100.0, "-0.3 µs ± 3.1 µs"),
            (0.0, 0.0, "0 ns ± 0 ns"),
            (1.0e8, 0.0, "100.000000 ms ± 0 ns"),
            (2.0e6, 3.0e9, "0.0 s ± 3.0 s"),
        ] {
            assert_eq!(time_within(ns, half_ns), text);
        }
        assert_eq!([3.2149, -0.0401, 0.0].map(ppm), ["+3.21 ppm", "-0.0401 ppm", "0 ppm"]);
    }

    #[test]
    fn columns_of_milliseconds_keep_three_significant_digits() {
        for (ns, text) in [
            (612_345.0, "0.612"),
            (4_320.0, "0.00432"),
            (9_090_000.0, "9.09"),
            (9_999_000.0, "10.0"),
            (49_430_000.0, "49.4"),
            (99_960_000.0, "100"),
            (1_234_500_000.0, "1,234"),
            (0.0, "0"),
        ] {
            assert_eq!(milliseconds(ns), text, "{ns}");
        }
        assert_eq!([0.312, 12.4].map(plus_minus), ["±0.31", "±12"]);
    }

    #[test]
    fn what_is_no_number_is_absent() {
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!([short(none), significant(none, 3), ratio_digits(none), rate(none)], [ABSENT; 4]);
        }
    }

    #[test]
    fn rates_tell_half_a_percent_apart_and_drop_zeros() {
        let written = [99.984, 999.999, 2_999.14, 1_250_000.4, 100.0, 0.5, 0.012, 1_000.0, 0.0].map(rate);
        assert_eq!(written, ["99.98", "1,000", "2,999.1", "1,250,000", "100", "0.5", "0.012", "1,000", "0"]);
        assert_eq!([100.0, 0.5, 1_000.0, 0.0001].map(plain), ["100", "0.5", "1,000", "0.0001"]);
        assert_eq!(per_s(4_210.0), "4,210/s");
        assert_eq!(messages_per_s(1_412_345.4), "1,412,345 messages/s");
        assert_eq!(rates(199.8, 200.0), ["199.8/s", "200/s"]);
        assert_eq!(rates(4_210.0, 5_000.0), ["4,210/s", "5,000/s"]);
        assert_eq!(rates(50_000.2, 50_000.0), ["50,000.2/s", "50,000/s"]);
    }

    #[test]
    fn thousands_are_apart_and_signs_stay_in_front() {
        assert_eq!([999, 80_000].map(count), ["999", "80,000"]);
        assert_eq!(grouped("-1234567.25"), "-1,234,567.25");
        assert_eq!(counted(1_u32, "block"), "1 block");
        assert_eq!(counted(1_000_usize, "block"), "1,000 blocks");
    }

    #[test]
    fn a_share_is_a_tenth_of_a_percent_exact_and_more_where_that_would_read_none_or_all() {
        for (share, text) in [
            (0.95, "95 %"),
            (0.995, "99.5 %"),
            (0.123_45, "12.3 %"),
            (0.042, "4.2 %"),
            (0.0, "0 %"),
            (1.0, "100 %"),
            (0.1 + 0.2 + 0.7, "100 %"),
            (0.000_1, "0.01 %"),
            (0.002_5, "0.25 %"),
            (0.022_5, "2.25 %"),
            (0.000_001_23, "0.00012 %"),
            (0.009_96, "1 %"),
            (-0.005, "-0.5 %"),
            (0.999_7, "99.97 %"),
            (0.999_999_7, "99.99997 %"),
            (1.000_4, "100.04 %"),
            (12.5, "1,250 %"),
            (1e-9, "1.0e-7 %"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn amounts_of_memory_that_are_near_each_other_are_told_apart() {
        let mib = |n: f64| n * 1_048_576.0;
        assert_eq!(binary_bytes_apart(mib(4_864.0), mib(4_863.0)), ["4.75 GiB", "4.749 GiB"]);
        assert_eq!(binary_bytes_apart(mib(4_864.0), mib(1_024.0)), ["4.75 GiB", "1 GiB"]);
        let [a, b] = binary_bytes_apart(mib(4_864.0), mib(4_864.0) - 1.0);
        assert!(a != b, "{a} {b}");
    }

    #[test]
    fn figures_near_their_limit_have_the_digits_that_tell_them_apart() {
        assert_eq!(percents(0.994_2, 0.995), ["99.42 %", "99.5 %"]);
        assert_eq!(percents(0.994_98, 0.995), ["99.498 %", "99.5 %"]);
        assert_eq!(percents(0.84, 0.995), ["84 %", "99.5 %"]);
        assert_eq!(percents(0.996, 0.995), ["99.6 %", "99.5 %"]);
        assert_eq!(percents(0.200_04, 0.2), ["20.004 %", "20 %"]);
    }

    #[test]
    fn a_share_that_was_watched_has_two_decimals_near_the_whole_and_never_reads_as_all_of_it() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.000_012, "0.0012 %"),
            (0.5, "50 %"),
            (0.994_2, "99.42 %"),
            (0.999_57, "99.96 %"),
            (0.999_94, "99.99 %"),
            (0.999_95, "> 99.99 %"),
            (0.999_984_23, "> 99.99 %"),
            (1.0 - 1e-9, "> 99.99 %"),
            (1.0, "100 %"),
            (1.043_21, "104.3 %"),
        ] {
            assert_eq!(rough_share(share), text, "{share}");
        }
    }

    #[test]
    fn changes_are_percent_until_they_are_ratios() {
        assert_eq!(
            [1.124, 0.97, 0.048, 3.4, 2.0].map(change),
            ["+12.4 %", "-3.0 %", "-95.2 %", "×3.40", "×2.00"]
        );
        assert_eq!([1.0, 1.000_01, 0.999_99].map(change), ["0.0 %"; 3]);
        assert_eq!([0.000_3, 0.0].map(change), ["-99.97 %", "-100.0 %"]);
    }

    #[test]
    fn a_ratio_near_one_has_a_digit_more() {
        assert_eq!(
            [1.2345, 1.041, 0.95, 12.44, 0.050_4].map(ratio),
            ["×1.23", "×1.041", "×0.950", "×12.4", "×0.0504"]
        );
    }

    #[test]
    fn probabilities_have_a_bound_where_decimals_say_nothing() {
        assert_eq!([0.0004, 0.0123].map(p_value), ["p < 0.001", "p = 0.012"]);
    }

    #[test]
    fn sizes_take_the_unit_that_suits_and_say_how_they_count() {
        assert_eq!([240_000.0, 999_700.0, 6.48e12].map(bytes), ["240 KB", "1 MB", "6.48 TB"]);
        assert_eq!([4.22e6, 9.9e7, 4.22e9].map(bytes_per_s), ["4.22 MB/s", "99 MB/s", "4.22 GB/s"]);
        assert_eq!([65_536.0, 16e9, 512.0].map(binary_bytes), ["64 KiB", "14.9 GiB", "512 B"]);
        assert_eq!([2.0833, 0.0, 10.0].map(short), ["2.08", "0", "10"]);
    }
}
