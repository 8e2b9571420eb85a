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
    fn a_log_that_is_never_flushed_is_said_so() {
        let flushed =
            |messages: &str| Durability { flush_messages: Some(messages.to_owned()), ..Default::default() };
        let (never, each) = (flushed("9223372036854775807"), flushed("1"));
        assert_eq!(differences(&never, &each), ["flush.messages: never / 1"]);
        assert_eq!(fingerprint(&never), "flush.messages=never");
    }
}
