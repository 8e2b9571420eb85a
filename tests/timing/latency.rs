//! The everyday measurement: figures that add up, and the reason for them.

use crate::drivers::{Driver, on_both_drivers};
use crate::kafka::{Broker, assert_nothing_missing, document, lab, run_scenario, steps};
use crate::program::Program;
use serde_json::Value;

on_both_drivers!(
    messages_of_a_plain_run_are_all_there_and_its_topic_and_group_are_gone,
    the_five_milliseconds_between_the_default_and_the_low_latency_profile_are_laid_to_linger,
);

fn messages_of_a_plain_run_are_all_there_and_its_topic_and_group_are_gone(driver: Driver) {
    let bootstrap = lab().plaintext_bootstrap();
    let arguments = [
        "latency",
        "--rate",
        "400",
        "--count",
        "1000",
        "--warm-up",
        "500ms",
        "--output",
        "json",
        "--out",
        "run",
    ];
    let ended = Program::new(arguments).args(["--driver", driver, "--bootstrap", &bootstrap]).run();
    let document = document(&ended);
    let step = &steps(&document)[0];
    assert_nothing_missing(step);
    assert_eq!(step["counts"]["intended"], 1_000);

    let latency = &step["latency"]["end_to_end"];
    assert!(
        latency["p99_ns"].is_u64() && latency["p999_ns"].is_null(),
        "1,000 samples allow p99 and not p99.9"
    );
    assert!(step["latency"]["acknowledge"]["p50_ns"].as_u64() < latency["p50_ns"].as_u64());

    let id = document["run"]["id"].as_str().unwrap();
    assert!(step["effective"]["topic_name"].as_str().unwrap().contains(id), "{step}");
    assert_eq!(Broker::at(&bootstrap).left_of_run(id), Vec::<String>::new());
    for file in ["run.json", "report.html", "01-as-asked.end_to_end.hlog"] {
        assert!(ended.path("run").join(file).exists(), "{file}");
    }
}

fn the_five_milliseconds_between_the_default_and_the_low_latency_profile_are_laid_to_linger(driver: Driver) {
    // Other programs may spoil a run on a busy machine; not each of three.
    let mut spoilt = Vec::new();
    while let Err(reason) = explained_by_linger(&two_profiles(driver)) {
        spoilt.push(reason);
        assert!(spoilt.len() < 3, "{spoilt:#?}");
    }
}

/// Checks that the profiles differ by linger's five milliseconds and that the document says so.
fn explained_by_linger(document: &Value) -> Result<(), String> {
    let p50_ms =
        |step: usize| steps(document)[step]["latency"]["end_to_end"]["p50_ns"].as_f64().unwrap() / 1e6;
    let difference_ms = p50_ms(1) - p50_ms(0);
    let findings = document["findings"].as_array().unwrap();
    let find = |id: &str| findings.iter().find(|finding| finding["id"] == id);
    let bound = find("linger-bound").is_some_and(|finding| finding["step"] == "default");
    let explanation = find("linger-explains-difference").and_then(|finding| finding["claim"].as_str());
    let explained = explanation.is_some_and(|claim| claim.contains("come from linger.ms (5 against 0)"));
    let summarised = document["summary"].to_string().contains("linger");
    if (4.0..6.5).contains(&difference_ms) && bound && explained && summarised {
        return Ok(());
    }
    Err(format!("{difference_ms} ms apart; {}; {}", document["summary"], document["findings"]))
}

/// The document of the low-latency and the default profile, side by side.
fn two_profiles(driver: Driver) -> Value {
    let ended = run_scenario(
        driver,
        "\
load: {rate: 100, size: 1KiB, count: 300, warm_up: 500ms}
blocks: 3
settle: 2s
setups:
  - name: low latency
    producer: {linger.ms: 0, socket.nagle.disable: true}
    consumer: {fetch.wait.max.ms: 10, socket.nagle.disable: true}
  - name: default
",
    );
    let document = document(&ended);
    steps(&document).iter().for_each(assert_nothing_missing);
    document
}
