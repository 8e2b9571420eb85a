//! The content of records, their place, and what consumers write back: each is told.

use super::{Document, Path, TOPIC};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::Program;
use plumb_lab::sink::ApiKey;
use std::collections::HashMap;

on_both_drivers!(
    values_that_are_half_zeros_go_out_at_half_their_size_and_the_run_says_so,
    one_key_puts_all_records_on_one_partition_and_the_run_says_so,
    records_without_keys_on_even_partitions_give_no_reason,
);

/// A run of one step on a topic of the path.
fn run(path: &Path, topic: &str, lines: &str) -> Document {
    let bootstrap = path.sink.bootstrap();
    let scenario = format!(
        "cluster: {{bootstrap: \"{bootstrap}\"}}\n\
         driver: {}\n\
         topic: {{name: {topic}}}\n\
         blocks: 1\n\
         {lines}\n",
        path.driver
    );
    let program = Program::new(["run", "scenario.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("scenario.yaml"), scenario).unwrap();
    Document::of(&program.run())
}

/// An observation that a reason rests on, by its name.
fn evidence<'d>(document: &'d Document, id: &str, what: &str) -> &'d str {
    let reasons = document.at("/validity/reasons").as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["id"] == id).unwrap_or_else(|| panic!("no {id}"));
    let seen = reason["evidence"].as_array().unwrap();
    seen.iter().find(|seen| seen["what"] == what).unwrap()["value"].as_str().unwrap()
}

fn values_that_are_half_zeros_go_out_at_half_their_size_and_the_run_says_so(driver: Driver) {
    let path = Path::new(driver);
    let document = run(
        &path,
        TOPIC,
        "load: {warm_up: 0s, size: 1KB, rate: max, duration: 2s, payload: {entropy: 0.5}}\n\
         setups: [{name: zstd, producer: {compression.type: zstd, linger.ms: 5}}]",
    );
    let (value, wire): (f64, f64) = (
        document.at("/steps/0/value_bytes_mean").as_f64().unwrap(),
        evidence(&document, "compression", "mean bytes of a message in its batch").parse().unwrap(),
    );
    // 500 bytes are not zero. 48 of them are the stamp, most of which is the same in every record; the rest is framing.
    assert!((452.0..=600.0).contains(&wire), "{wire} of {value}");
    assert_eq!(evidence(&document, "compression", "codec"), "zstd");
    let rate = |name: &str| document.at(&format!("/steps/0/throughput/{name}")).as_f64().unwrap();
    let ratio = rate("produced_bytes_per_s") / rate("produced_wire_bytes_per_s");
    assert!((ratio / (value / wire) - 1.0).abs() < 0.02, "{ratio}");
}

fn wide(path: &Path) -> &'static str {
    path.control.create_topic("wide", 4, &HashMap::new()).unwrap();
    "wide"
}

fn one_key_puts_all_records_on_one_partition_and_the_run_says_so(driver: Driver) {
    let path = Path::new(driver);
    let topic = wide(&path);
    let document = run(
        &path,
        topic,
        "load: {warm_up: 0s, size: 100B, rate: 500, count: 600, keys: {round_robin: {count: 1}}}",
    );
    let records = document.at("/steps/0/spread/partition_records").as_array().unwrap();
    let mut records: Vec<u64> = records.iter().map(|records| records.as_u64().unwrap()).collect();
    records.sort_unstable();
    // A probe each.
    assert_eq!(records, [1, 1, 1, 601]);
    assert_eq!(document.at("/steps/0/spread/led_most"), 4);
    assert_eq!(evidence(&document, "uneven-partitions", "partitions that got nothing"), "3 of 4");
}

fn records_without_keys_on_even_partitions_give_no_reason(driver: Driver) {
    let path = Path::new(driver);
    let topic = wide(&path);
    let document = run(&path, topic, "load: {warm_up: 0s, size: 100B, rate: 500, count: 1000}");
    for id in ["uneven-partitions", "uneven-leaders", "compression", "commit-storm"] {
        assert!(!document.has_reason(id), "{id}: {:#}", document.at("/steps/0/spread"));
    }
}

#[test]
fn consumers_that_commit_every_twenty_milliseconds_are_counted_and_found() {
    let path = Path::new("librdkafka");
    let ended = path.latency(500, 1_500).args(["-X", "consumer.auto.commit.interval.ms=20"]).run();
    let document = Document::of(&ended);
    assert!(document.has_reason("commit-storm"), "{:#}", document.at("/steps/0/consumer_statistics"));
    let commits = document.at("/steps/0/consumer_statistics/offset_commits").as_u64().unwrap();
    let seen = path.control.stats().count(ApiKey::OffsetCommit);
    assert!(commits >= 20 && commits <= seen, "{commits} of {seen}");
}
