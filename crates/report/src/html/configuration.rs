//! Effective configuration: first what differs between setups, then everything.

use super::grid::Grid;
use crate::figures::Pick;
use plumb_model::document::StepResult;
use plumb_model::figure::ABSENT;
use plumb_model::plan::Properties;
use plumb_model::property::readable;
use std::collections::BTreeSet;

/// The settings as read back.
pub(super) struct Configuration {
    /// Settings whose value is not the same in all setups.
    pub(super) differences: Grid,
    /// All settings of each role, those that differ with every value.
    pub(super) full: Vec<Grid>,
    /// Setup number and what guarantee its writes had.
    pub(super) durability: Grid,
}

/// Settings that name a client or a group: they differ by design, so they are in the full list alone.
const IDENTITY: [&str; 4] = ["client.id", "group.id", "group.instance.id", "transactional.id"];

/// None without steps.
pub(super) fn view(steps: &[StepResult]) -> Option<Configuration> {
    if steps.is_empty() {
        return None;
    }
    let roles: [(&str, Pick<Properties>); 4] = [
        ("producer", |step| &step.effective.producer),
        ("consumer", |step| &step.effective.consumer),
        ("topic", |step| &step.effective.topic),
        ("broker", |step| &step.effective.broker),
    ];
    let mut differences = Vec::new();
    let mut full = Vec::new();
    for (role, of) in roles {
        let keys: BTreeSet<&String> = steps.iter().flat_map(|step| of(step).keys()).collect();
        let mut rows = Vec::new();
        for key in keys {
            let values: Vec<Option<&String>> = steps.iter().map(|step| of(step).get(key)).collect();
            let same = values.iter().all(|value| *value == values[0]);
            rows.push(vec![key.clone(), if same { shown(key, values[0]) } else { each(key, &values) }]);
            if !same && !IDENTITY.contains(&key.as_str()) {
                let cells = values.into_iter().map(|value| shown(key, value));
                differences.push([format!("{role} {key}")].into_iter().chain(cells).collect());
            }
        }
        if !rows.is_empty() {
            full.push(grid(
                &format!("{role}, {} settings", rows.len()),
                ["setting", "value"].map(str::to_owned).into(),
                rows,
            ));
        }
    }
    let mut heads = vec!["setting".to_owned()];
    heads.extend((1..=steps.len()).map(|number| format!("#{number}")));
    Some(Configuration {
        differences: grid("Settings that differ between setups", heads, differences),
        full,
        durability: durability(steps),
    })
}

fn grid(caption: &str, heads: Vec<String>, rows: Vec<Vec<String>>) -> Grid {
    Grid { caption: caption.to_owned(), heads, rows, notes: Vec::new(), numeric: false }
}

fn shown(name: &str, value: Option<&String>) -> String {
    match value.map(|value| readable(name, value)) {
        None => ABSENT.to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(value) => value.to_owned(),
    }
}

fn each(name: &str, values: &[Option<&String>]) -> String {
    let numbered =
        values.iter().enumerate().map(|(index, value)| format!("#{}: {}", index + 1, shown(name, *value)));
    numbered.collect::<Vec<_>>().join(", ")
}

fn durability(steps: &[StepResult]) -> Grid {
    let heads = ["setup", "acks", "replication", "min in-sync", "flush.messages", "flush.ms", "idempotence"];
    let number = |value: Option<u32>| value.map_or_else(|| ABSENT.to_owned(), |n| n.to_string());
    let rows = steps.iter().enumerate().map(|(index, step)| {
        let durability = &step.durability;
        vec![
            format!("#{}", index + 1),
            shown("acks", durability.acks.as_ref()),
            number(durability.replication),
            number(durability.min_insync_replicas),
            shown("flush.messages", durability.flush_messages.as_ref()),
            shown("flush.ms", durability.flush_ms.as_ref()),
            durability.idempotence.map_or(ABSENT, |on| if on { "yes" } else { "no" }).to_owned(),
        ]
    });
    grid("What guaranteed a write", heads.map(str::to_owned).into(), rows.collect())
}
