//! A block ends when its time is over, whatever the path does, and says what it left: messages that were due and never sent,
//! and messages whose outcome nobody knows.

use super::{Document, Path, TOPIC, record};
use crate::drivers::{Driver, on_both_drivers};
use crate::program::Program;
use plumb_lab::sink::{ApiKey, Apis};
use std::time::Duration;

on_both_drivers!(
    a_load_that_the_path_does_not_take_ends_with_its_drain_and_what_was_not_sent_counts,
    as_fast_as_possible_ends_with_its_drain_when_nothing_is_answered,
);

/// Much longer than a test may take.
const NEVER: Duration = Duration::from_secs(600);
/// Messages that are answered before nothing is any more.
const ANSWERED: u64 = 50;
/// Messages that the producer may have under way.
const IN_FLIGHT: u64 = 10;

/// A run of a scenario against a sink that answers so many messages and then none. Its bound is that a run ends at all: the
/// test's own limit is the program's.
fn run_until_nothing_is_answered(driver: Driver, load: &str) -> Document {
    let path = Path::new(driver);
    path.control.stall_at_record(TOPIC, record(ANSWERED), Apis::one(ApiKey::Produce), NEVER);
    let program = Program::new(["run", "s.yaml", "--bootstrap", &path.sink.bootstrap()]);
    let scenario = format!(
        "driver: {driver}\nblocks: 1\ntopic: {{name: {TOPIC}}}\n\
         load: {{{load}, warm_up: 0s, drain: 1s, size: 100B, in_flight: {IN_FLIGHT}}}\n"
    );
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let ended = program.args(["--output", "json", "--out", "run"]).run();
    Document::of(&ended)
}

fn a_load_that_the_path_does_not_take_ends_with_its_drain_and_what_was_not_sent_counts(driver: Driver) {
    let document = run_until_nothing_is_answered(driver, "rate: 200, duration: 2s");
    let count = |name| document.count(name);
    assert_eq!(count("intended"), 400);
    assert_eq!(count("sent"), count("acked") + IN_FLIGHT);
    assert_eq!((count("unknown"), count("failed")), (IN_FLIGHT, 0));
    assert!(count("acked") <= ANSWERED, "{}", count("acked"));
    assert_eq!(document.at("/run/state/kind"), "complete");
    assert_eq!(document.verdict(), "invalid");
    assert!(document.has_reason("messages-failed"), "{:?}", document.reasons());
    let errors = document.at("/steps/0/errors").as_array().unwrap();
    let under_way = errors.iter().find(|error| error["code"] == "UNDER_WAY");
    assert_eq!(under_way.map(|error| error["count"].as_u64()), Some(Some(IN_FLIGHT)), "{errors:?}");
}

fn as_fast_as_possible_ends_with_its_drain_when_nothing_is_answered(driver: Driver) {
    let document = run_until_nothing_is_answered(driver, "rate: max, duration: 1s");
    let count = |name| document.count(name);
    assert_eq!(count("sent"), count("acked") + count("unknown"));
    assert_eq!(count("unknown"), IN_FLIGHT);
    assert_eq!(document.at("/run/state/kind"), "complete");
}
