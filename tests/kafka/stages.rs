//! The stages of the mean time: the broker's append times, and its own request metrics.

use super::{assert_nothing_missing, document, run_scenario, steps};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::Program;
use serde_json::Value;

on_both_drivers!(
    append_times_of_the_broker_give_the_publish_stage,
    a_lab_of_the_run_gives_request_metrics_to_the_stages_and_is_gone_afterwards,
);

fn stage<'a>(step: &'a Value, name: &str) -> &'a Value {
    let stages = step["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["stage"] == name).unwrap_or_else(|| panic!("{name}: {stages:?}"))
}

/// The stages' means with what is left unexplained are the end-to-end mean.
fn assert_adds_up(step: &Value) {
    let stages = step["stages"].as_array().unwrap();
    let sum: f64 = stages.iter().filter_map(|stage| stage["mean_ns"].as_f64()).sum();
    let whole = step["latency"]["end_to_end"]["mean_ns"].as_f64().unwrap();
    assert!((sum - whole).abs() < 0.01 * whole, "{sum} of {whole}: {stages:?}");
}

fn append_times_of_the_broker_give_the_publish_stage(driver: Driver) {
    let ended = run_scenario(
        driver,
        "\
load: {rate: 300, count: 600, warm_up: 0s}
topic: {configs: {message.timestamp.type: LogAppendTime}}
",
    );
    let document = document(&ended);
    let step = &steps(&document)[0];
    assert_nothing_missing(step);
    let publish = stage(step, "publish");
    assert_eq!(publish["fidelity"], "probe", "{publish}");
    let figure = |name: &str| publish[name].as_f64().unwrap();
    assert!(figure("low_ns") <= figure("mean_ns") && figure("mean_ns") <= figure("high_ns"), "{publish}");
    assert_adds_up(step);
}

fn a_lab_of_the_run_gives_request_metrics_to_the_stages_and_is_gone_afterwards(driver: Driver) {
    let program = Program::new(["run", "s.yaml", "--output", "json", "--out", "run"]);
    let state = tempfile::tempdir().unwrap();
    let scenario = format!(
        "cluster: lab\ndriver: {driver}\nsettle: 1s\nload: {{rate: 300, count: 600, warm_up: 500ms}}\n"
    );
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let ended = program.env("XDG_STATE_HOME", state.path()).run();
    let document = document(&ended);
    let step = &steps(&document)[0];
    assert_nothing_missing(step);
    let request_times = &step["blocks"][0]["request_times"];
    assert!(request_times["produce"]["total"]["samples"].as_u64() > Some(0), "{request_times}");
    for threads in ["network_threads", "request_handlers"] {
        let share = request_times[threads]["share"].as_f64();
        assert!(share.is_some_and(|share| share > 0.0 && share <= 1.0), "{request_times}");
    }
    for name in ["publish", "fetch"] {
        // The brokers' metrics count whole milliseconds: a figure or, where that is too coarse, its bounds.
        let stage = stage(step, name);
        // The wire driver's own times are closer to each message.
        let own = driver == "wire" && name == "publish";
        let source = if own { "the driver's own times" } else { "brokers' " };
        assert!(stage["source"].as_str().unwrap().contains(source), "{stage}");
        let (low, high) = (stage["low_ns"].as_f64().unwrap(), stage["high_ns"].as_f64().unwrap());
        assert!(low < high, "{stage}");
    }
    assert_adds_up(step);
    assert!(step["instrument"]["broker_cpu_s"].as_f64().unwrap() > 0.0);
    assert_eq!(document["environment"]["cluster"]["on_this_host"], true);
    let labs: Vec<_> =
        std::fs::read_dir(state.path().join("plumb/lab")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(labs.iter().all(|path| !path.is_dir()), "{labs:?}");
}
