//! Saturating loads, topics that are filled and read, topics of others, backlogs: every message is counted, whoever counts.

use super::{Document, Path, TOPIC};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::Program;
use plumb_lab::kafka::PlainClient;
use std::time::Duration;

on_both_drivers!(
    a_saturating_load_of_a_count_sends_exactly_so_many,
    a_saturating_load_of_a_time_counts_the_same_everywhere,
    producers_alone_are_held_against_the_log,
    a_topic_that_is_filled_is_read_to_its_end,
    a_topic_of_others_is_read_as_it_is,
);

/// A run of one step on the path's topic.
pub(crate) fn run(path: &Path, load: &str) -> Document {
    let bootstrap = path.sink.bootstrap();
    let scenario = format!(
        "cluster: {{bootstrap: \"{bootstrap}\"}}\n\
         driver: {}\n\
         topic: {{name: {TOPIC}}}\n\
         blocks: 1\n\
         load: {{warm_up: 0s, size: 100B, {load}}}\n",
        path.driver
    );
    let program = Program::new(["run", "scenario.yaml", "--output", "json", "--out", "run"]);
    std::fs::write(program.directory().join("scenario.yaml"), scenario).unwrap();
    Document::of(&program.run())
}

/// Everything that was intended was sent and acknowledged, and lies in the log with the probe, and nothing else does.
fn assert_all_sent(path: &Path, document: &Document) -> u64 {
    let sent = document.count("sent");
    assert!(sent > 0);
    assert_eq!((document.count("intended"), document.count("acked")), (sent, sent));
    assert_eq!((document.count("failed"), document.count("unknown"), document.count("lost")), (0, 0, 0));
    assert_eq!(path.stored(), sent + 1);
    assert_eq!(document.at("/steps/0/accounting/offset_delta"), sent + 1);
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
    sent
}

pub(crate) fn assert_all_received(document: &Document, messages: u64) {
    assert_eq!(document.count("received"), messages);
    assert_eq!((document.count("duplicated"), document.count("reordered")), (0, 0));
}

fn a_saturating_load_of_a_count_sends_exactly_so_many(driver: Driver) {
    let path = Path::new(driver);
    let document = run(&path, "rate: max, count: 54321, producers: 3, consumers: 2");
    assert_eq!(assert_all_sent(&path, &document), 54_321);
    assert_all_received(&document, 54_321);
}

fn a_saturating_load_of_a_time_counts_the_same_everywhere(driver: Driver) {
    let path = Path::new(driver);
    let document = run(&path, "rate: max, duration: 1s, producers: 2");
    let sent = assert_all_sent(&path, &document);
    assert_all_received(&document, sent);
    assert_eq!(document.at("/steps/0/latency/acknowledge/samples"), 0, "a queue's length is no latency");
}

fn producers_alone_are_held_against_the_log(driver: Driver) {
    let path = Path::new(driver);
    let document = run(&path, "rate: max, mode: produce, consumers: 0, count: 20000, producers: 2");
    assert_eq!(assert_all_sent(&path, &document), 20_000);
    assert_eq!(document.count("received"), 0);
}

fn a_topic_that_is_filled_is_read_to_its_end(driver: Driver) {
    let path = Path::new(driver);
    let scenario = format!(
        "driver: {driver}\nblocks: 1\ntopic: {{partitions: 3}}\n\
         load: {{mode: consume, count: 20000, size: 100B, consumers: 2}}\n"
    );
    let program = Program::new(["run", "scenario.yaml", "--output", "json", "--out", "run"])
        .args(["--bootstrap", &path.sink.bootstrap()]);
    std::fs::write(program.directory().join("scenario.yaml"), scenario).unwrap();
    let document = Document::of(&program.run());
    assert_eq!(document.count("lost"), 0);
    assert_all_received(&document, 20_000);
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
}

fn a_topic_of_others_is_read_as_it_is(driver: Driver) {
    let path = Path::new(driver);
    let filled = run(&path, "rate: max, mode: produce, consumers: 0, count: 1000");
    assert_eq!(filled.count("acked"), 1_000);
    let address = path.sink.bootstrap().parse().unwrap();
    let mut other = PlainClient::connect(address, Duration::from_secs(10)).unwrap();
    for number in 0..7 {
        other.produce(TOPIC, 0, format!("no stamp in {number}").as_bytes()).unwrap();
    }
    let stored = path.stored();
    let document = run(&path, "mode: consume");
    assert_eq!(path.stored(), stored, "nothing was added");
    assert_eq!(document.count("received"), stored, "{:#}", document.at("/steps/0/accounting"));
    // 1,000 values of 100 bytes and a few shorter ones: not the 1 KiB that a load has by default.
    let value_bytes = document.at("/steps/0/value_bytes_mean").as_f64().unwrap();
    assert!((95.0..=100.0).contains(&value_bytes), "{value_bytes}");
    assert_eq!(document.count("lost"), 0);
    assert_eq!(document.at("/steps/0/accounting/agrees"), true);
}
