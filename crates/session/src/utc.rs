//! Times as documents have them: UTC, RFC 3339.

use jiff::Timestamp;

/// A time to the second.
pub(super) fn timestamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time of the epoch, to the millisecond; none of one that no date has.
pub(super) fn instant(epoch_ns: i64) -> Option<String> {
    let time = Timestamp::from_nanosecond(i128::from(epoch_ns)).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}
