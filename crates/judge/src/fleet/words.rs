//! Times and logarithms in words.

use jiff::Timestamp;
use plumb_model::figure::{percent, ratio};

/// Seconds since 1970 as UTC, RFC 3339.
pub(super) fn moment(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// The size of a logarithm as a deviation without a sign: `4.2 %`.
pub(super) fn deviation(log: f64) -> String {
    let value = log.exp();
    if value >= 2.0 { ratio(value) } else { percent(value - 1.0) }
}
