//! The benchmark's result: seconds put together to its windows, and nothing made up where they are not known.

#![allow(missing_docs)]

#[allow(dead_code)]
mod sample;

use plumb_model::document::RunDocument;
use plumb_model::observation::{SecondLatency, SecondRow};
use plumb_model::plan::Length;
use plumb_model::units::Nanos;
use plumb_report::omb::{SecondHistograms, file_name, render};
use plumb_stats::histogram::Histogram;
use serde_json::{Value, json};

/// One block of 25 seconds behind 2 of warm-up; each second, 200 are acknowledged and 190 received, after as many
/// milliseconds as the second's number.
fn document() -> (RunDocument, Vec<Option<Histogram>>) {
    let mut document = sample::full();
    document.plan.blocks = 1;
    let load = &mut document.plan.steps[0].load;
    (load.warm_up, load.length) = (Nanos::from_secs(2), Length::Duration(Nanos::from_secs(25)));
    let step = &mut document.steps[0];
    step.blocks.truncate(1);
    let row = |second: u32| SecondRow {
        second,
        warm_up: second < 2,
        acked: 200,
        received: 190,
        acknowledge: SecondLatency { samples: 200, ..SecondLatency::default() },
        ..SecondRow::default()
    };
    step.series = (0..27).map(row).collect();
    let histogram = |second: u32| {
        let mut histogram = Histogram::new();
        (0..200).for_each(|_| histogram.record_ns(i64::from(second) * 1_000_000));
        (second >= 2).then_some(histogram)
    };
    let histograms = (0..27).map(histogram).collect();
    (document, histograms)
}

fn result(document: &RunDocument, histograms: &[Option<Histogram>]) -> Value {
    let seconds = SecondHistograms { acknowledge_service: histograms, ..SecondHistograms::default() };
    let text =
        render(document, 0, seconds).expect("any document can be rendered").expect("there is a first step");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn a_window_is_ten_whole_seconds_and_its_quantiles_are_of_all_their_messages() {
    let (document, histograms) = document();
    let result = result(&document, &histograms);
    assert_eq!(result["publishRate"], json!([200.0, 200.0]), "five seconds are no window");
    assert_eq!(result["consumeRate"], json!([190.0, 190.0]));
    assert_eq!(result["backlog"], json!([100, 200]));
    let milliseconds = |key: &str| -> Vec<f64> {
        let values = result[key].as_array().unwrap();
        values.iter().map(|value| (value.as_f64().unwrap() * 10.0).round() / 10.0).collect()
    };
    assert_eq!(milliseconds("publishLatencyAvg"), [6.5, 16.5]);
    assert_eq!(milliseconds("publishLatency50pct"), [6.0, 16.0]);
    assert_eq!(milliseconds("publishLatencyMax"), [11.0, 21.0]);
    assert_eq!(result["publishLatency999pct"], json!([null, null]), "2,000 messages tell no p99.9");
}

#[test]
fn what_ran_to_its_end_has_the_windows_in_which_little_was_due_or_nothing() {
    let (mut document, _) = document();
    // A message in seconds 2 and 20: what is between them, and what comes after, has no row.
    let step = &mut document.steps[0];
    step.series.retain(|row| [2, 20].contains(&row.second));
    step.series.iter_mut().for_each(|row| (row.acked, row.received) = (1, 1));
    assert_eq!(result(&document, &[])["publishRate"], json!([0.1, 0.1]));
    document.steps[0].series.pop();
    assert_eq!(result(&document, &[])["publishRate"], json!([0.1, 0.0]));
    document.steps[0].blocks[0].cut_short = true;
    let stopped = result(&document, &[]);
    assert_eq!(stopped["publishRate"].as_array().map(Vec::len), Some(1), "what was stopped has no more");
}

#[test]
fn what_is_not_known_is_empty_and_the_reason_is_told() {
    let (document, _) = document();
    let result = result(&document, &[]);
    for key in ["publishLatencyAvg", "endToEndLatency99pct", "publishDelayLatencyMax"] {
        assert_eq!(result[key], json!([]), "{key}");
    }
    let mean_ms = document.steps[0].latency.acknowledge_service.mean_ns.unwrap() / 1e6;
    assert_eq!(result["aggregatedPublishLatencyAvg"], json!(mean_ms), "the aggregates need no histograms");
    assert!(
        result["plumb"]["notes"].to_string().contains("publishLatency*: empty"),
        "{}",
        result["plumb"]["notes"]
    );
}

#[test]
fn a_file_is_named_after_workload_driver_and_time() {
    let (mut document, _) = document();
    document.plan.name = "a/b".to_owned();
    document.steps[0].name = "Kafka".to_owned();
    assert_eq!(file_name(&document, 0).unwrap(), "a-b-Kafka-2026-11-20-15-04-05.json");
    assert!(
        file_name(&document, 99).is_none()
            && render(&document, 99, SecondHistograms::default()).unwrap().is_none()
    );
}
