//! A property of librdkafka under the name that Kafka's Java client has for it.
//!
//! Sources: librdkafka's CONFIGURATION.md, and Kafka's documentation of producer and consumer configs.

/// The client that a property is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Producer,
    Consumer,
}

impl Role {
    pub(super) fn word(self) -> &'static str {
        match self {
            Role::Producer => "producer",
            Role::Consumer => "consumer",
        }
    }
}

/// The Java client's counterpart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Java {
    /// Name and value.
    Key(String, String),
    /// Nothing, and why.
    None(&'static str),
}

/// Of equal meaning and unit, under another name.
const RENAMED: &[(&str, &str)] = &[
    ("queue.buffering.max.ms", "linger.ms"),
    ("request.required.acks", "acks"),
    ("message.send.max.retries", "retries"),
    ("max.in.flight", "max.in.flight.requests.per.connection"),
    ("message.timeout.ms", "delivery.timeout.ms"),
    ("compression.codec", "compression.type"),
    ("message.max.bytes", "max.request.size"),
    ("fetch.wait.max.ms", "fetch.max.wait.ms"),
    ("fetch.message.max.bytes", "max.partition.fetch.bytes"),
    ("topic.metadata.refresh.interval.ms", "metadata.max.age.ms"),
    ("socket.send.buffer.bytes", "send.buffer.bytes"),
    ("socket.receive.buffer.bytes", "receive.buffer.bytes"),
    ("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.ms"),
];

/// Of equal name, meaning and unit.
const SAME: &[&str] = &[
    "acks",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.size",
    "check.crcs",
    "client.id",
    "client.rack",
    "compression.type",
    "connections.max.idle.ms",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.idempotence",
    "fetch.max.bytes",
    "fetch.min.bytes",
    "group.id",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "session.timeout.ms",
];

/// Whole milliseconds there, fractions in librdkafka.
const WHOLE_MS: &[&str] = &["linger.ms"];

const RANGE: &str = "org.apache.kafka.clients.consumer.RangeAssignor";
const ROUND_ROBIN: &str = "org.apache.kafka.clients.consumer.RoundRobinAssignor";
const COOPERATIVE: &str = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";

pub(super) fn translate(role: Role, key: &str, value: &str) -> Java {
    let renamed = RENAMED.iter().find(|(own, _)| *own == key).map(|(_, java)| *java);
    if let Some(name) = renamed.or_else(|| SAME.iter().find(|same| **same == key).copied()) {
        if WHOLE_MS.contains(&name) {
            return match value.parse::<f64>() {
                Ok(ms) if ms.fract() == 0.0 => Java::Key(name.to_owned(), (ms as i64).to_string()),
                _ => Java::None("the Java client takes whole milliseconds"),
            };
        }
        return Java::Key(name.to_owned(), value.to_owned());
    }
    match (key, role) {
        ("socket.nagle.disable", _) => Java::None("the Java client never waits to fill a TCP segment"),
        ("queue.buffering.max.kbytes", Role::Producer) => match value.parse::<u64>() {
            Ok(kib) => Java::Key("buffer.memory".to_owned(), kib.saturating_mul(1024).to_string()),
            Err(_) => Java::None("it is a number of KiB"),
        },
        ("queue.buffering.max.messages", _) => {
            Java::None("the Java client bounds its buffer in bytes (buffer.memory)")
        }
        ("batch.num.messages", _) => Java::None("the Java client bounds a batch in bytes (batch.size)"),
        ("partitioner", _) => match value {
            "murmur2_random" | "murmur2" => {
                Java::None("the Java client's default for records with keys is the same")
            }
            _ => Java::None("the Java client has other partitioners"),
        },
        ("partition.assignment.strategy", Role::Consumer) => {
            let class = |name: &str| match name.trim() {
                "range" => Some(RANGE),
                "roundrobin" => Some(ROUND_ROBIN),
                "cooperative-sticky" => Some(COOPERATIVE),
                _ => None,
            };
            let classes: Option<Vec<&str>> = value.split(',').map(class).collect();
            classes.map_or(Java::None("the Java client has no such assignor"), |classes| {
                Java::Key(key.to_owned(), classes.join(","))
            })
        }
        _ => Java::None("it is librdkafka's alone, as far as Plumb knows"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn producer(key: &str, value: &str) -> Java {
        translate(Role::Producer, key, value)
    }

    #[test]
    fn names_units_and_classes_are_java_s() {
        let key = |name: &str, value: &str| Java::Key(name.to_owned(), value.to_owned());
        assert_eq!(producer("queue.buffering.max.ms", "5"), key("linger.ms", "5"));
        assert_eq!(producer("queue.buffering.max.kbytes", "32768"), key("buffer.memory", "33554432"));
        assert_eq!(translate(Role::Consumer, "fetch.wait.max.ms", "10"), key("fetch.max.wait.ms", "10"));
        assert_eq!(
            translate(Role::Consumer, "partition.assignment.strategy", "range,roundrobin"),
            key("partition.assignment.strategy", &format!("{RANGE},{ROUND_ROBIN}"))
        );
    }

    #[test]
    fn what_java_has_not_is_said_and_never_written() {
        for (key, value) in [
            ("socket.nagle.disable", "true"),
            ("linger.ms", "0.5"),
            ("batch.num.messages", "10"),
            ("enable.gapless.guarantee", "true"),
        ] {
            assert!(matches!(producer(key, value), Java::None(_)), "{key}");
        }
    }
}
