//! The highest rate that holds a goal.

use super::{sink, throughput};
use plumb_lab::sink::{ApiKey, Apis, Delay};
use std::time::Duration;

#[test]
fn a_goal_that_a_delay_makes_impossible_is_said_to_hold_at_no_rate() {
    let sink = sink();
    sink.control().delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(Duration::from_millis(100)));
    let flags = "--driver librdkafka --size 100B --goal p90=20ms --duration 300ms --blocks 1";
    let ended = throughput(&sink, flags).run();
    let document = ended.json();
    let search = &document["steps"][0]["search"];
    assert_eq!(search["bounded_by"], "nothing_holds", "{search:#}");
    assert_eq!(search["rate_low_per_s"], serde_json::Value::Null);
    let trials = search["trials"].as_array().unwrap();
    assert!(trials.iter().all(|trial| trial["verdict"] == "fails"), "{search:#}");
    assert!(trials.iter().all(|trial| trial["quantile_ns"].as_f64().unwrap() >= 100e6), "{search:#}");
}
