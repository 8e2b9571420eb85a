//! The client that drives a path, as written: a name, a command, or a client for each side.

use crate::plan::{ClientProgram, Driver, ExternalPlan, JavaClient};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// A driver: `librdkafka`, `wire`, `java`, `{java: {classpath: ...}}`, `{command: [...]}`, or `{producer: ..., consumer: ...}` of these
/// but `wire`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverWords {
    /// The kind.
    pub driver: Driver,
    /// The programs of an external one.
    pub external: Option<ExternalPlan>,
}

/// The names that a driver may have.
const NAMES: &[&str] = &["librdkafka", "wire", "java"];
/// The keys that one may have instead.
const KEYS: &[&str] = &["command", "java", "producer", "consumer"];

impl From<Driver> for DriverWords {
    fn from(driver: Driver) -> Self {
        DriverWords { driver, external: None }
    }
}

impl From<ExternalPlan> for DriverWords {
    fn from(external: ExternalPlan) -> Self {
        if external.producer.is_external() || external.consumer.is_external() {
            DriverWords { driver: Driver::External, external: Some(external) }
        } else {
            Driver::Librdkafka.into()
        }
    }
}

impl From<ClientProgram> for DriverWords {
    fn from(both: ClientProgram) -> Self {
        ExternalPlan { producer: both.clone(), consumer: both }.into()
    }
}

impl DriverWords {
    /// The driver of a name; none if there is none of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "librdkafka" => Some(Driver::Librdkafka.into()),
            "wire" => Some(Driver::Wire.into()),
            "java" => Some(ClientProgram::Java(JavaClient::default()).into()),
            _ => None,
        }
    }

    /// The name for a person.
    pub fn name(&self) -> String {
        self.external.as_ref().map_or_else(|| self.driver.name().to_owned(), ExternalPlan::name)
    }
}

impl<'de> Deserialize<'de> for DriverWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = DriverWords;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("librdkafka, wire, java, {command: [...]} or {producer: ..., consumer: ...}")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<DriverWords, E> {
        DriverWords::of_name(name).ok_or_else(|| E::unknown_variant(name, NAMES))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DriverWords, A::Error> {
        let (mut both, mut producer, mut consumer) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "command" => both = Some(command(map.next_value()?)?),
                "java" => both = Some(ClientProgram::Java(map.next_value()?)),
                "producer" => producer = Some(one(map.next_value()?)?),
                "consumer" => consumer = Some(one(map.next_value()?)?),
                other => return Err(de::Error::unknown_field(other, KEYS)),
            }
        }
        match (both, producer, consumer) {
            (Some(both), None, None) => Ok(both.into()),
            (None, None, None) => Err(de::Error::missing_field("command")),
            (Some(_), _, _) => Err(de::Error::custom(
                "a driver is one for both sides, or has producer and consumer: not both",
            )),
            (None, producer, consumer) => {
                let or_default = |side: Option<ClientProgram>| side.unwrap_or(ClientProgram::Librdkafka);
                let external =
                    ExternalPlan { producer: or_default(producer), consumer: or_default(consumer) };
                Ok(external.into())
            }
        }
    }
}

fn command<E: de::Error>(words: Vec<String>) -> Result<ClientProgram, E> {
    match words.first() {
        Some(program) if !program.is_empty() => Ok(ClientProgram::Command(words)),
        _ => Err(E::custom("command names no program; write it as command: [./my-driver, --fast]")),
    }
}

/// The client of one side.
fn one<E: de::Error>(words: DriverWords) -> Result<ClientProgram, E> {
    match words {
        DriverWords { external: Some(external), .. } if external.producer == external.consumer => {
            Ok(external.producer)
        }
        DriverWords { driver: Driver::Librdkafka, .. } => Ok(ClientProgram::Librdkafka),
        _ => Err(E::custom("one side is librdkafka, java or {command: [...]}")),
    }
}

impl JsonSchema for DriverWords {
    fn schema_name() -> Cow<'static, str> {
        "DriverWords".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let java = generator.subschema_for::<JavaClient>();
        let command =
            schemars::json_schema!({ "type": "array", "items": { "type": "string" }, "minItems": 1 });
        let side = schemars::json_schema!({ "anyOf": [
            { "enum": ["librdkafka", "java"] },
            { "type": "object", "properties": { "java": java }, "required": ["java"], "additionalProperties": false },
            { "type": "object", "properties": { "command": command }, "required": ["command"], "additionalProperties": false },
        ]});
        schemars::json_schema!({ "anyOf": [
            { "enum": ["librdkafka", "wire", "java"] },
            side,
            { "type": "object", "properties": { "producer": side, "consumer": side }, "minProperties": 1, "additionalProperties": false },
        ]})
    }
}
