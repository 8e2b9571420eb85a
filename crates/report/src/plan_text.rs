//! A plan as text, for `--dry-run`: every value beside where it came from.
//!
//! Values that all steps share stand once, under a heading of their own. The values are those that the plan serialises
//! to, so none can be forgotten here when the plan gains one.

use crate::paint::{Paint, Tone, printable};
use crate::text::TextStyle;
use plumb_model::figure::{count, counted};
use plumb_model::plan::{Origin, Plan};
use plumb_model::settings_search::{LeftOut, Preset, SearchDimension};
use plumb_model::start_setting::StartChange;
use plumb_model::trial::{ArmPlan, TrialPlan};
use serde_json::Value;
use std::collections::BTreeMap;

/// The origin that is shown for a value of which the plan does not tell it.
const UNKNOWN_ORIGIN: &str = "not recorded";

/// The whole plan.
pub fn render(plan: &Plan, style: TextStyle) -> String {
    let mut groups = vec![Group { heading: "run".to_owned(), entries: Vec::new() }];
    let Ok(Value::Object(fields)) = serde_json::to_value(plan) else { return String::new() };
    let mut steps = Vec::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("origins", _) => {}
            ("steps", Value::Array(found)) => steps = found,
            ("cluster", value) => {
                groups.push(Group {
                    heading: key.clone(),
                    entries: entries(&value, &["cluster".into()], plan),
                });
            }
            ("trial", value) => groups.extend(trial_group(value, plan)),
            ("settings_search", value) => groups.extend(search_groups(value, plan)),
            (_, value) => groups[0].entries.extend(entries(&value, &[key], plan)),
        }
    }
    groups.extend(step_groups(plan, &steps));
    let widths = Widths::of(&groups, style.width);
    let paint = Paint(style.color);
    let mut out = format!("{}\n", headline(plan));
    for group in groups.iter().filter(|group| !group.entries.is_empty()) {
        out += &format!("\n{}\n", paint.tone(&printable(&group.heading), Tone::Strong));
        for entry in &group.entries {
            out += &widths.line(entry, paint);
        }
    }
    out
}

/// One value of the plan.
#[derive(Clone, PartialEq)]
struct Entry {
    name: String,
    value: String,
    origin: String,
}

struct Group {
    heading: String,
    entries: Vec<Entry>,
}

fn headline(plan: &Plan) -> String {
    format!(
        "{}: {} in {}, {}",
        printable(&plan.name),
        counted(plan.steps.len(), "setup"),
        counted(plan.blocks as usize, "block"),
        messages(plan)
    )
}

/// The number of measured messages, as far as it is known before.
fn messages(plan: &Plan) -> String {
    let known: u64 = plan.steps.iter().filter_map(|step| step.load.messages()).sum();
    let unknown = plan.steps.iter().any(|step| step.load.messages().is_none());
    match (plan.goal, known) {
        (Some(_), _) => "as many messages as the search takes".to_owned(),
        (None, 0) if unknown => "as many messages as go through".to_owned(),
        (None, _) if unknown => format!("{} messages and as many as go through", count(known)),
        (None, _) => format!("{} messages", count(known)),
    }
}

/// The group of the comparison of arms; none of a plan that is no trial. The arms themselves are steps.
fn trial_group(value: Value, plan: &Plan) -> Option<Group> {
    let Value::Object(mut fields) = value else { return None };
    fields.remove("arms");
    fields.remove("again");
    let mut entries = entries(&Value::Object(fields), &["trial".into()], plan);
    entries.iter_mut().for_each(|entry| entry.name = entry.name.trim_start_matches("trial.").to_owned());
    entries.extend(plan.trial.iter().flat_map(arm_entries));
    Some(Group { heading: "trial".to_owned(), entries })
}

/// The groups of a search for settings: how it goes, each setting with its values, and what is tried first; none of a plan that is no search.
fn search_groups(value: Value, plan: &Plan) -> Vec<Group> {
    let (Value::Object(mut fields), Some(search)) = (value, &plan.settings_search) else { return Vec::new() };
    for list in ["dimensions", "presets", "left_out", "restart"] {
        fields.remove(list);
    }
    let mut own = entries(&Value::Object(fields), &["search".into()], plan);
    own.iter_mut().for_each(|entry| entry.name = entry.name.trim_start_matches("search.").to_owned());
    let entry = |name: &str, value: String, origin: &str| Entry {
        name: printable(name),
        value: printable(&value),
        origin: origin.to_owned(),
    };
    let dimension = |dimension: &SearchDimension| {
        let current = &dimension.values[dimension.current];
        let values = match dimension.values.as_slice() {
            [first, .., last] if dimension.is_ordered => {
                format!("{first} to {last} in {} levels", dimension.values.len())
            }
            values => values.join(", "),
        };
        let origin = if dimension.is_written { "as the first setup has it" } else { "default" };
        entry(&dimension.setting, format!("{current}; tried: {values}"), origin)
    };
    let preset = |preset: &Preset| {
        let settings = preset.settings.iter().map(|(setting, value)| format!("{setting} {value}"));
        entry(&preset.name, settings.collect::<Vec<_>>().join(", "), "")
    };
    let start =
        |change: &StartChange| entry(&change.setting, format!("{}; tried: {}", change.from, change.to), "");
    let left = |left: &LeftOut| entry(&left.what, left.reason.clone(), "");
    let group = |heading: &str, entries: Vec<Entry>| Group { heading: heading.to_owned(), entries };
    vec![
        group("search", own),
        group("settings that may change", search.dimensions.iter().map(dimension).collect()),
        group("tried first", search.presets.iter().map(preset).collect()),
        group("started with in the last trial", search.restart.iter().map(start).collect()),
        group("not searched", search.left_out.iter().map(left).collect()),
    ]
}

/// The differences from the reference that each arm asks for, so that one which asks for nothing is seen before it is measured.
fn arm_entries(trial: &TrialPlan) -> Vec<Entry> {
    let Some((reference, arms)) = trial.arms.split_first() else { return Vec::new() };
    let entry = |(at, arm): (usize, &ArmPlan)| {
        let twin = arms[..at].iter().find(|earlier| earlier.differences == arm.differences);
        let listed: Vec<String> =
            arm.differences.iter().map(|(path, value)| format!("{path}: {value}")).collect();
        let value = match twin {
            _ if listed.is_empty() => format!("nothing differs from {}", reference.name),
            Some(twin) => format!("the same as {}", twin.name),
            None => listed.join(", "),
        };
        let (name, origin) = (format!("arm {}", arm.name), format!("against {}", reference.name));
        Entry { name: printable(&name), value: printable(&value), origin: printable(&origin) }
    };
    arms.iter().enumerate().map(entry).collect()
}

/// The changes of an arm around its blocks, which no plain setup has.
fn around(step: usize, plan: &Plan) -> Vec<Entry> {
    let arms = plan.trial.iter().flat_map(|trial| &trial.arms);
    let Some(arm) = arms.into_iter().find(|arm| arm.step == step) else { return Vec::new() };
    let hooks = [("before", &arm.before), ("after", &arm.after)];
    let hooks = hooks.into_iter().filter_map(|(name, hook)| Some((name.to_owned(), hook.clone()?)));
    let host = arm.host.iter().map(|(name, value)| (format!("host.{name}"), value.clone()));
    let entry = |(name, value): (String, String)| {
        let path: Vec<String> = format!("steps.{step}.{name}").split('.').map(str::to_owned).collect();
        let origin = origin(&path, &Value::String(value.clone()), &plan.origins);
        Entry { name, value: printable(&value), origin }
    };
    hooks.chain(host).map(entry).collect()
}

/// First what all steps share, then what each has of its own.
fn step_groups(plan: &Plan, steps: &[Value]) -> Vec<Group> {
    let own: Vec<Vec<Entry>> = steps
        .iter()
        .enumerate()
        .map(|(index, step)| entries(step, &["steps".into(), index.to_string()], plan))
        // A step that has no brokers of its own is on those of the run, which stand above.
        .map(|own| {
            own.into_iter().filter(|entry| (entry.name.as_str(), entry.value.as_str()) != ("cluster", "none"))
        })
        .map(Iterator::collect)
        .collect();
    let shared: Vec<Entry> = match own.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => {
            first.iter().filter(|entry| rest.iter().all(|step| step.contains(entry))).cloned().collect()
        }
        _ => Vec::new(),
    };
    let mut groups = vec![Group { heading: format!("all {} steps", own.len()), entries: shared.clone() }];
    for (index, (entries, step)) in own.into_iter().zip(&plan.steps).enumerate() {
        let entries = entries.into_iter().filter(|entry| entry.name != "name" && !shared.contains(entry));
        groups.push(Group {
            heading: format!("step #{} {}", index + 1, step.name),
            entries: entries.chain(around(index, plan)).collect(),
        });
    }
    groups
}

/// The leaves under a value, each named by its path below `path`.
fn entries(value: &Value, path: &[String], plan: &Plan) -> Vec<Entry> {
    let below = match path {
        [top, _, ..] if top == "steps" => 2,
        [top] if top == "cluster" => 1,
        _ => 0,
    };
    let mut found = Vec::new();
    walk(value, &mut path.to_vec(), &mut |path, leaf| {
        found.push(Entry {
            name: path[below..].join("."),
            value: written(leaf),
            origin: origin(path, leaf, &plan.origins),
        });
    });
    found
}

fn walk(value: &Value, path: &mut Vec<String>, leaf: &mut impl FnMut(&[String], &Value)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                path.push(key.clone());
                walk(value, path, leaf);
                path.pop();
            }
        }
        _ => leaf(path, value),
    }
}

fn written(leaf: &Value) -> String {
    match leaf {
        Value::Null => "none".to_owned(),
        Value::String(text) if text.is_empty() => "none".to_owned(),
        Value::String(text) => printable(text),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(", "),
        Value::Object(_) => "none".to_owned(),
        Value::Number(number) => number
            .as_f64()
            .filter(|n| n.fract() == 0.0 && n.abs() < 1e15)
            .map_or_else(|| number.to_string(), |whole| (whole as i64).to_string()),
        other => printable(&other.to_string()),
    }
}

/// One of several: a directory with its name, a part with its fields, or a word.
fn item(value: &Value) -> String {
    match (&value["name"], &value["path"]) {
        (Value::String(name), Value::String(path)) => printable(&format!("{name}={path}")),
        _ => match value {
            Value::Object(fields) if !fields.is_empty() => {
                let field =
                    |(name, value): (&String, &Value)| format!("{}: {}", printable(name), item(value));
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
            _ => written(value),
        },
    }
}

/// The origin noted for a path, or for what it is a part of. The lab's settings are noted under `cluster.lab`, which
/// is where they are written. A value that is not there and has no origin was left at its default.
fn origin(path: &[String], leaf: &Value, origins: &BTreeMap<String, Origin>) -> String {
    let mut lab_path = path.to_vec();
    if path.first().is_some_and(|top| top == "cluster") {
        lab_path.insert(1, "lab".to_owned());
    }
    for end in (1..=path.len()).rev() {
        let found = origins
            .get(&path[..end].join("."))
            .or_else(|| lab_path.get(..=end).and_then(|lab| origins.get(&lab.join("."))));
        if let Some(origin) = found {
            return printable(&origin.to_string());
        }
    }
    if written(leaf) == "none" { "default".to_owned() } else { UNKNOWN_ORIGIN.to_owned() }
}

/// Widths of the columns, the same for all groups.
struct Widths {
    name: usize,
    value: usize,
}

impl Widths {
    /// A long value must not push all origins to the right: it takes what it needs on its own line only.
    fn of(groups: &[Group], width: usize) -> Self {
        let all = || groups.iter().flat_map(|group| &group.entries);
        let name = all().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
        let longest = width.saturating_sub(name + 4) / 2;
        let value =
            all().map(|entry| entry.value.chars().count()).filter(|n| *n <= longest).max().unwrap_or(0);
        Widths { name, value }
    }

    fn line(&self, entry: &Entry, paint: Paint) -> String {
        let (name, value) = (self.name, self.value);
        if entry.origin.is_empty() {
            return format!("  {:<name$}  {}\n", entry.name, entry.value);
        }
        let origin = paint.tone(&entry.origin, Tone::Dim);
        format!("  {:<name$}  {:<value$}  {origin}\n", entry.name, entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_of_parts_shows_what_each_part_is() {
        let steps = json!([{"rate_per_s": 200.0, "hold": "10s"}, {"rate_per_s": 800.0, "hold": "5s"}]);
        assert_eq!(written(&steps), "{rate_per_s: 200, hold: 10s}, {rate_per_s: 800, hold: 5s}");
        assert_eq!(written(&json!([{"name": "nvme", "path": "/mnt"}])), "nvme=/mnt");
        assert_eq!(written(&json!(["a", {}])), "a, none");
    }
}
