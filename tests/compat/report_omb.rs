//! A run as a result file of the Open Messaging Benchmark.

use super::{TOPIC, carried_out, refused, sink};
use crate::program::Program;
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys of the benchmark's result, beside those that each latency has.
const SCALARS: [&str; 7] =
    ["workload", "driver", "messageSize", "topics", "partitions", "producersPerTopic", "consumersPerTopic"];
const RATES: [&str; 4] = ["publishRate", "publishErrorRate", "consumeRate", "backlog"];
const FIGURES: [&str; 8] = ["Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max"];

fn keys() -> BTreeSet<String> {
    let mut keys: BTreeSet<String> = SCALARS.iter().chain(&RATES).map(|key| (*key).to_owned()).collect();
    keys.extend(["sampleRateMillis".to_owned(), "plumb".to_owned()]);
    for (one, whole) in [
        ("publishLatency", "aggregatedPublishLatency"),
        ("publishDelayLatency", "aggregatedPublishDelayLatency"),
        ("endToEndLatency", "aggregatedEndToEndLatency"),
    ] {
        keys.extend(FIGURES.iter().flat_map(|figure| [format!("{one}{figure}"), format!("{whole}{figure}")]));
        keys.insert(format!("{whole}Quantiles"));
    }
    keys
}

/// A run of a second against a sink broker, and the result file made of it.
fn run(flags: &[&str]) -> (Value, Value) {
    let sink = sink();
    let bootstrap = sink.bootstrap();
    let ran = Program::new(flags)
        .args(["--bootstrap", &bootstrap, "--topic", TOPIC, "--size", "100B", "--warm-up", "0s"])
        .args(["--output", "json", "--out", "run"])
        .run();
    carried_out(&ran);
    let shown =
        Program::new(["report".as_ref(), ran.path("run").as_os_str()]).args(["--output", "omb"]).run();
    carried_out(&shown);
    (ran.json(), shown.json())
}

#[test]
fn the_result_has_exactly_the_benchmarks_keys_in_its_units() {
    let (document, result) = run(&["latency", "--rate", "1000", "--count", "2000"]);
    let found: BTreeSet<String> = result.as_object().unwrap().keys().cloned().collect();
    assert_eq!(found, keys());
    let step = &document["steps"][0];
    let figure = |latency: &str, name: &str| step["latency"][latency][name].as_f64().unwrap();
    let close = |key: &str, expected: f64| {
        let got = result[key].as_f64().unwrap();
        assert!((got - expected).abs() <= expected.abs() * 1e-9, "{key}: {got}, {expected}");
    };
    close("aggregatedPublishLatencyAvg", figure("acknowledge_service", "mean_ns") / 1e6);
    close("aggregatedPublishLatency99pct", figure("acknowledge_service", "p99_ns") / 1e6);
    close("aggregatedEndToEndLatencyMax", figure("end_to_end_service", "max_ns") / 1e6);
    close("aggregatedPublishDelayLatency50pct", step["slip"]["p50_ns"].as_f64().unwrap() / 1e3);
    assert_eq!(result["aggregatedPublishLatency9999pct"], Value::Null, "2,000 messages tell no p99.99");
    // The quantiles are a map from a percentage as text, as a chart script takes it apart.
    let quantiles = result["aggregatedPublishLatencyQuantiles"].as_object().unwrap();
    assert!(quantiles.keys().all(|key| key.parse::<f64>().is_ok_and(|percent| percent <= 100.0)));
    assert!(quantiles.contains_key("50.0"), "{quantiles:?}");
    // What a chart of latencies and rates needs, window by window.
    for key in
        ["publishLatency99pct", "endToEndLatency95pct", "endToEndLatencyAvg", "publishRate", "consumeRate"]
    {
        let values = result[key].as_array().unwrap();
        assert!(!values.is_empty() && values.iter().all(Value::is_number), "{key}: {values:?}");
    }
    assert_eq!(result["plumb"]["run_id"], document["run"]["id"]);
    let mean = step["latency"]["end_to_end"]["mean_ns"].as_f64().unwrap() / 1e6;
    assert!(
        (result["plumb"]["from_intended_send_ms"]["end_to_end"]["mean"].as_f64().unwrap() - mean).abs()
            < 1e-9
    );
}

#[test]
fn a_run_as_fast_as_possible_has_the_time_in_its_own_queue_and_says_so() {
    let (_, result) = run(&["throughput", "--mode", "produce", "--count", "2000"]);
    for key in ["publishDelayLatencyAvg", "endToEndLatency95pct"] {
        assert_eq!(result[key], Value::Array(Vec::new()), "{key}");
    }
    assert!(result["aggregatedPublishLatencyAvg"].as_f64().unwrap() > 0.0);
    assert!(result["plumb"]["notes"].to_string().contains("as fast as possible"));
}

#[test]
fn files_are_named_as_the_benchmark_names_them_one_for_each_step() {
    let sink = sink();
    let bootstrap = sink.bootstrap();
    let scenario = "name: orders\ntopic: {name: events}\nblocks: 1\nload: {rate: 500, count: 200, warm_up: 0s}\n\
                    setups: [{name: Kafka}, {name: Other}]\n";
    let program = Program::new(["run", "s.yaml", "--bootstrap", &bootstrap, "--out", "run"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let ran = program.run();
    carried_out(&ran);
    let report = |more: &[&str]| Program::new(["report".as_ref(), ran.path("run").as_os_str()]).args(more);
    let ended = report(&["--output", "omb", "--out", "results"]).run();
    carried_out(&ended);
    let mut names: Vec<String> = std::fs::read_dir(ended.path("results"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let digits = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "0");
    let expected = ["orders-Kafka-0000-00-00-00-00-00.json", "orders-Other-0000-00-00-00-00-00.json"];
    assert_eq!(names.iter().map(|name| digits(name)).collect::<Vec<_>>(), expected);
    assert!(refused(report(&["--output", "omb"])).contains("--out DIR"), "two steps are no one file");
    assert!(refused(report(&["--output", "csv", "--out", "x"])).contains("--output omb"));
}
