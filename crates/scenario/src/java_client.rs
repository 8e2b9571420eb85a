//! Properties of Kafka's Java client under the names of librdkafka, and the defaults of the one that the other lacks.
//!
//! How to connect (`security.protocol`, `sasl.*`, `ssl.*`) is not here: that goes into a client properties file, which
//! `plumb_session::client_config` reads.

use plumb_load::librdkafka::java;

/// The client that a property is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Producer,
    Consumer,
}

/// The translation of a property of the Java client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Translation {
    /// The same name, or one of librdkafka's own.
    Same,
    /// Another name, and perhaps another value.
    Renamed { name: &'static str, value: String, note: &'static str },
    /// It can be left out.
    WithoutMeaning(&'static str),
    /// It cannot be honoured.
    Refused(&'static str),
}

/// Of the Java client, under another name in librdkafka with the same meaning and unit.
const RENAMED: &[(&str, &str)] = &[
    ("max.request.size", "message.max.bytes"),
    ("fetch.max.wait.ms", "fetch.wait.max.ms"),
    ("metadata.max.age.ms", "topic.metadata.refresh.interval.ms"),
];

/// Assignors that librdkafka has too.
const ASSIGNORS: &[(&str, &str)] = &[
    ("org.apache.kafka.clients.consumer.RangeAssignor", "range"),
    ("org.apache.kafka.clients.consumer.RoundRobinAssignor", "roundrobin"),
    ("org.apache.kafka.clients.consumer.CooperativeStickyAssignor", "cooperative-sticky"),
];

/// The version of the Java client's defaults, where librdkafka has others. Kafka's documentation, producer configs, of 3.x and of
/// 4.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The clients that the Open Messaging Benchmark ships with.
    Three,
    /// The client of Kafka's own tools since 4.0 (KIP-1030 raised the linger).
    Four,
}

/// Producer properties that make librdkafka batch and confirm as the Java client does by default, for names not `given`.
pub(crate) fn producer_defaults<'a>(
    generation: Generation,
    given: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(&'static str, &'static str)> {
    let linger = match generation {
        Generation::Three => "0",
        Generation::Four => "5",
    };
    let mut defaults = vec![("linger.ms", linger), ("batch.size", "16384"), ("acks", "all")];
    // 32 MiB; how long a record waits when a producer sends as fast as possible is this over the rate.
    defaults.push(("queue.buffering.max.kbytes", "32768"));
    // librdkafka has no limit, and Plumb's own client two for its larger batches.
    defaults.push(("max.in.flight.requests.per.connection", "5"));
    // The Java client silently drops its default of idempotence where another setting excludes it.
    let acks_all = given("acks")
        .or_else(|| given("request.required.acks"))
        .is_none_or(|acks| acks == "all" || acks == "-1");
    let retries = given("retries").or_else(|| given("message.send.max.retries")) != Some("0");
    let few_in_flight = given("max.in.flight.requests.per.connection")
        .or_else(|| given("max.in.flight"))
        .is_none_or(|most| most.parse().is_ok_and(|most: u64| most <= 5));
    if acks_all && retries && few_in_flight {
        defaults.push(("enable.idempotence", "true"));
    }
    let by_other_name = |name: &str| match name {
        "linger.ms" => given("queue.buffering.max.ms").is_some(),
        "acks" => given("request.required.acks").is_some(),
        "max.in.flight.requests.per.connection" => given("max.in.flight").is_some(),
        _ => false,
    };
    defaults.retain(|(name, _)| given(name).is_none() && !by_other_name(name));
    defaults
}

/// True if a property says how to connect.
pub(crate) fn is_connection(name: &str) -> bool {
    name == "security.protocol" || name.starts_with("sasl.") || name.starts_with("ssl.")
}

/// True if a property's value must not be shown.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["password", "secret", "jaas", "credential", "token", "auth.user", "ssl.key"];
    words.iter().any(|word| name.contains(word))
}

/// The translation of a property of the Java client.
pub(crate) fn translate(role: Role, name: &str, value: &str) -> Translation {
    if let Some(reason) = java::without_meaning(name) {
        return Translation::WithoutMeaning(reason);
    }
    if let Some((_, new)) = RENAMED.iter().find(|(known, _)| *known == name) {
        return Translation::Renamed { name: new, value: value.to_owned(), note: "librdkafka's name" };
    }
    match name {
        "transactional.id" | "transaction.timeout.ms" => {
            Translation::Refused("Plumb sends no transactions; without it the same load can be measured")
        }
        "partitioner.class" => Translation::Refused(
            "a Java class cannot be run here; librdkafka's are set by `partitioner` (murmur2_random is the Java \
             client's for records with keys)",
        ),
        "buffer.memory" => match value.parse::<u64>() {
            Ok(bytes) => Translation::Renamed {
                name: "queue.buffering.max.kbytes",
                value: (bytes / 1024).max(1).to_string(),
                note: "in KiB",
            },
            Err(_) => Translation::Refused("it is a number of bytes"),
        },
        // librdkafka has it for producers alone.
        "request.timeout.ms" if role == Role::Consumer => Translation::Renamed {
            name: "socket.timeout.ms",
            value: value.to_owned(),
            note: "librdkafka's name for a consumer",
        },
        "send.buffer.bytes" => buffer("socket.send.buffer.bytes", value),
        "receive.buffer.bytes" => buffer("socket.receive.buffer.bytes", value),
        "partition.assignment.strategy" if role == Role::Consumer && value.contains('.') => {
            let known = |class: &str| ASSIGNORS.iter().find(|(java, _)| *java == class.trim());
            let names: Option<Vec<&str>> =
                value.split(',').map(|class| known(class).map(|(_, name)| *name)).collect();
            match names {
                Some(names) => Translation::Renamed {
                    name: "partition.assignment.strategy",
                    value: names.join(","),
                    note: "librdkafka's name for the class",
                },
                None => Translation::Refused(
                    "librdkafka has range, roundrobin and cooperative-sticky, and no other",
                ),
            }
        }
        _ => Translation::Same,
    }
}

/// A socket buffer; -1 is Java's word for the system's own, 0 is librdkafka's.
fn buffer(name: &'static str, value: &str) -> Translation {
    let value = if value == "-1" { "0" } else { value };
    Translation::Renamed { name, value: value.to_owned(), note: "librdkafka's name" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_java_client_does_by_default_is_written_out_where_nothing_is_said() {
        let none = producer_defaults(Generation::Three, |_| None);
        assert_eq!(
            none,
            [
                ("linger.ms", "0"),
                ("batch.size", "16384"),
                ("acks", "all"),
                ("queue.buffering.max.kbytes", "32768"),
                ("max.in.flight.requests.per.connection", "5"),
                ("enable.idempotence", "true")
            ]
        );
        let given = |name: &str| match name {
            "acks" => Some("1"),
            "linger.ms" | "queue.buffering.max.kbytes" => Some("3"),
            _ => None,
        };
        let defaults = producer_defaults(Generation::Four, given);
        let of_java = [("batch.size", "16384"), ("max.in.flight.requests.per.connection", "5")];
        assert_eq!(defaults, of_java, "with acks=1 there is no idempotence");
    }

    #[test]
    fn what_excludes_idempotence_does_so_by_each_of_its_names() {
        for (excludes, value) in [
            ("retries", "0"),
            ("message.send.max.retries", "0"),
            ("max.in.flight.requests.per.connection", "6"),
            ("max.in.flight", "6"),
            ("request.required.acks", "1"),
        ] {
            let defaults = producer_defaults(Generation::Four, |name| (name == excludes).then_some(value));
            assert!(!defaults.iter().any(|(name, _)| *name == "enable.idempotence"), "{excludes}");
            let in_flight = defaults.iter().filter(|(name, _)| name.starts_with("max.in.flight")).count();
            assert_eq!(in_flight, usize::from(!excludes.starts_with("max.in.flight")), "{excludes}");
        }
    }

    #[test]
    fn renamed_properties_keep_their_meaning_and_unit() {
        let renamed = |role, name: &str, value: &str| match translate(role, name, value) {
            Translation::Renamed { name, value, .. } => (name, value),
            other => panic!("{other:?}"),
        };
        let producer = |name, value| renamed(Role::Producer, name, value);
        assert_eq!(producer("buffer.memory", "33554432"), ("queue.buffering.max.kbytes", "32768".into()));
        assert_eq!(producer("send.buffer.bytes", "-1"), ("socket.send.buffer.bytes", "0".into()));
        assert_eq!(producer("max.request.size", "5000000"), ("message.max.bytes", "5000000".into()));
        let strategy = "org.apache.kafka.clients.consumer.RangeAssignor,\
                        org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
        assert_eq!(
            renamed(Role::Consumer, "partition.assignment.strategy", strategy).1,
            "range,cooperative-sticky"
        );
        assert_eq!(translate(Role::Producer, "linger.ms", "1"), Translation::Same);
        assert_eq!(renamed(Role::Consumer, "request.timeout.ms", "9"), ("socket.timeout.ms", "9".to_owned()));
        assert_eq!(translate(Role::Producer, "request.timeout.ms", "9"), Translation::Same);
    }

    #[test]
    fn a_value_that_may_be_a_secret_is_known_by_its_name() {
        for name in ["sasl.jaas.config", "ssl.key.password", "basic.auth.user.info", "ssl.keystore.key"] {
            assert!(is_secret(name), "{name}");
        }
        assert!(!is_secret("linger.ms"));
    }
}
