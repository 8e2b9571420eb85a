//! A YAML file of one flat object, with the line of each key.

use crate::compat::fate::Place;
use crate::errors::UsageError;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;
use std::path::Path;

/// One key of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) value: Value,
}

/// The value of a key. Numbers are kept as text: the key decides which kind is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Nothing,
    Scalar(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, UsageError> {
    let name = path.display().to_string();
    let text = fs_err::read_to_string(path).map_err(|error| {
        UsageError::new(
            error.to_string(),
            "plumb import omb WORKLOAD.yaml --driver DRIVER.yaml takes two files",
        )
    })?;
    parse(&name, &text)
}

/// Reads a file's text.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Entry>, UsageError> {
    let not_flat = |what: &str| {
        UsageError::new(
            format!("{file}: {what}"),
            "a workload or driver file of the Open Messaging Benchmark is one YAML object of `key: value` lines",
        )
    };
    let tree: Object = serde_saphyr::from_str(text).map_err(|error| not_flat(&first_line(&error)))?;
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in tree.0 {
        let line = u32::try_from(key.referenced.line()).unwrap_or(u32::MAX);
        let place = Place { file: file.to_owned(), line };
        if let Some(first) = entries.iter().find(|entry| entry.key == key.value) {
            return Err(not_flat(&format!(
                "{} stands in line {} and in line {line}",
                key.value, first.place.line
            )));
        }
        entries.push(Entry { place, key: key.value, value });
    }
    Ok(entries)
}

/// The parser's message without its picture of the file.
fn first_line(error: &serde_saphyr::Error) -> String {
    let message = error.to_string();
    message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nothing => f.write_str("null"),
            Value::Scalar(text) => f.write_str(text),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let entries: Vec<String> =
                    entries.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

/// The file's only object.
struct Object(Vec<(Spanned<String>, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any YAML")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Value::Map(entries))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Value::List(items))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Scalar(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Scalar(text.to_owned()))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Nothing)
            }
            fn visit_none<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Nothing)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
