//! The goal of a search, as written.

use crate::plan::GoalLatency;
use crate::units::Nanos;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::str::FromStr;

/// A latency that must hold: `p99=20ms`, or with `<` or `<=` for `=`, which all mean that it is no longer than that; `acknowledge p99=20ms`, `end_to_end p99.9=50ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalWords {
    /// The latency; none: end to end where there are consumers, else acknowledge.
    pub latency: Option<GoalLatency>,
    /// The quantile, 0..1.
    pub quantile: f64,
    /// The most that it may be.
    pub limit: Nanos,
}

impl FromStr for GoalWords {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("{text:?} is no goal; write it as p99=20ms or \"acknowledge p99.9=50ms\"");
        let (latency, rest) = match text.trim().split_once(char::is_whitespace) {
            Some(("acknowledge", rest)) => (Some(GoalLatency::Acknowledge), rest.trim()),
            Some(("end_to_end", rest)) => (Some(GoalLatency::EndToEnd), rest.trim()),
            _ => (None, text.trim()),
        };
        let (quantile, limit) = rest.split_once(['<', '=']).ok_or_else(error)?;
        // `<=` is one sign.
        let limit = if rest.contains("<=") { limit.strip_prefix('=').unwrap_or(limit) } else { limit };
        let percent: f64 =
            quantile.trim().strip_prefix('p').and_then(|p| p.parse().ok()).ok_or_else(error)?;
        if !(percent > 0.0 && percent < 100.0) {
            return Err(error());
        }
        let limit = limit.trim().parse().map_err(|_| error())?;
        Ok(GoalWords { latency, quantile: percent / 100.0, limit })
    }
}

impl<'de> Deserialize<'de> for GoalWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for GoalWords {
    fn schema_name() -> Cow<'static, str> {
        "GoalWords".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "examples": ["p99=20ms", "acknowledge p99.9=50ms"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_written_with_any_sign_that_says_at_most() {
        let goal: GoalWords = "p99=20ms".parse().unwrap();
        assert_eq!((goal.quantile, goal.limit), (0.99, Nanos::from_millis(20)));
        for text in ["p99<20ms", "p99 <= 20ms", "p99 < 20ms", "p99<=20ms"] {
            assert_eq!(text.parse(), Ok(goal), "{text}");
        }
        let acknowledge: GoalWords = "acknowledge p99.9<5ms".parse().unwrap();
        assert_eq!(acknowledge.latency, Some(GoalLatency::Acknowledge));
        for wrong in ["p99>20ms", "p99==20ms", "p99<<20ms", "p99=<20ms", "p99", "p99<20", "received p99<20ms"]
        {
            assert!(wrong.parse::<GoalWords>().is_err(), "{wrong}");
        }
    }
}
