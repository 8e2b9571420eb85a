//! The size of a value, as written: fixed, or drawn by weight.

use crate::plan::{SizePlan, WeightedSize};
use crate::units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// A size, or `{mix: [{size, weight}, ...]}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeWords(pub SizePlan);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SizeMix {
    mix: Vec<WeightedSize>,
}

impl<'de> Deserialize<'de> for SizeWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = SizeWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as 1KiB, or {mix: [{size: 1KiB, weight: 9}, ...]}")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<SizeWords, E> {
                text.parse().map(|size| SizeWords(SizePlan::Fixed(size))).map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<SizeWords, E> {
                Ok(SizeWords(SizePlan::Fixed(Bytes(bytes))))
            }
            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<SizeWords, E> {
                let bytes = u64::try_from(bytes)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))?;
                self.visit_u64(bytes)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SizeWords, A::Error> {
                let words = SizeMix::deserialize(MapAccessDeserializer::new(map))?;
                Ok(SizeWords(SizePlan::Mix(words.mix)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for SizeWords {
    fn schema_name() -> Cow<'static, str> {
        "SizeWords".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Bytes>();
        let mix = generator.subschema_for::<SizeMix>();
        schemars::json_schema!({ "anyOf": [size, mix] })
    }
}
