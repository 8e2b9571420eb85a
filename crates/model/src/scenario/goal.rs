//! The goal of a search, as written.

use crate::plan::GoalLatency;
use crate::units::Nanos;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::str::FromStr;

/// A latency that must hold: `p99=20ms`, or `acknowledge p99=20ms`, `end_to_end p99.9=50ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoalWords {
    /// Which latency; none: end to end where there are consumers, else acknowledge.
    pub latency: Option<GoalLatency>,
    /// Which quantile, 0..1.
    pub quantile: f64,
    /// What it may be at most.
    pub limit: Nanos,
}

impl FromStr for GoalWords {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("{text:?} is no goal; write it as p99=20ms or \"acknowledge p99.9=50ms\"");
        let (latency, rest) = match text.trim().split_once(char::is_whitespace) {
            None => (None, text.trim()),
            Some(("acknowledge", rest)) => (Some(GoalLatency::Acknowledge), rest.trim()),
            Some(("end_to_end", rest)) => (Some(GoalLatency::EndToEnd), rest.trim()),
            Some(_) => return Err(error()),
        };
        let (quantile, limit) = rest.split_once('=').ok_or_else(error)?;
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
