//! The registry of the settings that a search may change: one row each, for clients and topics.
//!
//! A setting that changes what a write or the path promises (acks, idempotence, replication, flushes, retries, retention, security ...)
//! has no row, and nothing but a row can be proposed: such a setting is not left out by a test of its name, it cannot be written down.
//! Settings of this host and of brokers come from `tune`'s registry, by a plan.
//!
//! Names, defaults and ranges: librdkafka 2.12.1's CONFIGURATION.md, Kafka 4.3.0's generated configuration reference. Where a range is
//! narrower than the client's, it is ours: what is outside has no use or a price in memory.

use crate::plan::Driver;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The part of the path that a setting belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// The producers.
    Producer,
    /// The consumers.
    Consumer,
    /// A topic of the run's own.
    Topic,
    /// This host, by `tune`'s name of the setting.
    Host,
}

impl Owner {
    /// As in the names of settings: `producer`.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Producer => "producer",
            Owner::Consumer => "consumer",
            Owner::Topic => "topic",
            Owner::Host => "host",
        }
    }
}

/// The scale of a setting's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Whole numbers evenly spaced by ratio between two ends, both included; before them values of a meaning of their own, such as 0 for off.
    Log {
        /// Values of a meaning of their own.
        special: &'static [f64],
        /// The least of the others.
        least: f64,
        /// The most.
        most: f64,
    },
    /// Each of these, in their order.
    Ordered(&'static [&'static str]),
    /// Each of these, in no order.
    Choice(&'static [&'static str]),
}

/// One setting that a search may change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tunable {
    /// The part that it belongs to.
    pub owner: Owner,
    /// Its name: librdkafka's of a client's property, Kafka's of a topic's.
    pub name: &'static str,
    /// The Java client's name of what does the same; none where it has nothing such.
    pub java: Option<&'static str>,
    /// librdkafka's default, or Kafka's of a topic's.
    pub default: &'static str,
    /// The Java client's default.
    pub java_default: Option<&'static str>,
    /// Its values.
    pub scale: Scale,
    /// True if the wire driver has it too.
    pub on_wire: bool,
    /// The settings and the load on which its effect depends, in words.
    pub depends_on: &'static str,
}

/// Levels of a setting's values.
const LEVELS: usize = 17;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

const ON_OFF: Scale = Scale::Choice(&["true", "false"]);
const SOCKET_BUFFER: Scale = Scale::Log { special: &[0.0], least: 64.0 * KIB, most: 4.0 * MIB };

/// A row of librdkafka's alone.
const LIBRDKAFKA: Tunable = Tunable {
    owner: Owner::Producer,
    name: "",
    java: None,
    default: "",
    java_default: None,
    scale: ON_OFF,
    on_wire: false,
    depends_on: "",
};

/// Every setting that a search may change, by owner.
pub const TUNABLES: &[Tunable] = &[
    Tunable {
        name: "linger.ms",
        java: Some("linger.ms"),
        default: "5",
        java_default: Some("5"),
        scale: Scale::Ordered(&[
            "0", "0.1", "0.2", "0.5", "1", "1.5", "2", "3", "5", "7", "10", "15", "20", "30", "50", "70",
            "100",
        ]),
        on_wire: true,
        depends_on: "batch.size and the rate of a partition; Java: whole milliseconds, and delivery.timeout.ms is at least \
                     linger.ms + request.timeout.ms",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "batch.size",
        java: Some("batch.size"),
        default: "1000000",
        java_default: Some("16384"),
        scale: Scale::Log { special: &[], least: 4.0 * KIB, most: MIB },
        on_wire: true,
        depends_on: "linger.ms; the topic's max.message.bytes; Java: buffer.memory",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "compression.type",
        java: Some("compression.type"),
        default: "none",
        java_default: Some("none"),
        scale: Scale::Choice(&["none", "lz4", "snappy", "zstd"]),
        on_wire: true,
        depends_on: "what the values are made of, and the size of batches",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "max.in.flight.requests.per.connection",
        java: Some("max.in.flight.requests.per.connection"),
        default: "1000000",
        java_default: Some("5"),
        // Beyond 5 an idempotent producer is refused. Without idempotence more than 1 may reorder: who has 1 is promised order, and keeps it.
        scale: Scale::Ordered(&["1", "2", "3", "4", "5"]),
        on_wire: true,
        depends_on: "batch.size and the round trip: a broker gets at most in flight x batch in a round trip",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "queue.buffering.backpressure.threshold",
        default: "1",
        scale: Scale::Log { special: &[], least: 1.0, most: 16.0 },
        depends_on: "linger.ms and compression.type",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "sticky.partitioning.linger.ms",
        java: Some("partitioner.adaptive.partitioning.enable"),
        default: "10",
        java_default: Some("true"),
        scale: Scale::Log { special: &[0.0], least: 1.0, most: 100.0 },
        depends_on: "records without a key; linger.ms",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "socket.nagle.disable",
        default: "true",
        on_wire: true,
        depends_on: "the size of requests",
        ..LIBRDKAFKA
    },
    Tunable {
        name: "socket.send.buffer.bytes",
        java: Some("send.buffer.bytes"),
        default: "0",
        java_default: Some("131072"),
        scale: SOCKET_BUFFER,
        on_wire: true,
        depends_on: "the bandwidth and the round trip of the network",
        ..LIBRDKAFKA
    },
    Tunable {
        owner: Owner::Consumer,
        name: "fetch.min.bytes",
        java: Some("fetch.min.bytes"),
        default: "1",
        java_default: Some("1"),
        scale: Scale::Log { special: &[1.0], least: KIB, most: MIB },
        on_wire: true,
        depends_on: "the bytes a second of a broker, and fetch.wait.max.ms",
    },
    Tunable {
        owner: Owner::Consumer,
        name: "fetch.wait.max.ms",
        java: Some("fetch.max.wait.ms"),
        default: "500",
        java_default: Some("500"),
        scale: Scale::Log { special: &[], least: 1.0, most: 500.0 },
        on_wire: true,
        depends_on: "fetch.min.bytes: it is idle while that is 1 and data flows",
    },
    Tunable {
        owner: Owner::Consumer,
        name: "max.partition.fetch.bytes",
        java: Some("max.partition.fetch.bytes"),
        default: "1048576",
        java_default: Some("1048576"),
        scale: Scale::Log { special: &[], least: 64.0 * KIB, most: 8.0 * MIB },
        on_wire: true,
        depends_on: "the largest batch, which it has to hold",
    },
    Tunable {
        owner: Owner::Consumer,
        name: "queued.min.messages",
        default: "100000",
        scale: Scale::Log { special: &[], least: 1_000.0, most: 1_000_000.0 },
        depends_on: "fetch.queue.backoff.ms: a full local queue stops fetching for that long",
        ..LIBRDKAFKA
    },
    Tunable {
        owner: Owner::Consumer,
        name: "fetch.queue.backoff.ms",
        default: "1000",
        scale: Scale::Log { special: &[0.0], least: 1.0, most: 1_000.0 },
        depends_on: "queued.min.messages: it acts only when the local queue is full",
        ..LIBRDKAFKA
    },
    Tunable {
        owner: Owner::Consumer,
        name: "socket.receive.buffer.bytes",
        java: Some("receive.buffer.bytes"),
        default: "0",
        java_default: Some("65536"),
        scale: SOCKET_BUFFER,
        on_wire: true,
        depends_on: "the bandwidth and the round trip of the network",
    },
    Tunable {
        owner: Owner::Consumer,
        name: "socket.nagle.disable",
        default: "true",
        on_wire: true,
        depends_on: "the size of requests",
        ..LIBRDKAFKA
    },
    Tunable {
        owner: Owner::Topic,
        name: "segment.bytes",
        java: Some("segment.bytes"),
        default: "1073741824",
        java_default: Some("1073741824"),
        scale: Scale::Log { special: &[], least: 128.0 * MIB, most: GIB },
        on_wire: true,
        depends_on: "the bytes a second of a partition",
    },
    Tunable {
        owner: Owner::Topic,
        name: "index.interval.bytes",
        java: Some("index.interval.bytes"),
        default: "4096",
        java_default: Some("4096"),
        scale: Scale::Log { special: &[], least: 4.0 * KIB, most: 64.0 * KIB },
        on_wire: true,
        depends_on: "the size of batches",
    },
];

impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.owner.name(), self.name)
    }
}

impl Tunable {
    /// True if a driver has it.
    pub fn is_of(&self, driver: Driver) -> bool {
        match driver {
            Driver::Librdkafka => true,
            Driver::Wire => self.on_wire,
            // Its properties are known to the program alone.
            Driver::External => false,
        }
    }

    /// Its values, as they are written; those of an order from least to most.
    pub fn values(&self) -> Vec<String> {
        match self.scale {
            Scale::Ordered(values) | Scale::Choice(values) => {
                values.iter().map(|value| (*value).to_owned()).collect()
            }
            Scale::Log { special, least, most } => {
                let others = LEVELS - special.len();
                let ratio = (most / least).powf(1.0 / (others - 1) as f64);
                let on_scale = (0..others).map(|at| rounded(least * ratio.powi(at as i32), least));
                let mut values: Vec<String> =
                    special.iter().copied().chain(on_scale).map(|value| value.to_string()).collect();
                values.dedup();
                values
            }
        }
    }

    /// True if its values have an order.
    pub fn is_ordered(&self) -> bool {
        !matches!(self.scale, Scale::Choice(_))
    }
}

/// Two digits; multiples of 1,024 where the least is one, as numbers of bytes are.
fn rounded(value: f64, least: f64) -> f64 {
    if least >= KIB && least % KIB == 0.0 {
        return (value / KIB).round() * KIB;
    }
    let unit = 10_f64.powf(value.log10().floor() - 1.0).max(1.0);
    ((value / unit).round() * unit).round()
}

/// The setting of a name such as `producer.linger.ms`.
pub fn find(name: &str) -> Option<&'static Tunable> {
    TUNABLES.iter().find(|tunable| tunable.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What changes a promise, by the clients' and the broker's names.
    const PROMISES: &[&str] = &[
        "acks",
        "request.required.acks",
        "enable.idempotence",
        "enable.gapless.guarantee",
        "transactional.id",
        "replication.factor",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "flush.messages",
        "flush.ms",
        "retries",
        "message.send.max.retries",
        "delivery.timeout.ms",
        "message.timeout.ms",
        "request.timeout.ms",
        "isolation.level",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "enable.auto.offset.store",
        "auto.offset.reset",
        "check.crcs",
        "message.timestamp.type",
        "retention.ms",
        "retention.bytes",
        "cleanup.policy",
        "partitioner",
        "security.protocol",
        "sasl.mechanism",
        "ssl.cipher.suites",
        "enable.ssl.certificate.verification",
    ];

    #[test]
    fn nothing_that_changes_a_promise_is_in_the_registry() {
        for tunable in TUNABLES {
            assert!(!PROMISES.contains(&tunable.name), "{tunable}");
            assert!(!tunable.name.starts_with("ssl.") && !tunable.name.starts_with("sasl."), "{tunable}");
        }
        // In flight beyond 5 may reorder.
        let in_flight = find("producer.max.in.flight.requests.per.connection").unwrap();
        assert_eq!(in_flight.values(), ["1", "2", "3", "4", "5"]);
    }

    #[test]
    fn names_are_unique_and_found() {
        for tunable in TUNABLES {
            assert_eq!(find(&tunable.to_string()), Some(tunable));
            assert!(!tunable.depends_on.is_empty(), "{tunable}");
        }
    }

    #[test]
    fn levels_are_at_most_seventeen_rise_and_reach_both_ends() {
        for tunable in TUNABLES {
            let values = tunable.values();
            assert!(values.len() <= LEVELS && values.len() > 1, "{tunable}: {values:?}");
            let Scale::Log { least, most, .. } = tunable.scale else { continue };
            let numbers: Vec<f64> = values.iter().map(|value| value.parse().unwrap()).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{tunable}: {values:?}");
            assert!(numbers.contains(&least) && numbers.contains(&most), "{tunable}: {values:?}");
        }
    }

    #[test]
    fn values_are_written_as_people_write_them() {
        let values = find("producer.linger.ms").unwrap().values();
        assert_eq!(&values[..4], ["0", "0.1", "0.2", "0.5"]);
        assert_eq!(values.last().unwrap(), "100");
        let queued = find("consumer.queued.min.messages").unwrap().values();
        assert_eq!((queued.first().unwrap().as_str(), queued.last().unwrap().as_str()), ("1000", "1000000"));
    }
}
