//! The words of a trial: its arms, and how they are held against each other.
//!
//! An arm is a setup that may differ in more: in the lab's brokers, in this host's kernel settings, in a command that is
//! run around its blocks. What the words come to is in [`crate::trial::TrialPlan`].

use super::DriverWords;
use super::{LoadWords, OneOrMany, Scalar, SetupWords, TopicWords};
use crate::plan::InterBroker;
use crate::trial::Against;
use crate::verdict::Verdict;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The arms by name, in the order written; the first is the reference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ArmsWords(pub Vec<(String, ArmWords)>);

/// One arm of a trial, with what it has of its own.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmWords {
    /// The client that drives it, over the scenario's.
    pub driver: Option<OneOrMany<DriverWords>>,
    /// Producer properties by librdkafka's names.
    #[serde(default)]
    pub producer: BTreeMap<String, OneOrMany<Scalar>>,
    /// Consumer properties by librdkafka's names.
    #[serde(default)]
    pub consumer: BTreeMap<String, OneOrMany<Scalar>>,
    /// Load of this arm, over the scenario's.
    #[serde(default)]
    pub load: LoadWords,
    /// Topic of this arm, over the scenario's.
    #[serde(default)]
    pub topic: TopicWords,
    /// One of `clusters`; or the settings of this arm's brokers that differ from the scenario's lab: the arm gets a lab of its own.
    pub cluster: Option<ArmClusterWords>,
    /// A shell command before each of its blocks.
    pub before: Option<String>,
    /// A shell command after each of its blocks, however they end.
    pub after: Option<String>,
    /// Settings during its blocks: of this host's kernel, by sysctl name or by path under /proc/sys or /sys, and of running brokers
    /// (`broker:1:num.io.threads`).
    #[serde(default)]
    pub host: BTreeMap<String, Scalar>,
}

/// An arm's cluster: one of several by its name, or a lab of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArmClusterWords {
    /// One of the scenario's `clusters`.
    Named(String),
    /// A lab, as far as it differs from the scenario's.
    Lab(ArmLabWords),
}

impl<'de> Deserialize<'de> for ArmClusterWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = ArmClusterWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of one of `clusters`, or what differs in the arm's lab: {heap: 1g}")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<ArmClusterWords, E> {
                Ok(ArmClusterWords::Named(name.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ArmClusterWords, A::Error> {
                ArmLabWords::deserialize(MapAccessDeserializer::new(map)).map(ArmClusterWords::Lab)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for ArmClusterWords {
    fn schema_name() -> Cow<'static, str> {
        "ArmClusterWords".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let lab = generator.subschema_for::<ArmLabWords>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, lab] })
    }
}

/// An arm's lab, as far as it differs from the scenario's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmLabWords {
    /// True if clients use TLS.
    pub tls: Option<bool>,
    /// The protocol between brokers: `plaintext` or `tls`.
    pub inter_broker: Option<InterBroker>,
    /// Broker properties, beside and over those of the scenario's lab.
    #[serde(default)]
    pub broker_properties: BTreeMap<String, Scalar>,
    /// JVM flags, after those of the scenario's lab.
    #[serde(default)]
    pub jvm_flags: Vec<String>,
    /// Heap of each broker, such as 512m.
    pub heap: Option<String>,
}

/// The comparison of the arms.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialWords {
    /// The metric that decides, such as `end_to_end.p99`.
    pub primary: Option<String>,
    /// Differences up to this count as none, such as 3%.
    pub margin: Option<MarginWords>,
    /// Rounds in which every arm has a block.
    pub pairs: Option<u32>,
    /// Hold each arm against the first, or each against each of equal load.
    pub against: Option<Against>,
    /// Stop as soon as it is decided.
    pub until_decided: Option<bool>,
    /// The most rounds of a trial that stops when it is decided.
    pub max_pairs: Option<u32>,
    /// Start the lab's brokers anew after so many rounds; 0: never.
    pub restart_every: Option<u32>,
    /// Verdicts with which the command ends well.
    pub accept: Option<Vec<Verdict>>,
}

/// A share: `3%` or `0.03`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MarginWords(pub f64);

impl ArmWords {
    /// The arm as a setup, without what only an arm has.
    pub(crate) fn setup(&self, name: &str) -> SetupWords {
        SetupWords {
            name: Some(name.to_owned()),
            cluster: match &self.cluster {
                Some(ArmClusterWords::Named(name)) => Some(name.clone()),
                Some(ArmClusterWords::Lab(_)) | None => None,
            },
            driver: self.driver.clone(),
            producer: self.producer.clone(),
            consumer: self.consumer.clone(),
            load: self.load.clone(),
            topic: self.topic.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for ArmsWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = ArmsWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the arms by name, the reference first: {default: {}, low: {producer: {linger.ms: 0}}}",
                )
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArmsWords, A::Error> {
                let mut arms: Vec<(String, ArmWords)> = Vec::new();
                // An arm without a difference may be written with nothing after its name.
                while let Some((name, arm)) = map.next_entry::<String, Option<ArmWords>>()? {
                    if arms.iter().any(|(other, _)| *other == name) {
                        return Err(de::Error::custom(format!(
                            "two arms are called {name:?}; each needs a name of its own"
                        )));
                    }
                    arms.push((name, arm.unwrap_or_default()));
                }
                Ok(ArmsWords(arms))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<ArmsWords, A::Error> {
                Err(de::Error::invalid_type(de::Unexpected::Seq, &self))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for ArmsWords {
    fn schema_name() -> Cow<'static, str> {
        "ArmsWords".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let arm = generator.subschema_for::<Option<ArmWords>>();
        schemars::json_schema!({ "type": "object", "additionalProperties": arm })
    }
}

impl FromStr for MarginWords {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent.trim(), 0.01));
        let number: f64 =
            number.parse().map_err(|_| format!("{text:?} is no margin; write it as 3% or 0.03"))?;
        let share = number * unit;
        if !(0.0..=1.0).contains(&share) {
            let meant = if number > 1.0 && unit == 1.0 {
                format!("; {number} % is written {number}%")
            } else {
                String::new()
            };
            return Err(format!(
                "{text:?} is a difference of {} %; expected one between 0 and 100 %, such as 3% or 0.03{meant}",
                // Digits that the multiplication left behind are nobody's.
                (share * 1e8).round() / 1e6
            ));
        }
        Ok(MarginWords(share))
    }
}

impl<'de> Deserialize<'de> for MarginWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = MarginWords;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a margin such as 3% or 0.03")
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<MarginWords, E> {
                Ok(MarginWords(value as f64))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<MarginWords, E> {
                Ok(MarginWords(value as f64))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<MarginWords, E> {
                Ok(MarginWords(value))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<MarginWords, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for MarginWords {
    fn schema_name() -> Cow<'static, str> {
        "MarginWords".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": ["string", "number"], "examples": ["3%", 0.03] })
    }
}
