//! A load and a topic as a scenario would have them: each setting by its key, its value as JSON, which is YAML too.
//!
//! For the scenario that repeats what a run did, and to name what two loads differ in. Not a load's length: a trial writes the
//! length of a block, a run that of all blocks.

use crate::plan::{LoadPlan, SizePlan, TopicPlan};
use crate::trial::NOT_SET;
use serde::Serialize;
use serde_json::{Value, json};

/// Settings by key, in the order in which they are best read.
pub type ScenarioSettings = Vec<(&'static str, String)>;

/// The scenario words of a load beyond its length: all that is not its default.
pub fn load_settings(load: &LoadPlan) -> ScenarioSettings {
    let all = every_setting(load).into_iter();
    all.filter(|(key, value)| !is_default(key, value)).map(|(key, value)| (key, value.to_string())).collect()
}

/// Settings in which two loads differ but for their length: key, the one's value, the other's.
pub fn load_differences(a: &LoadPlan, b: &LoadPlan) -> Vec<(&'static str, [String; 2])> {
    let shown = |value: Value| match value {
        Value::String(text) => text,
        Value::Null => NOT_SET.to_owned(),
        value => value.to_string(),
    };
    let both = every_setting(a).into_iter().zip(every_setting(b)).filter(|((_, a), (_, b))| a != b);
    both.map(|((key, a), (_, b))| (key, [a, b].map(shown))).collect()
}

/// The scenario words of a topic.
pub fn topic_settings(topic: &TopicPlan) -> ScenarioSettings {
    match topic {
        TopicPlan::Existing { name } => vec![("name", as_json(name).to_string())],
        TopicPlan::Own { partitions, replication, configs, log_dir } => {
            let mut written = vec![
                ("partitions", partitions.to_string()),
                ("replication", replication.to_string()),
                ("configs", as_json(configs).to_string()),
            ];
            written.extend(log_dir.as_ref().map(|name| ("log_dir", as_json(name).to_string())));
            written
        }
    }
}

/// Every setting of a load but its length.
fn every_setting(load: &LoadPlan) -> Vec<(&'static str, Value)> {
    // All fields by name, so that none can be forgotten here when the plan gains one.
    let LoadPlan {
        purpose,
        rate_per_s,
        mode,
        schedule,
        length: _,
        warm_up,
        drain,
        producers,
        consumers,
        workers,
        size,
        keys,
        headers,
        payload,
        in_flight,
        until_device,
    } = load;
    // Steps and ramps have rates of their own.
    let rate = rate_per_s.filter(|_| !schedule.has_own_rate());
    let size = match size {
        SizePlan::Fixed(size) => as_json(size),
        SizePlan::Mix(mix) => json!({ "mix": mix }),
    };
    vec![
        ("purpose", as_json(purpose)),
        ("mode", as_json(mode)),
        ("rate", as_json(&rate)),
        ("schedule", as_json(schedule)),
        ("warm_up", as_json(warm_up)),
        ("drain", as_json(drain)),
        ("producers", as_json(producers)),
        ("consumers", as_json(consumers)),
        ("workers", as_json(workers)),
        ("size", size),
        ("keys", as_json(keys)),
        ("headers", as_json(headers)),
        ("payload", as_json(payload)),
        ("in_flight", as_json(in_flight)),
        ("until_device", as_json(until_device)),
    ]
}

/// True if a scenario that is silent about a key means this value. Those that are not here are always written.
fn is_default(key: &str, value: &Value) -> bool {
    match key {
        "purpose" => *value == json!("path"),
        "mode" => *value == json!("mixed"),
        "schedule" => *value == json!("constant"),
        "keys" => *value == json!("none"),
        "headers" => *value == json!({}),
        "payload" => *value == json!({ "entropy": 1.0 }),
        "until_device" => *value == json!(false),
        "workers" => *value == json!(0),
        "rate" | "in_flight" => value.is_null(),
        _ => false,
    }
}

/// Plans are plain data that JSON has a form for; a number that is none becomes null.
fn as_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Keys, Length, Mode, Payload, Purpose, RateStep, Schedule, WeightedSize};
    use crate::resolve::{Sources, resolve};
    use crate::scenario::Scenario;
    use crate::units::{Bytes, Nanos};

    fn plain() -> LoadPlan {
        LoadPlan {
            rate_per_s: Some(200.0),
            mode: Mode::Mixed,
            schedule: Schedule::Constant,
            length: Length::Duration(Nanos::from_secs(3)),
            warm_up: Nanos::from_secs(2),
            drain: Nanos::from_secs(10),
            producers: 1,
            consumers: 1,
            workers: 0,
            size: SizePlan::Fixed(Bytes(1024)),
            keys: Keys::None,
            headers: [].into(),
            payload: Payload::Entropy(1.0),
            in_flight: None,
            until_device: false,
            purpose: Purpose::default(),
        }
    }

    /// Loads of which each has something that the plain one has not.
    fn loads() -> Vec<LoadPlan> {
        let mix = [(100, 3), (5_000, 1)].map(|(size, weight)| WeightedSize { size: Bytes(size), weight });
        let saturating = LoadPlan { rate_per_s: None, schedule: Schedule::Saturating, ..plain() };
        let steps = vec![RateStep { rate_per_s: 50.0, hold: Nanos::from_secs(2) }];
        let ramp = Schedule::Ramp { from_per_s: 10.0, to_per_s: 30.0, over: Nanos::from_secs(4) };
        vec![
            LoadPlan { rate_per_s: Some(0.5), ..plain() },
            LoadPlan { schedule: Schedule::Poisson, ..plain() },
            LoadPlan { schedule: Schedule::Burst { messages: 10 }, ..plain() },
            LoadPlan { rate_per_s: Some(50.0), schedule: Schedule::Steps(steps), ..plain() },
            LoadPlan { rate_per_s: Some(17.5), schedule: ramp, ..plain() },
            LoadPlan { mode: Mode::Produce, consumers: 0, ..saturating.clone() },
            LoadPlan { mode: Mode::Consume, ..saturating.clone() },
            LoadPlan { mode: Mode::Backlog(Bytes(10_000_000)), ..plain() },
            saturating,
            LoadPlan { warm_up: Nanos(1_500_000), ..plain() },
            LoadPlan { drain: Nanos::from_secs(3), ..plain() },
            LoadPlan { producers: 4, ..plain() },
            LoadPlan { consumers: 3, ..plain() },
            LoadPlan { workers: 2, ..plain() },
            LoadPlan { size: SizePlan::Mix(mix.to_vec()), ..plain() },
            LoadPlan { keys: Keys::Zipf { count: 9, exponent: 1.1 }, ..plain() },
            LoadPlan { headers: [("a".to_owned(), "x: {\"y\"}".to_owned())].into(), ..plain() },
            LoadPlan { payload: Payload::Entropy(0.0), ..plain() },
            LoadPlan { payload: Payload::File("a file.bin".to_owned()), ..plain() },
            LoadPlan { in_flight: Some(5), ..plain() },
            LoadPlan { until_device: true, ..plain() },
            LoadPlan { purpose: Purpose::Queue, ..plain() },
        ]
    }

    #[test]
    fn every_load_that_is_written_is_read_as_the_same() {
        for plan in loads().iter().chain([&plain()]) {
            let keys: Vec<String> =
                load_settings(plan).iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
            let text = format!(
                "{{\"cluster\": \"lab\", \"blocks\": 1, \"load\": {{\"duration\": \"3s\", {}}}}}",
                keys.join(", ")
            );
            let scenario: Scenario =
                serde_json::from_str(&text).unwrap_or_else(|why| panic!("{text}: {why}"));
            let read = resolve(&scenario, &Sources::new()).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(&read.steps[0].load, plan, "{text}");
        }
    }

    #[test]
    fn whatever_two_loads_differ_in_is_named_but_for_the_length() {
        for plan in loads() {
            assert!(!plain().same_but_length(&plan));
            assert!(!load_differences(&plain(), &plan).is_empty(), "{plan:?}");
        }
        let longer = LoadPlan { length: Length::Count(7), ..plain() };
        assert!(plain().same_but_length(&longer) && load_differences(&plain(), &longer).is_empty());
        let other = LoadPlan { payload: Payload::Entropy(0.0), producers: 4, ..plain() };
        let found: Vec<String> = load_differences(&plain(), &other)
            .into_iter()
            .map(|(key, [a, b])| format!("{key}: {a} / {b}"))
            .collect();
        assert_eq!(found, ["producers: 1 / 4", "payload: {\"entropy\":1.0} / {\"entropy\":0.0}"]);
    }
}
