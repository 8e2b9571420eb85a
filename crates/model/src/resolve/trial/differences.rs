//! The differences of an arm from the reference, as asked for: each value by its path.

use crate::plan::{ClusterPlan, StepPlan};
use crate::property::{same_value, usual_name};
use crate::scenario::ArmWords;
use crate::trial::NOT_SET;
use serde_json::Value;
use std::collections::BTreeMap;

/// An arm: its step, and the words of the scenario that are no part of a step.
#[derive(Clone, Copy)]
pub(super) struct Arm<'a> {
    pub(super) step: &'a StepPlan,
    pub(super) words: &'a ArmWords,
}

/// The differences of an arm from the reference.
pub(super) fn between(reference: Arm<'_>, arm: Arm<'_>, cluster: &ClusterPlan) -> BTreeMap<String, String> {
    let (before, now) = (values(reference, cluster), values(arm, cluster));
    let same = |(path, value): (&String, &String)| {
        let same = |before: &str| if is_property(path) { same_value(before, value) } else { before == value };
        before.iter().any(|(other, before)| usual(other) == usual(path) && same(before))
    };
    let changed = now.iter().filter(|setting| !same(*setting));
    let mut differences: BTreeMap<String, String> =
        changed.map(|(path, value)| (path.clone(), value.clone())).collect();
    let dropped = before.keys().filter(|path| !now.keys().any(|other| usual(other) == usual(path)));
    differences.extend(dropped.map(|path| (path.clone(), NOT_SET.to_owned())));
    differences
}

/// True if its values are words of clients, brokers or the kernel, which may be written in several ways.
fn is_property(path: &str) -> bool {
    ["producer.", "consumer.", "topic.configs.", "cluster.broker_properties.", "host."]
        .iter()
        .any(|of| path.starts_with(of))
}

/// The path by which a setting is found whatever it is called.
fn usual(path: &str) -> String {
    match path.split_once('.') {
        Some((role @ ("producer" | "consumer"), name)) => format!("{role}.{}", usual_name(name)),
        _ => path.to_owned(),
    }
}

/// Every value of an arm that is not empty, by its path.
fn values(Arm { step, words }: Arm<'_>, cluster: &ClusterPlan) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    // The whole of a plan's part, so that none can be forgotten here when the plan gains one.
    let StepPlan { name: _, driver: _, external: _, topic, load, producer, consumer, cluster: own } = step;
    let parts = [
        ("driver", serde_json::to_value(step.driver_name())),
        ("topic", serde_json::to_value(topic)),
        ("load", serde_json::to_value(load)),
        ("producer", serde_json::to_value(producer)),
        ("consumer", serde_json::to_value(consumer)),
        ("cluster", serde_json::to_value(own.as_ref().unwrap_or(cluster))),
    ];
    for (path, part) in parts {
        note(path, &part.unwrap_or(Value::Null), &mut values);
    }
    let hooks = [("before", &words.before), ("after", &words.after)];
    values.extend(hooks.into_iter().filter_map(|(path, hook)| Some((path.to_owned(), hook.clone()?))));
    values.extend(words.host.iter().map(|(setting, value)| (format!("host.{setting}"), value.0.clone())));
    values
}

fn note(path: &str, value: &Value, values: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                note(&format!("{path}.{key}"), value, values);
            }
        }
        Value::Array(items) => {
            let words: Vec<String> = items.iter().map(leaf).collect();
            if !words.is_empty() {
                values.insert(path.to_owned(), words.join(" "));
            }
        }
        value => {
            values.insert(path.to_owned(), leaf(value));
        }
    }
}

fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
