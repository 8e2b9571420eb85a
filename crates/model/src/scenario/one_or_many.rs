//! A value that may be a list or a range of values: a sweep.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A value, or a list of values to sweep over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrMany<T> {
    /// One value.
    One(T),
    /// A sweep.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values in the order written.
    pub fn values(&self) -> &[T] {
        match self {
            OneOrMany::One(value) => std::slice::from_ref(value),
            OneOrMany::Many(values) => values,
        }
    }

    /// True if this is a sweep.
    pub(crate) fn is_sweep(&self) -> bool {
        matches!(self, OneOrMany::Many(_))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                T::deserialize(value.into_deserializer()).map(OneOrMany::One)
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                match range::<T, E>(value) {
                    Some(values) => values.map(OneOrMany::Many),
                    None => T::deserialize(value.into_deserializer()).map(OneOrMany::One),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(OneOrMany::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                let values = Vec::<T>::deserialize(SeqAccessDeserializer::new(seq))?;
                if values.is_empty() {
                    return Err(de::Error::invalid_length(0, &"at least one value"));
                }
                Ok(OneOrMany::Many(values))
            }
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// Most values that a range may stand for.
const RANGE_MOST: u64 = 1_000;

/// The values of a range of whole numbers, both ends in it: `1..30`, `1..30 step 5`. None for any other text.
fn range<'de, T: Deserialize<'de>, E: de::Error>(text: &str) -> Option<Result<Vec<T>, E>> {
    let (first, rest) = text.split_once("..")?;
    let (last, step) = rest.split_once("step").unwrap_or((rest, "1"));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (first, last, step) = (number(first)?, number(last)?, number(step)?);
    if step == 0 || last < first {
        return Some(Err(E::custom(format!(
            "{text:?} is an empty range; write it as 1..30 or 1..30 step 5"
        ))));
    }
    if (last - first) / step >= RANGE_MOST {
        return Some(Err(E::custom(format!("{text:?} stands for more than {RANGE_MOST} values"))));
    }
    let values = (first..=last).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    Some(values.map(|value| T::deserialize(value.into_deserializer())).collect())
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        let range = schemars::json_schema!({ "type": "string", "pattern": r"^\d+\.\.\d+( step \d+)?$" });
        schemars::json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }, range] })
    }
}
