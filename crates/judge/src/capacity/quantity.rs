//! Quantities as people write them on the command line: `500MiB/s`, `10Gbit/s`, `1.6M/s`, `2TiB`, `7d`.
//!
//! A unit that could mean two things is refused: `10Gb/s` is 10 or 1.25 billion bytes, depending on who wrote it.

use plumb_model::units::per_second;
use thiserror::Error;

/// Words that are no quantity of the kind that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is not {what}; expected {expected}")]
pub struct QuantityError {
    /// The text as it was written.
    pub text: String,
    /// The quantity that was wanted.
    pub what: &'static str,
    /// Examples.
    pub expected: &'static str,
}

/// Bytes: `240KB`, `64GiB`, `2TiB`.
///
/// # Errors
/// [`QuantityError`] when it is none.
pub fn bytes(text: &str) -> Result<f64, QuantityError> {
    let error = error(text, "a size", "bytes with a unit, such as 240KB, 64GiB or 2TiB");
    let (number, unit) = split(text).ok_or_else(&error)?;
    Ok(number * bytes_in(unit).ok_or_else(&error)?)
}

/// Bytes per second: `500MiB/s`, `10Gbit/s`, `175TB/day`.
///
/// # Errors
/// [`QuantityError`] when it is none.
pub fn byte_rate(text: &str) -> Result<f64, QuantityError> {
    let error =
        error(text, "a rate of bytes", "500MiB/s, 800GB/s, 10Gbit/s (bits are written out) or 175TB/day");
    let (number, unit) = split(text).ok_or_else(&error)?;
    let (unit, period) = unit.split_once('/').ok_or_else(&error)?;
    let factor = bytes_in(unit).or_else(|| bytes_in_bits(unit)).ok_or_else(&error)?;
    Ok(number * factor / seconds_in_period(period).ok_or_else(&error)?)
}

/// Things per second, as scenarios have them too: `1.6M/s`, `800k`, `13_000_000/s`, `800G/day`.
///
/// # Errors
/// [`QuantityError`] when it is none, or no rate that can be.
pub fn rate(text: &str) -> Result<f64, QuantityError> {
    let error = error(text, "a rate", "1.6M/s, 800k/s, 1600000 or 800G/day");
    let rate = per_second(text).map_err(|_| error())?;
    if rate.is_finite() && rate >= 0.0 { Ok(rate) } else { Err(error()) }
}

/// Seconds: `2ms`, `24h`, `7d`.
///
/// # Errors
/// [`QuantityError`] when it is none.
pub fn seconds(text: &str) -> Result<f64, QuantityError> {
    let error = error(text, "a time", "a number with a unit, such as 50us, 2ms, 24h or 7d");
    let (number, unit) = split(text).ok_or_else(&error)?;
    Ok(number * seconds_in(unit).ok_or_else(&error)?)
}

fn error(text: &str, what: &'static str, expected: &'static str) -> impl Fn() -> QuantityError {
    move || QuantityError { text: text.to_owned(), what, expected }
}

/// Bytes of one unit.
fn bytes_in(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" => 1.0,
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "PB" => 1e15,
        "EB" => 1e18,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "TiB" => 1_099_511_627_776.0,
        "PiB" => 1_125_899_906_842_624.0,
        "EiB" => 1_152_921_504_606_846_976.0,
        _ => return None,
    })
}

/// Bytes of one unit of bits.
fn bytes_in_bits(unit: &str) -> Option<f64> {
    Some(match unit {
        "bit" => 0.125,
        "kbit" => 125.0,
        "Mbit" => 125e3,
        "Gbit" => 125e6,
        "Tbit" => 125e9,
        _ => return None,
    })
}

/// Seconds of one period of a rate.
fn seconds_in_period(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "day" => 86_400.0,
        _ => return None,
    })
}

/// Seconds of one unit.
fn seconds_in(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

/// The number and the unit of `12.5ms`.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_the_units_that_people_use() {
        assert_eq!(byte_rate("500MiB/s"), Ok(524_288_000.0));
        assert_eq!(byte_rate("10Gbit/s"), Ok(1.25e9));
        assert_eq!(byte_rate("1000000000bit/s"), Ok(1.25e8));
        assert_eq!(byte_rate("800 GB/s"), Ok(8e11));
        assert_eq!(byte_rate("1EB/s"), Ok(1e18));
        assert_eq!(rate("1.6M/s"), Ok(1.6e6));
        assert_eq!(rate("1_600_000/s"), Ok(1.6e6));
        assert_eq!(rate("864k/day"), Ok(10.0));
        assert_eq!(rate("200K/s"), Ok(200e3));
        assert_eq!(rate("10k"), Ok(10e3));
        assert_eq!(bytes("2TiB"), Ok(2_199_023_255_552.0));
        assert_eq!(seconds("7d"), Ok(604_800.0));
        assert_eq!(seconds("2ms"), Ok(0.002));
    }

    #[test]
    fn a_unit_that_could_mean_two_things_or_is_missing_is_refused() {
        for wrong in ["10Gb/s", "10gb/s", "500", "500MiB", "MiB/s", "-1GB/s", "1..2GB/s", "1GB/fortnight", ""]
        {
            assert!(byte_rate(wrong).is_err(), "{wrong}");
        }
        for wrong in ["1.6MB/s", "1.6m/s", "-1600000", "-1/s", "inf", "NaN"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10", "64gib", "2T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for wrong in ["10", "s", "1 fortnight"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
