//! The settings in force that differ between an arm and the reference, as read back from client, topic and broker, never from its
//! name.

use super::Arm;
use crate::setup::Setup;
use plumb_model::document::Effective;
use plumb_model::plan::Properties;
use plumb_model::property::{is_identity, readable, same_value, usual_name};
use plumb_model::scenario_settings::load_differences;
use plumb_model::trial::NOT_SET;
use std::collections::{BTreeMap, BTreeSet};

/// Effective settings of the arm that differ from the reference's, as `path: value`.
pub(super) fn differences(reference: &Arm, arm: &Arm) -> BTreeMap<String, String> {
    found(&reference.setup, &arm.setup)
}

/// The same of two steps of whatever runs, with both values: `path: a / b`.
pub(crate) fn both(a: &Setup, b: &Setup) -> Vec<String> {
    let (of_a, of_b) = (found(b, a), found(a, b));
    let paths: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    let shown = |of: &BTreeMap<String, String>, path: &String| {
        of.get(path).map_or("as the other's", String::as_str).to_owned()
    };
    paths.into_iter().map(|path| format!("{path}: {} / {}", shown(&of_a, path), shown(&of_b, path))).collect()
}

fn found(reference: &Setup, arm: &Setup) -> BTreeMap<String, String> {
    let (a, b) = (&reference.result.effective, &arm.result.effective);
    let mut found = BTreeMap::new();
    for (role, of) in ROLES {
        let (a, b) = (of(a), of(b));
        // A cluster that does not tell its settings has none that differ.
        if a.is_empty() || b.is_empty() {
            continue;
        }
        if reference.client(role) != arm.client(role) {
            found.extend(between_clients([reference, arm], [a, b], role));
            continue;
        }
        let keys = a.keys().chain(b.keys()).filter(|key| !is_identity(key));
        for key in keys.filter(|key| a.get(*key) != b.get(*key)) {
            let value = b.get(key).map_or("absent", |value| readable(key, value)).to_owned();
            found.insert(format!("{role}.{key}"), value);
        }
    }
    let text = |value: Option<u32>| value.map_or_else(|| "not known".to_owned(), |value| value.to_string());
    if a.partitions != b.partitions {
        found.insert("topic.partitions".to_owned(), text(b.partitions));
    }
    if a.replication != b.replication {
        found.insert("topic.replication".to_owned(), text(b.replication));
    }
    if a.log_dirs != b.log_dirs {
        let names: Vec<&str> = b.log_dirs.keys().map(String::as_str).collect();
        found.insert("topic.log_dir".to_owned(), names.join(", "));
    }
    let flags = arm_only(&a.jvm_flags, &b.jvm_flags);
    if !flags.is_empty() {
        found.insert("cluster.jvm_flags".to_owned(), flags.join(" "));
    }
    if reference.driver_words() != arm.driver_words() {
        found.insert("driver".to_owned(), arm.driver_words());
    }
    match reference.load().zip(arm.load()) {
        Some((a, b)) => found.extend(
            load_differences(a, b).into_iter().map(|(key, [_, value])| (format!("load.{key}"), value)),
        ),
        None if !reference.same_load(arm) => {
            found.insert("load".to_owned(), "another".to_owned());
        }
        None => {}
    }
    found
}

/// The settings in which another client differs. Each client has its own names and defaults: what only one of them has differs where
/// somebody wrote it, and what both have where the values do not mean the same.
fn between_clients(setups: [&Setup; 2], effective: [&Properties; 2], role: &str) -> Vec<(String, String)> {
    let by_usual_name = |of: &'_ Properties| -> Properties {
        of.iter().map(|(key, value)| (usual_name(key).to_owned(), value.clone())).collect()
    };
    let [a, b] = effective.map(by_usual_name);
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).filter(|key| !is_identity(key)).collect();
    let differ = |key: &&String| match (a.get(*key), b.get(*key)) {
        (Some(a), Some(b)) => !a.eq_ignore_ascii_case(b) && !same_value(a, b),
        _ => setups.into_iter().any(|setup| setup.wrote(role, key)),
    };
    let value = |key: &String| {
        b.get(key).map_or("not a setting of this client", |value| readable(key, value)).to_owned()
    };
    keys.into_iter().filter(differ).map(|key| (format!("{role}.{key}"), value(key))).collect()
}

type Of = fn(&Effective) -> &Properties;

const ROLES: [(&str, Of); 5] = [
    ("producer", |effective| &effective.producer),
    ("consumer", |effective| &effective.consumer),
    ("topic", |effective| &effective.topic),
    ("broker", |effective| &effective.broker),
    ("host", |effective| &effective.host),
];

/// Flags of one only: those of the arm, and those of the reference with a minus.
fn arm_only(reference: &[String], arm: &[String]) -> Vec<String> {
    let added = arm.iter().filter(|flag| !reference.contains(flag)).cloned();
    let dropped = reference.iter().filter(|flag| !arm.contains(flag)).map(|flag| format!("without {flag}"));
    added.chain(dropped).collect()
}

/// Settings that the arm asked for in a place that was read back, and that are there as they are in the reference: they are
/// not in effect. What cannot be read back (a hook, the heap) is not among them.
pub(super) fn not_in_effect(reference: &Arm, arm: &Arm) -> Vec<String> {
    let Some(plan) = arm.plan else { return Vec::new() };
    let (a, b) = (&reference.setup.result.effective, &arm.setup.result.effective);
    let asked = plan.differences.iter();
    // What the arm leaves out it asks nothing for: the default may well be what the reference sets.
    let asked = asked.filter(|(path, value)| *value != NOT_SET && same_where_told(path, value, a, b));
    asked.map(|(path, value)| format!("{path}: {value}")).collect()
}

/// True if both tell the setting of a path, and tell the same value, which is not the one asked for. A value that is asked for in
/// other words than the reference's is in effect.
fn same_where_told(path: &str, asked: &str, a: &Effective, b: &Effective) -> bool {
    const PLACES: [(&str, &str); 5] = [
        ("producer.", "producer"),
        ("consumer.", "consumer"),
        ("topic.configs.", "topic"),
        ("cluster.broker_properties.", "broker"),
        ("host.", "host"),
    ];
    if path == "cluster.jvm_flags" {
        return !b.jvm_flags.is_empty() && a.jvm_flags == b.jvm_flags;
    }
    let place = PLACES.iter().find_map(|(prefix, role)| Some((*role, path.strip_prefix(prefix)?)));
    let found = place.and_then(|(role, key)| {
        let (_, of) = ROLES.iter().find(|(name, _)| *name == role)?;
        Some((of(a), of(b), key))
    });
    let Some((a, b, key)) = found.filter(|(a, b, _)| !a.is_empty() && !b.is_empty()) else { return false };
    // A client tells a setting by its usual name, whichever it was given.
    let told = |of: &Properties| of.get(key).or_else(|| of.get(usual_name(key))).cloned();
    match (told(a), told(b)) {
        (Some(a), Some(b)) => a == b && !same_value(asked, &b),
        // A client tells a setting under another of its names, so only whether anything differs can be told.
        (None, None) => {
            let keys = a.keys().chain(b.keys()).filter(|key| !is_identity(key));
            keys.into_iter().all(|key| a.get(key) == b.get(key))
        }
        _ => false,
    }
}
