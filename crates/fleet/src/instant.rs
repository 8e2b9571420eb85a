//! Moments as people and programs write them: RFC 3339, numbers of seconds and smaller units since 1970, local dates and times.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::Date};

/// A moment in milliseconds since 1970, from the text of a table's cell or a flag: RFC 3339; a date with a time, or a date alone
/// (its midnight), in `zone`; or a number since 1970 in seconds, milliseconds, microseconds or nanoseconds, told apart by size.
/// None where it is none of these.
#[must_use]
pub fn instant(text: &str, zone: &TimeZone) -> Option<i64> {
    let text = text.trim();
    let number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !text.is_empty();
    if number {
        return match text.parse::<i64>() {
            Ok(whole) => Some(since_1970_ms(whole)),
            Err(_) => fraction_ms(text.parse().ok()?),
        };
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment.as_millisecond());
    }
    let local = match text.parse::<DateTime>() {
        Ok(local) => local,
        Err(_) => text.parse::<Date>().ok()?.at(0, 0, 0, 0),
    };
    local_ms(local, zone)
}

/// Whole numbers since 1970 in the unit that gives a year before 5138: seconds below 10^11, and 1000 times as much for each unit.
pub(crate) fn since_1970_ms(number: i64) -> i64 {
    match number.unsigned_abs() {
        0..100_000_000_000 => number * 1000,
        100_000_000_000..100_000_000_000_000 => number,
        100_000_000_000_000..100_000_000_000_000_000 => number.div_euclid(1000),
        _ => number.div_euclid(1_000_000),
    }
}

/// The same with a fraction.
pub(crate) fn fraction_ms(number: f64) -> Option<i64> {
    let ms = match number.abs() {
        size if size < 1e11 => number * 1e3,
        size if size < 1e14 => number,
        size if size < 1e17 => number / 1e3,
        _ => number / 1e6,
    };
    ms.is_finite().then(|| ms.round() as i64)
}

/// A local date and time. One that is there twice is the earlier; one that is skipped, the moment after.
pub(crate) fn local_ms(local: DateTime, zone: &TimeZone) -> Option<i64> {
    let moment = zone.to_ambiguous_timestamp(local).compatible().ok()?;
    Some(moment.as_millisecond())
}

/// A moment as it is written in messages: UTC, RFC 3339.
pub(crate) fn written(time_ms: i64) -> String {
    Timestamp::from_millisecond(time_ms).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_moment_in_all_its_spellings() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let spellings = [
            "2026-03-01T11:00:00Z",
            "2026-03-01T12:00:00+01:00",
            "2026-03-01 11:00:00.000Z",
            "2026-03-01T12:00:00",
            "2026-03-01 12:00",
            "1772362800",
            "1772362800.0",
            "1772362800000",
            "1772362800000000",
            "1772362800000000000",
            " 1772362800 ",
        ];
        for text in spellings {
            assert_eq!(instant(text, &berlin), Some(1_772_362_800_000), "{text}");
        }
        assert_eq!(instant("1772362800.25", &berlin), Some(1_772_362_800_250));
        assert_eq!(instant("2026-03-01", &berlin), Some(1_772_319_600_000));
    }

    #[test]
    fn local_times_follow_daylight_time() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let utc = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        assert_eq!(instant("2026-07-01 12:00", &berlin), Some(utc("2026-07-01T10:00:00Z")));
        // Skipped in spring, twice in autumn.
        assert_eq!(instant("2026-03-29 02:30", &berlin), Some(utc("2026-03-29T01:30:00Z")));
        assert_eq!(instant("2026-10-25 02:30", &berlin), Some(utc("2026-10-25T00:30:00Z")));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in ["", "n/a", "yesterday", "2026-13-01", "12:00", "1e9", "-5", "2026-02-30", "."] {
            assert_eq!(instant(text, &TimeZone::UTC), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_moment_or_none(text in ".{0,30}|[0-9:TZ. +-]{0,30}") {
            let _ = instant(&text, &TimeZone::UTC);
        }
    }
}
