//! A scenario: what the user wrote. Every part is optional and nothing here is a default or derived.
//!
//! Strict: a key that is not known is an error that lists the choices. Any value under `load`, `topic` or a setup may be
//! a list: a sweep. [`crate::resolve`] turns a scenario into a [`crate::plan::Plan`].

mod trial;

pub use trial::{ArmLabWords, ArmWords, ArmsWords, MarginWords, TrialWords};

use crate::plan::{Driver, GoalLatency, Keys, LogDirLayout, Mode, Payload, Schedule, SizePlan, WeightedSize};
use crate::units::{Bytes, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// An experiment, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Names the run and its directory.
    pub name: Option<String>,
    /// What the experiment is for.
    pub description: Option<String>,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// `lab`, or the brokers to use.
    pub cluster: Option<ClusterWords>,
    /// The client that drives the path, for every setup that says nothing else.
    pub driver: Option<OneOrMany<Driver>>,
    /// Confidence level of every interval, such as 0.95.
    pub level: Option<f64>,
    /// Rounds over all steps, each with fresh clients.
    pub blocks: Option<u32>,
    /// Unmeasured load before the first block.
    pub settle: Option<Nanos>,
    /// Messages sent to a twin of each own topic that keeps the broker's append times.
    pub twin: Option<u64>,
    /// Instead of a rate: the highest rate at which a latency holds, such as p99=20ms.
    pub goal: Option<GoalWords>,
    /// Published figures to show beside ours.
    pub reference: Option<String>,
    /// The topic, for every setup that says nothing else.
    #[serde(default)]
    pub topic: TopicWords,
    /// The load, for every setup that says nothing else.
    #[serde(default)]
    pub load: LoadWords,
    /// The settings under test.
    #[serde(default)]
    pub setups: Vec<SetupWords>,
    /// Instead of setups: the arms of a trial by name, the reference first.
    #[serde(default)]
    pub arms: ArmsWords,
    /// How the arms are held against each other.
    pub trial: Option<TrialWords>,
}

/// `lab`, `{lab: {...}}` or `{bootstrap: "host:port", config: client.properties, metrics: [URL, ...]}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterWords {
    /// A lab for this run.
    pub lab: Option<LabWords>,
    /// host:port, comma separated.
    pub bootstrap: Option<String>,
    /// A client properties file.
    pub config: Option<String>,
    /// Where the brokers serve their metrics in Prometheus' format, one address each.
    pub metrics: Vec<String>,
}

/// The lab of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabWords {
    /// Number of brokers.
    pub brokers: Option<u32>,
    /// Whether clients use TLS.
    pub tls: Option<bool>,
    /// Broker properties.
    #[serde(default)]
    pub broker_properties: BTreeMap<String, Scalar>,
    /// JVM flags.
    #[serde(default)]
    pub jvm_flags: Vec<String>,
    /// Heap of each broker, such as 512m.
    pub heap: Option<String>,
    /// Where the logs go: a name for each existing directory.
    #[serde(default)]
    pub log_dirs: BTreeMap<String, String>,
    /// A broker for each directory, or all directories in every broker.
    pub log_dir_layout: Option<LogDirLayout>,
}

/// One setting under test.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupWords {
    /// Its name.
    pub name: Option<String>,
    /// The client that drives it, over the scenario's.
    pub driver: Option<OneOrMany<Driver>>,
    /// Producer properties by librdkafka's names.
    #[serde(default)]
    pub producer: BTreeMap<String, OneOrMany<Scalar>>,
    /// Consumer properties by librdkafka's names.
    #[serde(default)]
    pub consumer: BTreeMap<String, OneOrMany<Scalar>>,
    /// Load of this setup, over the scenario's.
    #[serde(default)]
    pub load: LoadWords,
    /// Topic of this setup, over the scenario's.
    #[serde(default)]
    pub topic: TopicWords,
}

/// The topic, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopicWords {
    /// An existing topic, never altered nor deleted.
    pub name: Option<String>,
    /// Partitions of an own topic.
    pub partitions: Option<OneOrMany<u32>>,
    /// Replicas of an own topic.
    pub replication: Option<OneOrMany<u32>>,
    /// Configs of an own topic.
    #[serde(default)]
    pub configs: BTreeMap<String, OneOrMany<Scalar>>,
    /// The log directory of the lab that an own topic is on; a list, or `each` for one step a directory.
    pub log_dir: Option<OneOrMany<Scalar>>,
}

/// The load, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadWords {
    /// Messages per second over all producers, or `max`: as fast as possible.
    pub rate: Option<OneOrMany<RateWords>>,
    /// Who is at work in the measured part.
    pub mode: Option<Mode>,
    /// How intended times are laid out.
    pub schedule: Option<Schedule>,
    /// Measured messages.
    pub count: Option<OneOrMany<u64>>,
    /// Measured time, instead of a count.
    pub duration: Option<OneOrMany<Nanos>>,
    /// Before the measured part, in every block.
    pub warm_up: Option<Nanos>,
    /// Longest wait for what is still under way at the end.
    pub drain: Option<Nanos>,
    /// Producer clients.
    pub producers: Option<OneOrMany<u32>>,
    /// Consumer clients.
    pub consumers: Option<OneOrMany<u32>>,
    /// Size of the value.
    pub size: Option<OneOrMany<SizeWords>>,
    /// Keys.
    pub keys: Option<Keys>,
    /// Headers on each record.
    pub headers: Option<BTreeMap<String, String>>,
    /// What the value is made of.
    pub payload: Option<Payload>,
    /// Unacknowledged messages that one producer may have.
    pub in_flight: Option<OneOrMany<u32>>,
    /// Warm up until the log's device, not the page cache, takes what is written.
    pub until_device: Option<bool>,
}

/// Messages per second, or `max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateWords {
    /// As fast as possible.
    Max,
    /// Messages per second.
    PerSecond(f64),
}

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

/// A value, or a list of values to sweep over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrMany<T> {
    /// One value.
    One(T),
    /// A sweep.
    Many(Vec<T>),
}

/// A property's value, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar(pub String);

/// A size, or `{mix: [{size, weight}, ...]}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeWords(pub SizePlan);

impl<T> OneOrMany<T> {
    /// The values in the order written.
    pub fn values(&self) -> &[T] {
        match self {
            OneOrMany::One(value) => std::slice::from_ref(value),
            OneOrMany::Many(values) => values,
        }
    }

    /// Whether this is a sweep.
    pub fn is_sweep(&self) -> bool {
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

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
                Ok(Scalar(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

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
