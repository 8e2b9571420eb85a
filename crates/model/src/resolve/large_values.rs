//! Room for large values: what the defaults of client and topic do not let through is set on an own topic, so that a
//! scenario with large messages works as it is.

use crate::plan::{Driver, Origin, StepPlan, TopicPlan};
use std::collections::BTreeMap;

/// A record's and its batch's own bytes beside the value, key and headers, generously.
const OVERHEAD_BYTES: u64 = 4_096;
/// `message.max.bytes` of librdkafka (1,000,000) and `max.message.bytes` of a topic (1,048,588), the smaller of them.
const DEFAULT_LIMIT_BYTES: u64 = 1_000_000;

/// Raises the limits that the largest value of the step would exceed, unless the user set them.
pub(super) fn make_room(step: &mut StepPlan, at: &str, origins: &mut BTreeMap<String, Origin>) {
    let headers: usize = step.load.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let needed = step.load.size.largest().0 + OVERHEAD_BYTES + headers as u64;
    let TopicPlan::Own { configs, .. } = &mut step.topic else { return };
    if needed <= DEFAULT_LIMIT_BYTES {
        return;
    }
    let reason = || Origin::Derived { reason: "load.size does not fit the default".to_owned() };
    let mut set = |properties: &mut BTreeMap<String, String>, place: &str, key: &str| {
        if !properties.contains_key(key) {
            properties.insert(key.to_owned(), needed.to_string());
            origins.insert(format!("{at}.{place}.{key}"), reason());
        }
    };
    set(configs, "topic.configs", "max.message.bytes");
    if step.driver == Driver::Librdkafka {
        set(&mut step.producer, "producer", "message.max.bytes");
    }
}
