//! Any YAML as a tree with the line of each key, where a caller looks at keys one by one. A scenario's own types read its values.

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// A key.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// As it is written.
    pub name: String,
    /// Its line in the file, from 1.
    pub line: u32,
}

/// The keys of an object with their values, in the file's order.
pub type Entries = Vec<(Key, Value)>;

/// A value. Numbers are kept as text: the key decides which kind is wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value, or `null`.
    Nothing,
    /// A text, a number, or true or false.
    Scalar(String),
    /// A sequence.
    List(Vec<Value>),
    /// An object.
    Map(Entries),
}

/// A file that is one object.
pub(crate) struct Object(pub(crate) Entries);

impl Value {
    /// As a file.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        write_block(self, 0, &mut out);
        out
    }
}

/// The lines of a value at a depth; a value that fits behind its key has none.
fn write_block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Map(entries) => {
            for (key, value) in entries {
                out.push_str(&format!("{indent}{}:", scalar(&key.name)));
                write_behind(value, depth, out);
            }
        }
        Value::List(items) => {
            for item in items {
                out.push_str(&format!("{indent}-"));
                write_behind(item, depth, out);
            }
        }
        Value::Nothing | Value::Scalar(_) => write_behind(value, depth, out),
    }
}

/// A value behind its key or dash.
fn write_behind(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Nothing => out.push('\n'),
        Value::Scalar(text) => out.push_str(&format!(" {}\n", scalar(text))),
        Value::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        Value::List(items) if items.is_empty() => out.push_str(" []\n"),
        Value::Map(_) | Value::List(_) => {
            out.push('\n');
            write_block(value, depth + 1, out);
        }
    }
}

/// A text as it is where every reader takes it for that text, else in quotes.
fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/%+ ".contains(c);
    let begins_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let is_edged = text.starts_with(' ') || text.ends_with(' ');
    match begins_plain && !is_edged && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
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
                    entries.iter().map(|(key, value)| format!("{}: {value}", key.name)).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = Spanned::<String>::deserialize(deserializer)?;
        let line = u32::try_from(key.referenced.line()).unwrap_or(u32::MAX);
        Ok(Key { name: key.value, line })
    }
}

fn entries<'de, A: MapAccess<'de>>(mut map: A) -> Result<Entries, A::Error> {
    let mut entries = Vec::new();
    while let Some(entry) = map.next_entry()? {
        entries.push(entry);
    }
    Ok(entries)
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object, A::Error> {
                entries(map).map(Object)
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
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
                entries(map).map(Value::Map)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_written_reads_as_the_same_tree() {
        let text = "a: {b: [1, x y, \"p99<20ms\"], 'c: d': null}\ne: []\nf: {}\ng:\n- {h: '', i: \"#\"}\n- - 1\n  - \" z\"\n";
        let lines_forgotten = |text: &str| {
            let mut tree: Value = serde_saphyr::from_str(text).unwrap();
            forget_lines(&mut tree);
            tree
        };
        let tree = lines_forgotten(text);
        assert_eq!(lines_forgotten(&tree.to_yaml()), tree, "{}", tree.to_yaml());
    }

    fn forget_lines(value: &mut Value) {
        match value {
            Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.line = 0;
                forget_lines(value);
            }),
            Value::List(items) => items.iter_mut().for_each(forget_lines),
            Value::Nothing | Value::Scalar(_) => {}
        }
    }
}
