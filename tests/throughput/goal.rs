//! The highest rate that holds a goal.

use super::{sink, throughput};
use crate::program::Program;
use plumb_lab::sink::{ApiKey, Apis, Delay};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

#[test]
fn a_goal_that_a_delay_makes_impossible_holds_at_no_rate_and_a_search_that_was_stopped_goes_on() {
    let sink = sink();
    sink.control().delay_answers(Apis::one(ApiKey::Produce), Delay::Constant(Duration::from_millis(100)));
    let flags = "--driver librdkafka --size 100B --goal p90=20ms --duration 300ms --blocks 1";
    let mut running = throughput(&sink, flags).start();
    running.wait_for("the first try", |running| {
        let entries = std::fs::read_dir(running.path("run")).ok()?;
        let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.any(|name| name.ends_with(".state.json") && !name.starts_with('.')).then_some(())
    });
    running.signal(Signal::INT);
    let stopped = running.wait();
    let before = tries(&stopped.json());
    assert!(!before.is_empty());

    let run = stopped.path("run");
    let program = Program::new(["throughput".as_ref(), "--resume".as_ref(), run.as_os_str()]);
    let ended = program.args(["--output", "json"]).run();
    assert_eq!(ended.code(), Some(1), "no rate holds the goal: {}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["run"]["resumed"].as_array().unwrap().len(), 1);
    let search = &document["steps"][0]["search"];
    assert_eq!(search["bounded_by"], "nothing_holds", "{search:#}");
    assert_eq!(search["rate_low_per_s"], Value::Null);
    let tries = tries(&document);
    assert_eq!(tries[..before.len()], before);
    assert!(tries.iter().all(|tried| tried["outcome"] == "fails"), "{search:#}");
    assert!(tries.iter().all(|tried| tried["quantile_ns"].as_f64().unwrap() >= 100e6), "{search:#}");
    let findings = document["validity"]["reasons"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["id"] != "unfinished-run"), "{findings:#?}");
}

fn tries(document: &Value) -> Vec<Value> {
    document["steps"][0]["search"]["tries"].as_array().unwrap().clone()
}
