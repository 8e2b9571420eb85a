//! Quantities with their units, and how people write them (`1KiB`, `500ms`, `2m30s`).
//!
//! In documents a unit stands in the field's name (`mean_ns`); these types carry it where a user writes a value.

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A size or duration that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not a {what}; expected {expected}")]
pub struct UnitError {
    /// The text that the user wrote.
    pub text: String,
    /// The quantity that was wanted.
    pub what: &'static str,
    /// Examples of accepted forms.
    pub expected: &'static str,
}

/// A number of bytes. Written `240KB` (decimal) or `1KiB` (binary), or as a bare number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds. Written `250us`, `5ms`, `10s`, `1m30s`, `1h`; a bare number is refused because its unit
/// would be a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

const BYTE_UNITS: &[(&str, u64)] = &[
    ("b", 1),
    ("", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            text: text.to_owned(),
            what: "size",
            expected: "bytes with a unit, such as 100B, 1KiB, 240KB, 1MiB or 4GiB",
        };
        let (number, unit) = split_number(text.trim()).ok_or_else(error)?;
        let unit = unit.trim().to_ascii_lowercase();
        let factor = BYTE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
        scaled(number, factor).map(Bytes).ok_or_else(error)
    }
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError {
            text: text.to_owned(),
            what: "duration",
            expected: "a number with a unit, such as 250us, 5ms, 10s, 1m30s or 1h",
        };
        let mut rest = text.trim();
        if rest == "0" {
            return Ok(Nanos(0));
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (number, after) = split_number(rest).ok_or_else(error)?;
            let after = after.trim_start();
            let unit_end =
                after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len());
            let (unit, next) = after.split_at(unit_end);
            let factor = TIME_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
            let part = scaled(number, factor).ok_or_else(error)?;
            total = total.checked_add(part).ok_or_else(error)?;
            rest = next.trim_start();
        }
        if text.trim().is_empty() { Err(error()) } else { Ok(Nanos(total)) }
    }
}

const RATE_PREFIXES: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9)];

const RATE_PERIODS: &[(&str, f64)] = &[("s", 1.0), ("min", 60.0), ("h", 3600.0), ("day", 86_400.0)];

/// Things per second: `5000`, `10k`, `200/s`, `1.6M/s`, `864k/day`. Prefixes are decimal, as in all rates of things; `m` is refused, which
/// is a thousandth or a million, depending on who wrote it. A sign or an exponent is taken without a unit (bounds are the caller's).
///
/// # Errors
/// [`UnitError`] when it is none.
pub fn per_second(text: &str) -> Result<f64, UnitError> {
    let error = || UnitError {
        text: text.to_owned(),
        what: "rate",
        expected: "a number per second, such as 5000, 10k, 200/s or 1.6M/s (k is 1000, M 1000000)",
    };
    let trimmed = text.trim();
    if let Ok(plain) = trimmed.parse() {
        return Ok(plain);
    }
    let (number, unit) = split_number(trimmed).ok_or_else(error)?;
    let number: f64 = number.replace('_', "").parse().map_err(|_| error())?;
    let (prefix, period) = unit.trim().split_once('/').unwrap_or((unit.trim(), "s"));
    let factor = |units: &[(&str, f64)], unit: &str| {
        units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(error)
    };
    Ok(number * factor(RATE_PREFIXES, prefix)? / factor(RATE_PERIODS, period)?)
}

/// Splits `12.5ms` into `12.5` and `ms`. None when it does not begin with a digit.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `number` x `factor`, exact for whole numbers; None when it is no number or does not fit 64 bits.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let number = number.replace('_', "");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value.is_finite() && value < u64::MAX as f64).then_some(value.round() as u64)
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |unit: u64| self.0 >= unit && self.0.is_multiple_of(unit);
        match self.0 {
            n if exact(1 << 30) => write!(f, "{}GiB", n >> 30),
            n if exact(1 << 20) => write!(f, "{}MiB", n >> 20),
            n if exact(1 << 10) => write!(f, "{}KiB", n >> 10),
            n if exact(1_000_000) => write!(f, "{}MB", n / 1_000_000),
            n if exact(1_000) => write!(f, "{}KB", n / 1_000),
            n => write!(f, "{n}B"),
        }
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            n if n.is_multiple_of(3_600_000_000_000) => write!(f, "{}h", n / 3_600_000_000_000),
            n if n.is_multiple_of(60_000_000_000) => write!(f, "{}m", n / 60_000_000_000),
            n if n.is_multiple_of(1_000_000_000) => write!(f, "{}s", n / 1_000_000_000),
            n if n.is_multiple_of(1_000_000) => write!(f, "{}ms", n / 1_000_000),
            n if n.is_multiple_of(1_000) => write!(f, "{}us", n / 1_000),
            n => write!(f, "{n}ns"),
        }
    }
}

impl Bytes {
    /// As an index-sized number (a value here always fits: plans bound sizes).
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Nanos {
    /// From whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Nanos(seconds * 1_000_000_000)
    }

    /// From whole milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Nanos(milliseconds * 1_000_000)
    }

    /// In seconds, as a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As the standard library's duration.
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

macro_rules! as_text_or_number {
    ($type:ident, $expecting:literal, $from_number:expr, $schema:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl Visitor<'_> for Reader {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: de::Error>(self, number: u64) -> Result<$type, E> {
                        let read: fn(u64) -> Option<$type> = $from_number;
                        read(number).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        match u64::try_from(number) {
                            Ok(number) => self.visit_u64(number),
                            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
                        }
                    }
                }
                deserializer.deserialize_any(Reader)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": ["string", "integer"], "description": $schema })
            }
        }
    };
}

as_text_or_number!(
    Bytes,
    "a size such as 100B, 1KiB or 240KB",
    |n| Some(Bytes(n)),
    "A size: 100B, 1KiB, 240KB, or a number of bytes"
);
as_text_or_number!(
    Nanos,
    "a duration with its unit, such as 500ms, 10s or 1m30s",
    |n| (n == 0).then_some(Nanos(0)),
    "A duration with its unit: 250us, 5ms, 10s, 1m30s"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_decimal_and_binary_units() {
        assert_eq!("1KiB".parse(), Ok(Bytes(1024)));
        assert_eq!("240KB".parse(), Ok(Bytes(240_000)));
        assert_eq!("100".parse(), Ok(Bytes(100)));
        assert_eq!("1.5MiB".parse(), Ok(Bytes(1_572_864)));
        for wrong in ["", "KiB", "1QB", "-1KB", "1..2KB", "99999999999999999999GB"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_need_a_unit_and_may_be_compound() {
        assert_eq!("1m30s".parse(), Ok(Nanos::from_secs(90)));
        assert_eq!("250us".parse(), Ok(Nanos(250_000)));
        assert_eq!("0.5s".parse(), Ok(Nanos::from_millis(500)));
        assert_eq!("0".parse(), Ok(Nanos(0)));
        for wrong in ["", "10", "s", "10 parsecs", "-5s", "1m30"] {
            assert!(wrong.parse::<Nanos>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_have_decimal_prefixes_and_are_per_second_where_nothing_else_is_said() {
        let cases = [
            ("5000", 5000.0),
            ("2.5", 2.5),
            ("10k", 10e3),
            ("200/s", 200.0),
            ("200K/s", 200e3),
            ("1.6M/s", 1.6e6),
            (" 1_600_000 /s", 1.6e6),
            ("864k/day", 10.0),
            ("-5", -5.0),
        ];
        for (text, rate) in cases {
            assert_eq!(per_second(text), Ok(rate), "{text}");
        }
        for wrong in ["", "k", "1.6m/s", "10Ki", "-1k/s", "1..2k", "5/fortnight", "5//s", "many"] {
            assert!(per_second(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same_quantity() {
        for n in [0, 1, 999, 1_000, 1_024, 240_000, 1 << 20, (1 << 30) + 1] {
            assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
            assert_eq!(Nanos(n).to_string().parse(), Ok(Nanos(n)));
        }
    }
}
