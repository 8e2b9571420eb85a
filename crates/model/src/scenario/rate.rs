//! A rate, as written: a number, or as fast as possible.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

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
            number => number
                .parse()
                .map(RateWords::PerSecond)
                .map_err(|_| format!("{text:?} is no rate; write messages per second, or max")),
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
                f.write_str("messages per second, or max")
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
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, { "const": "max" }] })
    }
}
