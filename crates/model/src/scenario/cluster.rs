//! The path under test, as written.

use super::{OneOrMany, Scalar};
use crate::plan::{InterBroker, LogDirLayout};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// `lab`, `{lab: {...}}` or `{bootstrap: "host:port", config: client.properties, metrics: [URL, ...]}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterWords {
    /// A lab for this run.
    pub lab: Option<LabWords>,
    /// host:port, comma separated.
    pub bootstrap: Option<String>,
    /// A client properties file.
    pub config: Option<String>,
    /// The addresses at which the brokers serve their metrics in Prometheus' format, one each.
    pub metrics: Vec<String>,
}

/// The lab of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabWords {
    /// Number of brokers.
    pub brokers: Option<u32>,
    /// True if clients use TLS.
    pub tls: Option<bool>,
    /// The protocol between brokers: `plaintext` or `tls`.
    pub inter_broker: Option<InterBroker>,
    /// Broker properties.
    #[serde(default)]
    pub broker_properties: BTreeMap<String, Scalar>,
    /// JVM flags.
    #[serde(default)]
    pub jvm_flags: Vec<String>,
    /// Heap of each broker, such as 512m.
    pub heap: Option<String>,
    /// The directories of the logs: a name for each existing directory.
    #[serde(default)]
    pub log_dirs: LogDirsWords,
    /// A broker for each directory, or all directories in every broker.
    pub log_dir_layout: Option<LogDirLayout>,
    /// Where every broker has all directories: how many of them, from the first on. Each of a list or range is a setup on a lab
    /// of its own.
    pub log_dirs_used: Option<OneOrMany<u32>>,
}

/// Directories by name, in the order written; the first is the reference of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogDirsWords(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for LogDirsWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = LogDirsWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("directories by name, the reference first: {sata: /mnt/sata, pmem: /mnt/pmem}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LogDirsWords, A::Error> {
                let mut directories: Vec<(String, String)> = Vec::new();
                while let Some((name, path)) = map.next_entry()? {
                    directories.push((name, path));
                }
                Ok(LogDirsWords(directories))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

impl JsonSchema for LogDirsWords {
    fn schema_name() -> Cow<'static, str> {
        "LogDirsWords".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<BTreeMap<String, String>>()
    }
    fn inline_schema() -> bool {
        true
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClusterKeys {
    lab: Option<LabWords>,
    bootstrap: Option<String>,
    config: Option<String>,
    #[serde(default)]
    metrics: Vec<String>,
}

impl<'de> Deserialize<'de> for ClusterWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = ClusterWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`lab`, {lab: {...}} or {bootstrap: \"host:port\", config: FILE}")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ClusterWords, E> {
                match text {
                    "lab" => Ok(ClusterWords { lab: Some(LabWords::default()), ..ClusterWords::default() }),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ClusterWords, A::Error> {
                let ClusterKeys { lab, bootstrap, config, metrics } =
                    ClusterKeys::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ClusterWords { lab, bootstrap, config, metrics })
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for ClusterWords {
    fn schema_name() -> Cow<'static, str> {
        "ClusterWords".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keys = generator.subschema_for::<ClusterKeys>();
        schemars::json_schema!({ "anyOf": [{ "const": "lab" }, keys] })
    }
}
