//! A rate, as written: a number, or as fast as possible.

use crate::units::per_second;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// The texts that [`per_second`] reads, as far as a schema can tell.
const PATTERN: &str = r"^[0-9._]+ *[kKMG]?(/(s|min|h|day))?$";

/// Messages per second, or `max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateWords {
    /// As fast as possible.
    Max,
    /// Messages per second.
    PerSecond(f64),
}

impl FromStr for RateWords {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "max" => Ok(RateWords::Max),
            number => {
                per_second(number).map(RateWords::PerSecond).map_err(|error| format!("{error}, or max"))
            }
        }
    }
}

impl fmt::Display for RateWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateWords::Max => f.write_str("max"),
            RateWords::PerSecond(rate) => rate.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for RateWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = RateWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("messages per second such as 5000, 10k or 1.6M/s, or max")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<RateWords, E> {
                Ok(RateWords::PerSecond(value as f64))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<RateWords, E> {
                Ok(RateWords::PerSecond(value as f64))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<RateWords, E> {
                Ok(RateWords::PerSecond(value))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RateWords, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for RateWords {
    fn schema_name() -> Cow<'static, str> {
        "RateWords".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "number" }, { "const": "max" }, { "type": "string", "pattern": PATTERN }]
        })
    }
}

/// The reading of a rate that cannot be `max`.
pub(crate) mod without_max {
    use super::{Deserialize, Deserializer, PATTERN, RateWords, Schema, SchemaGenerator, de};

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match RateWords::deserialize(deserializer)? {
            RateWords::PerSecond(rate) => Ok(rate),
            RateWords::Max => Err(de::Error::custom("a rate of a schedule is a number per second, not max")),
        }
    }

    pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, { "type": "string", "pattern": PATTERN }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{RateStep, Schedule};
    use crate::units::Nanos;

    #[test]
    fn a_rate_of_a_file_has_a_unit_where_its_user_writes_one() {
        let read = |json: &str| serde_json::from_str::<RateWords>(json).map_err(|error| error.to_string());
        assert_eq!(read("5000"), Ok(RateWords::PerSecond(5000.0)));
        assert_eq!(read("\"10k\""), Ok(RateWords::PerSecond(10e3)));
        assert_eq!(read("\"1.6M/s\""), Ok(RateWords::PerSecond(1.6e6)));
        assert_eq!(read("\"max\""), Ok(RateWords::Max));
        assert!(read("\"1.6m/s\"").unwrap_err().contains("10k, 200/s or 1.6M/s"));
    }

    #[test]
    fn rates_of_a_schedule_are_read_alike_and_are_never_max() {
        let step: RateStep = serde_json::from_str(r#"{"rate": "10k/s", "for": "1s"}"#).unwrap();
        assert_eq!(step, RateStep { rate_per_s: 10e3, hold: Nanos::from_secs(1) });
        let ramp: Schedule =
            serde_json::from_str(r#"{"ramp": {"from": "1k", "to": 2000, "over": "1s"}}"#).unwrap();
        assert_eq!(ramp, Schedule::Ramp { from_per_s: 1e3, to_per_s: 2e3, over: Nanos::from_secs(1) });
        assert!(serde_json::from_str::<RateStep>(r#"{"rate": "max", "for": "1s"}"#).is_err());
    }
}
