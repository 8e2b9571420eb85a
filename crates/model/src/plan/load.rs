//! The load of a step: its rate, length, sizes and keys.

use crate::rate::without_max;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the header that carries the stamp of a record where the value cannot.
pub const STAMP_HEADER: &str = "plumb";

/// The load of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// The purpose of the step.
    #[serde(default)]
    pub purpose: Purpose,
    /// Intended messages per second over all producers (the mean, where the schedule varies). None: as fast as possible.
    pub rate_per_s: Option<f64>,
    /// The clients at work in the measured part.
    #[serde(default)]
    pub mode: Mode,
    /// The layout of the intended times.
    pub schedule: Schedule,
    /// The end of the measured part. In a search for a goal: of each full-length run.
    pub length: Length,
    /// Sent before the measured part, at the same rate, in every block.
    pub warm_up: Nanos,
    /// Longest wait for what is still under way after the last send.
    pub drain: Nanos,
    /// Producer clients; the schedule's messages go round them.
    pub producers: u32,
    /// Consumer clients, in one group.
    pub consumers: u32,
    /// Worker processes, on other hosts, that run the clients; 0: this process does.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub workers: u32,
    /// Size of the value.
    pub size: SizePlan,
    /// Key of each record.
    pub keys: Keys,
    /// Headers put on each record, beside any that carries the stamp.
    pub headers: BTreeMap<String, String>,
    /// The content of the value.
    pub payload: Payload,
    /// Messages that one producer may have unacknowledged; a send beyond it waits. None: as many as the client takes.
    pub in_flight: Option<u32>,
    /// The warm-up goes on until the log's device, not the page cache, takes what is written.
    #[serde(default)]
    pub until_device: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The purpose of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The latency of messages (or, as fast as possible, their rate): the path has to keep up.
    #[default]
    Path,
    /// The growth of the producers' queue at this rate: messages that are due and not yet acknowledged. A path that does not keep
    /// up is what the step is made to show; it has no latency.
    Queue,
}

/// The clients at work in the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Producers and consumers at the same time.
    #[default]
    Mixed,
    /// Producers only.
    Produce,
    /// Consumers only: the topic is filled before, unmeasured, and read from its beginning.
    Consume,
    /// Consumers wait until so many bytes of values are in the log, then drain them while the producers go on.
    Backlog(Bytes),
}

/// The end of the measured part. In a plan of several blocks this is the whole of the step; each block gets its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// After so many messages.
    Count(u64),
    /// After so long a time, by intended send times.
    Duration(Nanos),
}

/// The layout of the intended send times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// Evenly spaced.
    Constant,
    /// Each as soon as the client takes it: no intended times, so no latency.
    Saturating,
    /// Exponential gaps (a Poisson process).
    Poisson,
    /// Rates held one after the other, repeated if the part is longer.
    Steps(Vec<RateStep>),
    /// A rate that changes evenly from the first to the second over the time given, then stays.
    Ramp {
        /// Messages per second at first.
        #[serde(alias = "from", deserialize_with = "without_max::deserialize")]
        #[schemars(schema_with = "without_max::schema")]
        from_per_s: f64,
        /// Messages per second at the end.
        #[serde(alias = "to", deserialize_with = "without_max::deserialize")]
        #[schemars(schema_with = "without_max::schema")]
        to_per_s: f64,
        /// Time of the change.
        over: Nanos,
    },
    /// So many messages at one instant, again and again, at the mean rate of the load.
    Burst {
        /// Messages in each burst.
        messages: u32,
    },
}

/// A rate and how long it is held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Messages per second.
    #[serde(alias = "rate", deserialize_with = "without_max::deserialize")]
    #[schemars(schema_with = "without_max::schema")]
    pub rate_per_s: f64,
    /// The time for which it holds.
    #[serde(alias = "for")]
    pub hold: Nanos,
}

/// Size of the value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizePlan {
    /// Always the same.
    Fixed(Bytes),
    /// Drawn by weight.
    Mix(Vec<WeightedSize>),
}

/// A size with its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedSize {
    /// Bytes of the value.
    pub size: Bytes,
    /// Share, relative to the other weights.
    pub weight: u32,
}

/// Key of each record.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Keys {
    /// No key.
    None,
    /// The keys in turn.
    RoundRobin {
        /// The number of keys.
        count: u32,
    },
    /// Each key equally likely.
    Uniform {
        /// The number of keys.
        count: u32,
    },
    /// Key k with a likelihood proportional to 1/k^exponent: a few hot keys.
    Zipf {
        /// The number of keys.
        count: u32,
        /// Above 0; 1 is the classic.
        exponent: f64,
    },
}

/// The content of the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Random bytes for this share of the value, zeros for the rest; the stamp lies in its first bytes.
    Entropy(f64),
    /// The bytes of a file, cut or repeated to the size; the stamp travels in a header.
    File(String),
}

impl SizePlan {
    /// Mean bytes of a value.
    pub fn mean(&self) -> f64 {
        match self {
            SizePlan::Fixed(size) => size.0 as f64,
            SizePlan::Mix(mix) => {
                let weights: f64 = mix.iter().map(|part| f64::from(part.weight)).sum();
                mix.iter().map(|part| part.size.0 as f64 * f64::from(part.weight)).sum::<f64>() / weights
            }
        }
    }

    /// Smallest value.
    pub fn smallest(&self) -> Bytes {
        match self {
            SizePlan::Fixed(size) => *size,
            SizePlan::Mix(mix) => mix.iter().map(|part| part.size).min().unwrap_or(Bytes(0)),
        }
    }

    /// Largest value.
    pub fn largest(&self) -> Bytes {
        match self {
            SizePlan::Fixed(size) => *size,
            SizePlan::Mix(mix) => mix.iter().map(|part| part.size).max().unwrap_or(Bytes(0)),
        }
    }
}

impl LoadPlan {
    /// Measured messages that the schedule asks for over the whole step; none where time alone ends a load without rate.
    pub fn messages(&self) -> Option<u64> {
        match self.length {
            Length::Count(count) => Some(count),
            Length::Duration(time) => self.rate_per_s.map(|rate| (rate * time.as_secs_f64()).round() as u64),
        }
    }

    /// Length of the measured part of the whole step, where the rate tells it.
    pub fn planned_s(&self) -> Option<f64> {
        match self.length {
            Length::Count(count) => self.rate_per_s.map(|rate| count as f64 / rate),
            Length::Duration(time) => Some(time.as_secs_f64()),
        }
    }

    /// True if messages go out as fast as possible: no latency is measured then.
    pub fn saturating(&self) -> bool {
        self.schedule == Schedule::Saturating
    }

    /// True if the step is to show a queue's growth: its times are that queue's length and no latency of the path.
    pub fn shows_queue(&self) -> bool {
        self.purpose == Purpose::Queue
    }

    /// True if both offer the same, for however long: only then is a ratio of two steps that of their settings.
    pub fn same_but_length(&self, other: &LoadPlan) -> bool {
        *self == LoadPlan { length: self.length, ..other.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(parts: &[(u64, u32)]) -> SizePlan {
        let part = |(size, weight): &(u64, u32)| WeightedSize { size: Bytes(*size), weight: *weight };
        SizePlan::Mix(parts.iter().map(part).collect())
    }

    #[test]
    fn the_mean_of_a_mix_of_sizes_is_by_weight_and_its_ends_are_not() {
        let mix = mix(&[(100, 9), (1_000, 1)]);
        assert_eq!(mix.mean(), 190.0);
        assert_eq!((mix.smallest(), mix.largest()), (Bytes(100), Bytes(1_000)));
        let fixed = SizePlan::Fixed(Bytes(300));
        assert_eq!((fixed.mean(), fixed.smallest(), fixed.largest()), (300.0, Bytes(300), Bytes(300)));
    }

    /// A constant load of this length.
    fn load(length: Length, rate_per_s: Option<f64>) -> LoadPlan {
        LoadPlan {
            purpose: Purpose::Path,
            rate_per_s,
            mode: Mode::Mixed,
            schedule: if rate_per_s.is_some() { Schedule::Constant } else { Schedule::Saturating },
            length,
            warm_up: Nanos::from_secs(2),
            drain: Nanos::from_secs(10),
            producers: 1,
            consumers: 1,
            workers: 0,
            size: SizePlan::Fixed(Bytes(100)),
            keys: Keys::None,
            headers: BTreeMap::new(),
            payload: Payload::Entropy(1.0),
            in_flight: None,
            until_device: false,
        }
    }

    #[test]
    fn of_count_and_time_the_rate_tells_the_other_and_without_a_rate_it_stays_unknown() {
        let (count, time) = (Length::Count(1_500), Length::Duration(Nanos::from_secs(3)));
        let amounts = |length, rate| {
            let load = load(length, rate);
            (load.messages(), load.planned_s(), load.saturating())
        };
        assert_eq!(amounts(count, Some(500.0)), (Some(1_500), Some(3.0), false));
        assert_eq!(amounts(time, Some(500.0)), (Some(1_500), Some(3.0), false));
        assert_eq!(amounts(count, None), (Some(1_500), None, true));
        assert_eq!(amounts(time, None), (None, Some(3.0), true));
    }

    #[test]
    fn loads_of_another_length_are_the_same_and_of_another_rate_or_purpose_are_not() {
        let of = |length| load(length, Some(500.0));
        let long = of(Length::Count(90));
        assert!(long.same_but_length(&of(Length::Duration(Nanos::from_secs(3)))));
        assert!(!long.same_but_length(&load(Length::Count(90), Some(501.0))));
        let queue = LoadPlan { purpose: Purpose::Queue, ..of(Length::Count(90)) };
        assert!(!long.same_but_length(&queue));
        assert_eq!((long.shows_queue(), queue.shows_queue()), (false, true));
    }
}
