//! Data without a renderer of its own, as rows of name and value: host facts, client statistics. A field that the model
//! gains shows up here by itself.

use plumb_model::figure::{self, ABSENT, plain};
use serde_json::Value;

/// One leaf of a structure.
#[derive(Debug, PartialEq)]
pub(super) struct Leaf {
    /// Field names on the way to it, as words.
    pub(super) name: String,
    /// With its unit; [`ABSENT`] when there is none.
    pub(super) value: String,
    /// The place where the value was read, or the reason why it is absent; empty when neither is known.
    pub(super) source: String,
    pub(super) known: bool,
}

/// All leaves of a value, in order.
pub(super) fn leaves(value: &Value) -> Vec<Leaf> {
    let mut found = Vec::new();
    walk(value, &mut Vec::new(), "", &mut found);
    found
}

fn walk(value: &Value, path: &mut Vec<String>, source: &str, found: &mut Vec<Leaf>) {
    match value {
        Value::Object(fields) => match (fields.get("value"), fields.get("source"), fields.get("reason")) {
            (Some(value), Some(Value::String(source)), None) if fields.len() == 2 => {
                walk(value, path, source, found)
            }
            (None, None, Some(Value::String(reason))) if fields.len() == 1 => {
                found.push(Leaf {
                    name: name(path),
                    value: ABSENT.to_owned(),
                    source: reason.clone(),
                    known: false,
                });
            }
            _ => {
                for (key, value) in fields {
                    path.push(key.clone());
                    walk(value, path, source, found);
                    path.pop();
                }
            }
        },
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                walk(item, path, source, found);
                path.pop();
            }
        }
        _ => found.push(Leaf {
            name: name(path),
            value: written(value, path),
            source: source.to_owned(),
            known: !value.is_null(),
        }),
    }
}

/// Units that a field's name ends with and that the value then carries.
const UNITS: [&str; 3] = ["_ns", "_bytes", "_percent"];

fn name(path: &[String]) -> String {
    let named: Vec<String> = path
        .iter()
        .filter(|part| *part != "at")
        .map(|part| UNITS.iter().find_map(|unit| part.strip_suffix(unit)).unwrap_or(part).replace('_', " "))
        .collect();
    named.join(", ")
}

fn written(value: &Value, path: &[String]) -> String {
    let unit = path.iter().rev().find(|part| *part != "at").map_or("", String::as_str);
    match value {
        Value::Null => ABSENT.to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(|item| written(item, path)).collect::<Vec<_>>().join(", "),
        Value::Number(number) => match number.as_f64() {
            Some(ns) if unit.ends_with("_ns") => figure::time(ns),
            Some(bytes) if unit.ends_with("_bytes") => figure::binary_bytes(bytes),
            Some(percent) if unit.ends_with("_percent") => format!("{} %", plain(percent)),
            Some(value) => plain(value),
            None => number.to_string(),
        },
        Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn known_and_unknown_facts_become_rows_with_source_or_reason() {
        let facts = json!({
            "memory_total_bytes": {"value": 33_554_432_000_u64, "source": "/proc/meminfo"},
            "cpu_governors": {"reason": "no cpufreq"},
            "clock_sync": {"value": {"synchronised": true, "offset_ns": 41_000}, "source": "chronyc"},
            "cgroup_cpu_limit_cpus": {"value": {"at": 2.5}, "source": "cpu.max"},
            "numa_nodes": {"value": [{"node": 0}], "source": "/sys"},
            "queue_mean_ns": null
        });
        let row = |name: &str, value: &str, source: &str| Leaf {
            name: name.into(),
            value: value.into(),
            source: source.into(),
            known: value != ABSENT,
        };
        assert_eq!(
            leaves(&facts),
            [
                row("memory total", "31.2 GiB", "/proc/meminfo"),
                row("cpu governors", "-", "no cpufreq"),
                row("clock sync, synchronised", "yes", "chronyc"),
                row("clock sync, offset", "41.0 µs", "chronyc"),
                row("cgroup cpu limit cpus", "2.5", "cpu.max"),
                row("numa nodes, 0, node", "0", "/sys"),
                row("queue mean", "-", ""),
            ]
        );
    }
}
