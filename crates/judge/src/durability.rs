//! The guarantee of a write in words, and the parts in which two steps' guarantees differ.

use plumb_model::document::Durability;
use plumb_model::property::readable;

/// Everything that is known of it: `acks=all, replication=3, min.insync.replicas=2`. Empty when nothing is.
pub(crate) fn fingerprint(durability: &Durability) -> String {
    let known = parts(durability).into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    known.collect::<Vec<_>>().join(", ")
}

/// The parts in which two durabilities differ, as `acks: 0 / all`; a value that only one of them knows is a difference too.
pub(crate) fn differences(a: &Durability, b: &Durability) -> Vec<String> {
    let both = parts(a).into_iter().zip(parts(b));
    let differing = both.filter(|((_, a), (_, b))| a != b);
    let shown = |value: Option<String>| value.unwrap_or_else(|| "not known".to_owned());
    differing.map(|((name, a), (_, b))| format!("{name}: {} / {}", shown(a), shown(b))).collect()
}

/// Two durabilities held against each other: where both are known, and where one is not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Unlike {
    /// The parts that are known to differ, as `acks: 0 / all`.
    pub(crate) known: Vec<String>,
    /// The parts that only one of them tells, as `replication: 3 / not known`: nothing says that they differ.
    pub(crate) half_told: Vec<String>,
}

/// What two durabilities do not have in common.
pub(crate) fn unlike(a: &Durability, b: &Durability) -> Unlike {
    let is_half_told = |difference: &String| {
        let name = difference.split(':').next().unwrap_or_default();
        let of =
            |durability| parts(durability).into_iter().any(|(part, value)| part == name && value.is_some());
        !(of(a) && of(b))
    };
    let (half_told, known) = differences(a, b).into_iter().partition(is_half_told);
    Unlike { known, half_told }
}

fn parts(durability: &Durability) -> [(&'static str, Option<String>); 6] {
    let text = |value: &Option<u32>| value.map(|value| value.to_string());
    let flush = |name, value: &Option<String>| value.as_deref().map(|value| readable(name, value).to_owned());
    [
        ("acks", durability.acks.clone()),
        ("replication", text(&durability.replication)),
        ("min.insync.replicas", text(&durability.min_insync_replicas)),
        ("flush.messages", flush("flush.messages", &durability.flush_messages)),
        ("flush.ms", flush("flush.ms", &durability.flush_ms)),
        ("enable.idempotence", durability.idempotence.map(|on| on.to_string())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_one_tells_is_not_known_to_differ() {
        let of = |acks: &str, replication| Durability {
            acks: Some(acks.to_owned()),
            replication,
            ..Default::default()
        };
        let found = unlike(&of("1", Some(3)), &of("0", None));
        assert_eq!(found.known, ["acks: 1 / 0"]);
        assert_eq!(found.half_told, ["replication: 3 / not known"]);
        assert_eq!(unlike(&of("1", None), &of("1", None)), Unlike::default());
    }

    #[test]
    fn a_log_that_is_never_flushed_is_said_so() {
        let flushed =
            |messages: &str| Durability { flush_messages: Some(messages.to_owned()), ..Default::default() };
        let (never, each) = (flushed("9223372036854775807"), flushed("1"));
        assert_eq!(differences(&never, &each), ["flush.messages: never / 1"]);
        assert_eq!(fingerprint(&never), "flush.messages=never");
    }
}
