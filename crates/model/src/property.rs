//! The equivalence of two client properties, or of two values of one, that are written differently.
//!
//! Not for whether a value is valid: the clients say that.

/// Two names of one property, first the one that most people use. As librdkafka's CONFIGURATION.md has them.
const SAME: &[(&str, &str)] = &[
    ("linger.ms", "queue.buffering.max.ms"),
    ("acks", "request.required.acks"),
    ("compression.type", "compression.codec"),
    ("max.in.flight.requests.per.connection", "max.in.flight"),
    ("delivery.timeout.ms", "message.timeout.ms"),
    ("retries", "message.send.max.retries"),
    ("max.partition.fetch.bytes", "fetch.message.max.bytes"),
];

/// Words for values, each list of one meaning: truth as librdkafka takes it, and acks as Kafka has them.
const WORDS: &[&[&str]] = &[&["true", "t", "1"], &["false", "f", "0"], &["all", "-1"]];

/// Properties that say who a client or broker is, or where it and its files are.
const IDENTITY: &[&str] = &[
    "group.id",
    "client.id",
    "bootstrap.servers",
    "metadata.broker.list",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
    "listeners",
    "advertised.listeners",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "ssl.ca.location",
    "ssl.keystore.location",
    "ssl.truststore.location",
    "broker.id",
    "node.id",
];

/// True if a property names a client or broker or its place, and not how it works: it differs between blocks and labs that are
/// set up alike.
pub fn is_identity(name: &str) -> bool {
    IDENTITY.contains(&name)
}

/// The usual name of a property, whichever of its names it is given by.
pub fn usual_name(name: &str) -> &str {
    SAME.iter().find(|(_, other)| *other == name).map_or(name, |(usual, _)| usual)
}

/// True if two values of one property mean the same: `5` and `5.0`, `1` and `true`, `all` and `-1`.
pub fn same_value(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    let among = |words: &[&str], value: &str| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    let numbers = number(a).is_some_and(|number_a| number(b) == Some(number_a));
    a == b || numbers || WORDS.iter().any(|words| among(words, a) && among(words, b))
}

/// Defaults of librdkafka 2.12 (its CONFIGURATION.md), by the usual names, of properties that change what a write or a read is promised, or how
/// much a client holds.
const CLIENT_DEFAULTS: [(&str, &str); 9] = [
    ("acks", "all"),
    ("enable.idempotence", "false"),
    ("retries", "2147483647"),
    ("delivery.timeout.ms", "300000"),
    ("queue.buffering.max.kbytes", "1048576"),
    ("message.max.bytes", "1000000"),
    ("batch.num.messages", "10000"),
    ("enable.auto.commit", "true"),
    ("isolation.level", "read_committed"),
];

/// True if a client has this value where the property is not written. False also where its default is not known here.
pub fn is_client_default(name: &str, value: &str) -> bool {
    let name = usual_name(name);
    CLIENT_DEFAULTS.iter().any(|(known, default)| *known == name && same_value(default, value))
}

/// A finite number, in decimal or as `0x...`.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => i64::from_str_radix(digits, 16).ok().map(|whole| whole as f64),
        None => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// A value as people say it: Kafka writes that nothing is ever flushed as the largest 64-bit number.
pub fn readable<'v>(name: &str, value: &'v str) -> &'v str {
    if name.contains("flush.") && value.parse() == Ok(i64::MAX) { "never" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_and_where_is_identity_and_how_it_works_is_not() {
        for name in ["group.id", "bootstrap.servers", "log.dirs", "node.id"] {
            assert!(is_identity(name), "{name}");
        }
        for name in ["linger.ms", "log.segment.bytes", "group.instance.id.prefix"] {
            assert!(!is_identity(name), "{name}");
        }
    }

    #[test]
    fn what_is_never_flushed_is_said_so_and_no_other_large_number() {
        const MOST: &str = "9223372036854775807";
        for name in ["flush.messages", "flush.ms", "topic.flush.ms", "log.flush.interval.messages"] {
            assert_eq!(readable(name, MOST), "never", "{name}");
            assert_eq!(readable(name, "1"), "1");
        }
        assert_eq!(readable("retention.ms", MOST), MOST);
    }

    #[test]
    fn a_property_has_one_usual_name() {
        assert_eq!(usual_name("queue.buffering.max.ms"), "linger.ms");
        assert_eq!(usual_name("linger.ms"), "linger.ms");
        assert_eq!(usual_name("batch.size"), "batch.size");
    }

    #[test]
    fn values_that_mean_the_same_are_the_same_and_no_others() {
        for (a, b) in [
            ("5", "5.0"),
            ("5", " 5 "),
            ("1", "true"),
            ("0", "false"),
            ("all", "-1"),
            ("0x10", "16"),
            ("True", "t"),
        ] {
            assert!(same_value(a, b) && same_value(b, a), "{a} {b}");
        }
        for (a, b) in
            [("5", "6"), ("1", "false"), ("all", "1"), ("5ms", "5"), ("a", "A"), ("", "0"), ("nan", "0")]
        {
            assert!(!same_value(a, b), "{a} {b}");
        }
    }
}
