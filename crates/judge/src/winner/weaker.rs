//! The guarantees of a step that are weaker than another's: durability of a write, and security of the path.
//!
//! A guarantee that is not known to be at least as strong counts as weaker: speed is never bought with a promise that nobody
//! checked.

use crate::trial::guarantees::{self, Differing};
use plumb_model::document::{Durability, RunDocument, StepResult};
use plumb_model::facts::{Layer, Storage, StorageRisk};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// Every promise of `against` that `step` does not make, in words.
pub(super) fn than(document: &RunDocument, step: &str, against: &str) -> Vec<String> {
    let of = |name: &str| document.steps.iter().find(|step| step.name == name);
    let (Some(own), Some(other)) = (of(step), of(against)) else {
        return vec!["what it promises is not known".to_owned()];
    };
    let mut found = durability(&own.durability, &other.durability);
    found.extend(security(own, other));
    found.extend(devices(document, &own.effective.log_dirs, &other.effective.log_dirs));
    found
}

fn durability(own: &Durability, other: &Durability) -> Vec<String> {
    let copies = |of: Option<u32>| of.map(f64::from);
    // Fewer messages, or less time, before the brokers force what they have to the disk.
    let forced =
        |of: &Option<String>| of.as_ref().and_then(|text| text.parse::<f64>().ok()).map(|value| -value);
    let parts = [
        ("acks", acks(own), acks(other)),
        ("replication", copies(own.replication), copies(other.replication)),
        ("min.insync.replicas", copies(own.min_insync_replicas), copies(other.min_insync_replicas)),
        ("flush.messages", forced(&own.flush_messages), forced(&other.flush_messages)),
        ("flush.ms", forced(&own.flush_ms), forced(&other.flush_ms)),
        ("enable.idempotence", own.idempotence.map(f64::from), other.idempotence.map(f64::from)),
    ];
    let weaker = parts.into_iter().filter(|(_, own, other)| match (own, other) {
        (Some(own), Some(other)) => own < other,
        (None, Some(_)) => true,
        (_, None) => false,
    });
    let differences = crate::durability::differences(other, own);
    weaker
        .filter_map(|(name, ..)| differences.iter().find(|it| it.starts_with(&format!("{name}:"))).cloned())
        .collect()
}

fn acks(of: &Durability) -> Option<f64> {
    match of.acks.as_deref()? {
        "all" | "-1" => Some(2.0),
        "1" => Some(1.0),
        "0" => Some(0.0),
        _ => None,
    }
}

/// Settings of security that differ, unless the path is now encrypted or authenticated where it was not.
fn security(own: &StepResult, other: &StepResult) -> Vec<String> {
    let mut differing = guarantees::settings(&other.effective, &own.effective);
    let protocol = |step: &StepResult| step.cluster.as_ref()?.security_protocol.clone();
    if let (Some(a), Some(b)) = (protocol(other), protocol(own))
        && a != b
    {
        differing.push(Differing { role: "cluster", key: "security.protocol", a, b });
    }
    let stronger = |it: &Differing| {
        it.key == "security.protocol"
            && strength(&it.b).zip(strength(&it.a)).is_some_and(|(own, other)| own > other)
    };
    differing.iter().filter(|it| !stronger(it)).map(Differing::to_string).collect()
}

fn strength(protocol: &str) -> Option<u8> {
    match protocol.to_ascii_uppercase().as_str() {
        "PLAINTEXT" => Some(0),
        "SASL_PLAINTEXT" => Some(1),
        "SSL" => Some(2),
        "SASL_SSL" => Some(3),
        _ => None,
    }
}

/// The risks to a synced write where this step's logs lie that the other's do not have.
fn devices(
    document: &RunDocument,
    own: &BTreeMap<String, u32>,
    other: &BTreeMap<String, u32>,
) -> Vec<String> {
    let behind = |logs: &BTreeMap<String, u32>| -> Vec<&Storage> {
        let all = document.environment.log_directories.iter();
        all.filter(|directory| logs.contains_key(&directory.name))
            .map(|directory| &directory.storage)
            .collect()
    };
    let (own, other) = (behind(own), behind(other));
    let theirs: Vec<StorageRisk> = other.iter().flat_map(|storage| storage.risks()).collect();
    let mut risks: Vec<StorageRisk> = own.iter().flat_map(|storage| storage.risks()).collect();
    risks.retain(|risk| !theirs.iter().any(|known| discriminant(known) == discriminant(risk)));
    risks.dedup();
    let mut found: Vec<String> = risks.iter().map(StorageRisk::to_string).collect();
    if own.iter().any(|it| has_volatile_cache(it))
        && !other.is_empty()
        && !other.iter().any(|it| has_volatile_cache(it))
    {
        found.push(
            "the log's device has a volatile write cache: what was not synced is lost with the power"
                .to_owned(),
        );
    }
    found
}

fn has_volatile_cache(storage: &Storage) -> bool {
    storage.layers.iter().any(|layer| match &layer.layer {
        Layer::Device(device) => device.write_cache.as_deref() == Some("write back"),
        Layer::FileSystem(_) | Layer::Pool(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{DEFAULT, LOW, healthy};

    fn told(change: impl FnOnce(&mut RunDocument)) -> Vec<String> {
        let mut document = healthy();
        change(&mut document);
        than(&document, LOW, DEFAULT)
    }

    #[test]
    fn equal_promises_are_not_weaker() {
        assert_eq!(told(|_| {}), [""; 0]);
    }

    #[test]
    fn fewer_acknowledgements_are_weaker_and_more_are_not() {
        let set = |own: &str, other: &str| {
            told(|document| {
                document.steps[0].durability.acks = Some(own.to_owned());
                document.steps[1].durability.acks = Some(other.to_owned());
            })
        };
        assert_eq!(set("1", "all"), ["acks: all / 1"]);
        assert_eq!(set("all", "1"), [""; 0]);
        assert_eq!(set("0", "1"), ["acks: 1 / 0"]);
    }

    #[test]
    fn a_promise_that_is_not_known_counts_as_weaker() {
        let found = told(|document| {
            document.steps[0].durability.min_insync_replicas = None;
            document.steps[1].durability.min_insync_replicas = Some(2);
        });
        assert_eq!(found, ["min.insync.replicas: 2 / not known"]);
    }

    #[test]
    fn encryption_taken_away_is_weaker_and_added_is_not() {
        let set = |own: &str, other: &str| {
            told(|document| {
                for (step, protocol) in [(0, own), (1, other)] {
                    let cluster = document.steps[step].cluster.get_or_insert_default();
                    cluster.security_protocol = Some(protocol.to_owned());
                }
            })
        };
        assert_eq!(set("plaintext", "ssl"), ["cluster security.protocol: ssl / plaintext"]);
        assert_eq!(set("ssl", "plaintext"), [""; 0]);
    }
}
