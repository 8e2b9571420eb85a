//! Tests of loads: rates and schedules, modes, lengths, bounds.

use super::super::{Sources, resolve};
use crate::plan::{Length, LoadPlan, Mode, Origin, Plan, Schedule};
use crate::scenario::Scenario;
use crate::units::Nanos;
use serde_json::{Value, json};

/// The plan of a load on a lab, as a scenario's file says it.
fn plan(load: &Value, more: &Value) -> Result<Plan, String> {
    let mut scenario = json!({ "cluster": "lab", "load": load });
    let keys = more.as_object().unwrap().clone();
    scenario.as_object_mut().unwrap().extend(keys);
    let scenario: Scenario = serde_json::from_value(scenario).unwrap();
    resolve(&scenario, &Sources::new()).map_err(|error| error.to_string())
}

fn load(load: &Value) -> LoadPlan {
    plan(load, &json!({})).unwrap().steps[0].load.clone()
}

/// A load that cannot be has all these parts in its refusal.
fn refused(load: Value, parts: &[&str]) {
    let refusal = plan(&load, &json!({})).map(|plan| plan.steps[0].load.clone()).unwrap_err();
    for part in parts {
        assert!(refusal.contains(part), "{load}: {part}: {refusal}");
    }
}

#[test]
fn a_load_has_a_rate_or_says_that_it_has_none() {
    refused(json!({}), &["load.rate is missing"]);
    refused(json!({"schedule": "poisson"}), &["load.rate is missing"]);
    assert_eq!(load(&json!({"rate": 50})).rate_per_s, Some(50.0));
    assert_eq!(load(&json!({"rate": "max"})).rate_per_s, None);
    assert_eq!(load(&json!({"schedule": "saturating"})).rate_per_s, None);
}

#[test]
fn without_a_rate_of_its_own_a_schedule_lays_out_the_loads_rate() {
    assert_eq!(load(&json!({"rate": 50})).schedule, Schedule::Constant);
    assert_eq!(load(&json!({"rate": 50, "schedule": "poisson"})).schedule, Schedule::Poisson);
    for load in [
        load(&json!({"rate": "max"})),
        load(&json!({"rate": "max", "schedule": "saturating"})),
        load(&json!({"schedule": "saturating"})),
        load(&json!({"mode": "consume"})),
        load(&json!({"mode": "consume", "rate": "max"})),
    ] {
        assert_eq!((load.rate_per_s, &load.schedule), (None, &Schedule::Saturating), "{load:?}");
    }
}

#[test]
fn a_schedule_with_rates_of_its_own_gives_the_load_its_mean() {
    let steps = json!({"steps": [{"rate": 100, "for": "3s"}, {"rate": 500, "for": "1s"}]});
    let plan = plan(&json!({"duration": "8s", "schedule": steps}), &json!({})).unwrap();
    assert_eq!(plan.steps[0].load.rate_per_s, Some(200.0));
    assert_eq!(
        plan.origins["steps.0.load.rate_per_s"],
        Origin::Derived { reason: "mean of load.schedule".into() }
    );
    let ramp = json!({"ramp": {"from": 100, "to": 500, "over": "30s"}});
    assert_eq!(load(&json!({"schedule": ramp})).rate_per_s, Some(300.0));
    refused(json!({"rate": 50, "schedule": ramp}), &["load.rate and load.schedule", "rates of their own"]);
    refused(json!({"rate": "max", "schedule": ramp}), &["load.rate and load.schedule", "max has none"]);
}

#[test]
fn a_rate_and_as_fast_as_possible_exclude_each_other() {
    refused(json!({"rate": 50, "schedule": "saturating"}), &["load.rate and load.schedule", "saturating"]);
    refused(json!({"rate": "max", "schedule": "poisson"}), &["load.rate and load.schedule"]);
    refused(json!({"rate": "max", "schedule": {"burst": {"messages": 5}}}), &["load.rate and load.schedule"]);
    refused(json!({"rate": 50, "mode": "consume"}), &["load.rate and load.mode", "as fast as they can"]);
    assert_eq!(load(&json!({"rate": 50, "mode": "produce"})).mode, Mode::Produce);
}

#[test]
fn consumers_are_there_in_every_mode_but_produce() {
    let consumers = |mode: &str| load(&json!({"rate": "max", "mode": mode})).consumers;
    assert_eq!([consumers("mixed"), consumers("produce"), consumers("consume")], [1, 0, 1]);
    let backlog = json!({"backlog": "1MB"});
    assert_eq!(load(&json!({"rate": 50, "mode": backlog})).consumers, 1);
    assert_eq!(load(&json!({"rate": 50, "consumers": 0})).consumers, 0, "as asked, in the mode of both");
    assert_eq!(load(&json!({"rate": 50, "mode": "produce", "consumers": 0})).consumers, 0);
    assert_eq!(load(&json!({"mode": "consume", "consumers": 3})).consumers, 3);
    let conflict = &["load.consumers and load.mode"];
    refused(json!({"rate": 50, "mode": "produce", "consumers": 1}), conflict);
    refused(json!({"mode": "consume", "consumers": 0}), conflict);
    refused(json!({"rate": 50, "mode": backlog, "consumers": 0}), conflict);
}

#[test]
fn a_load_ends_after_a_count_or_a_time_and_after_half_a_minute_where_nobody_says() {
    assert_eq!(load(&json!({"rate": 50, "count": 70})).length, Length::Count(70));
    assert_eq!(load(&json!({"rate": 50, "duration": "7s"})).length, Length::Duration(Nanos::from_secs(7)));
    let load = load(&json!({"rate": 50}));
    assert_eq!(load.length, Length::Duration(Nanos::from_secs(30)));
    assert_eq!((load.warm_up, load.drain), (Nanos::from_secs(2), Nanos::from_secs(10)));
    refused(json!({"rate": 50, "count": 70, "duration": "7s"}), &["load.count and load.duration"]);
}

#[test]
fn a_warm_up_until_the_device_writes_needs_somebody_who_writes() {
    refused(json!({"mode": "consume", "until_device": true}), &["load.until_device and load.mode"]);
    assert!(!load(&json!({"mode": "consume", "until_device": false})).until_device);
    assert!(load(&json!({"rate": 50, "until_device": true})).until_device);
}

#[test]
fn a_queue_is_watched_of_producers_at_a_constant_rate_alone() {
    assert!(load(&json!({"rate": 50, "purpose": "queue"})).shows_queue());
    assert!(load(&json!({"rate": 50, "purpose": "queue", "mode": "produce"})).shows_queue());
    let refused = |load, second: &str| refused(load, &["load.purpose", second]);
    refused(json!({"purpose": "queue", "mode": "consume"}), "load.mode");
    refused(json!({"rate": 50, "purpose": "queue", "mode": {"backlog": "1MB"}}), "load.mode");
    refused(json!({"rate": "max", "purpose": "queue"}), "load.rate");
    refused(json!({"rate": 50, "purpose": "queue", "schedule": "poisson"}), "load.schedule");
}

#[test]
fn a_search_for_a_goal_has_no_rate_of_its_own_and_watches_no_queue() {
    let goal = json!({"goal": "p99=20ms"});
    let searched = |load: Value| plan(&load, &goal).map(|plan| plan.steps[0].load.rate_per_s);
    assert_eq!(searched(json!({})), Ok(None));
    let refusal = searched(json!({"rate": 50})).unwrap_err();
    assert!(refusal.contains("load.rate and goal"), "{refusal}");
    let refusal = searched(json!({"purpose": "queue"})).unwrap_err();
    assert!(refusal.contains("load.purpose and goal"), "{refusal}");
}

#[test]
fn the_stamps_header_is_taken_and_ten_more_there_may_be() {
    let headers = |names: &[String]| {
        let headers: serde_json::Map<String, Value> =
            names.iter().map(|name| (name.clone(), "x".into())).collect();
        json!({"rate": 50, "headers": headers})
    };
    let ten: Vec<String> = (0..10).map(|n| format!("h{n}")).collect();
    assert_eq!(load(&headers(&ten)).headers.len(), 10);
    refused(headers(&[&ten[..], &["h10".to_owned()]].concat()), &["11 headers", "at most 10"]);
    refused(headers(&["plumb".to_owned()]), &["load.headers.plumb"]);
}

/// Loads and keys beside them at a bound, with the same beyond it, and the path that the refusal names.
#[test]
fn every_number_of_a_load_has_its_bounds() {
    let with = |key: &str, value: Value| {
        let mut load = json!({"rate": 50, "count": 1_000_000});
        load[key] = value;
        load
    };
    let mix = |weights: [u32; 2]| json!({"mix": weights.map(|weight| json!({"size": 10, "weight": weight}))});
    let sizes = |sizes: [u64; 2]| json!({"mix": sizes.map(|size| json!({"size": size, "weight": 1}))});
    let hold =
        |rate: f64, hold: &str| json!({"steps": [{"rate": 1, "for": "1s"}, {"rate": rate, "for": hold}]});
    let ramp = |from: f64, to: f64, over: &str| json!({"ramp": {"from": from, "to": to, "over": over}});
    let rows: [(&str, Value, Value); 24] = [
        ("rate", json!(1e7), json!(1.1e7)),
        ("rate", json!(0.01), json!(0.009)),
        ("warm_up", json!("3600s"), json!("3601s")),
        ("drain", json!("3600s"), json!("3601s")),
        ("producers", json!(1_000), json!(1_001)),
        ("producers", json!(1), json!(0)),
        ("consumers", json!(1_000), json!(1_001)),
        ("size", json!(100_000_000), json!(100_000_001)),
        ("size", json!(1), json!(0)),
        ("size", sizes([1, 2]), sizes([0, 2])),
        ("size", sizes([1, 100_000_000]), sizes([1, 100_000_001])),
        ("size", mix([0, 1]), mix([0, 0])),
        ("in_flight", json!(1), json!(0)),
        ("in_flight", json!(10_000_000), json!(10_000_001)),
        ("mode", json!({"backlog": "1B"}), json!({"backlog": "0B"})),
        ("keys", json!({"round_robin": {"count": 1}}), json!({"round_robin": {"count": 0}})),
        ("keys", json!({"uniform": {"count": 10_000_000}}), json!({"uniform": {"count": 10_000_001}})),
        (
            "keys",
            json!({"zipf": {"count": 9, "exponent": 10.0}}),
            json!({"zipf": {"count": 9, "exponent": 10.1}}),
        ),
        (
            "keys",
            json!({"zipf": {"count": 9, "exponent": 0.01}}),
            json!({"zipf": {"count": 0, "exponent": 1.0}}),
        ),
        ("payload", json!({"entropy": 1.0}), json!({"entropy": 1.01})),
        ("schedule", hold(1e7, "1s"), hold(1.1e7, "1s")),
        ("schedule", hold(1.0, "604800s"), hold(1.0, "604801s")),
        ("schedule", ramp(0.01, 50.0, "1s"), ramp(0.009, 50.0, "1s")),
        ("schedule", json!({"burst": {"messages": 1}}), json!({"burst": {"messages": 0}})),
    ];
    for (key, within, beyond) in rows {
        let rateless = |mut load: Value| {
            if ["steps", "ramp"].iter().any(|own| load["schedule"].get(own).is_some()) {
                load.as_object_mut().unwrap().remove("rate");
            }
            load
        };
        let plan = |value: &Value| plan(&rateless(with(key, value.clone())), &json!({"blocks": 1}));
        assert!(plan(&within).is_ok(), "{key} {within}: {:?}", plan(&within));
        let refusal = plan(&beyond).unwrap_err();
        assert!(refusal.contains(&format!("load.{key} is ")), "{key} {beyond}: {refusal}");
    }
}

#[test]
fn every_block_measures_at_least_one_message() {
    let plan = |count| plan(&json!({"rate": 50, "count": count}), &json!({"blocks": 5}));
    assert_eq!(plan(5).unwrap().blocks, 5);
    let refusal = plan(4).unwrap_err();
    assert!(refusal.contains("blocks is 5; it must be at most 4"), "{refusal}");
}

#[test]
fn the_mean_rate_of_a_schedule_is_that_of_a_block_and_its_messages_are_those_that_are_sent() {
    let ramp = json!({"duration": "12s", "schedule": {"ramp": {"from": 50, "to": 500, "over": "6s"}}});
    let load = load(&ramp);
    assert_eq!((load.rate_per_s, load.messages()), (Some(387.5), Some(4_650)));
    let steps = json!([{"rate": 200, "for": "10s"}, {"rate": 800, "for": "5s"}]);
    let steps = json!({"duration": "24s", "schedule": {"steps": steps}});
    let of_blocks = |blocks: u32| {
        let plan = plan(&steps, &json!({"blocks": blocks})).unwrap();
        (plan.steps[0].load.rate_per_s, plan.steps[0].load.messages())
    };
    // One block goes through all steps and begins again; of two, each has the first ten seconds and two of the next five.
    assert_eq!(of_blocks(1).1, Some(2_000 + 4_000 + 1_800));
    assert_eq!(of_blocks(2), (Some(300.0), Some(7_200)));
}

#[test]
fn lists_that_make_too_many_setups_are_refused_before_any_is_made() {
    let refusal = plan(&json!({"rate": 200, "producers": "1..1000", "consumers": "1..1000"}), &json!({}));
    let refusal = refusal.map(|plan| plan.steps.len()).unwrap_err();
    assert!(refusal.contains("1000000") && refusal.contains("at most 1000"), "{refusal}");
    let most = plan(&json!({"rate": 200, "producers": "1..25", "consumers": "1..40"}), &json!({})).unwrap();
    assert_eq!(most.steps.len(), 1_000);
}

#[test]
fn replicas_beyond_the_brokers_of_the_lab_are_refused() {
    let on = |brokers: u32| {
        let more = json!({"cluster": {"lab": {"brokers": brokers}}, "topic": {"replication": 3}});
        plan(&json!({"rate": 50}), &more).map(|plan| plan.steps.len())
    };
    let refusal = on(1).unwrap_err();
    assert!(refusal.contains("topic.replication is 3") && refusal.contains("at most 1"), "{refusal}");
    assert_eq!(on(3), Ok(1));
}

#[test]
fn acknowledgements_that_no_broker_takes_are_refused() {
    let with = |acks: &str| {
        plan(&json!({"rate": 50}), &json!({"setups": [{"producer": {"acks": acks}}]}))
            .map(|plan| plan.steps.len())
    };
    assert!(with("7").unwrap_err().contains("it must be 0, 1 or all"));
    for acks in ["0", "1", "-1", "all"] {
        assert_eq!(with(acks), Ok(1), "{acks}");
    }
}
