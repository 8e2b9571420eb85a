//! On a real broker: a path that is slow by its settings is made several times faster with few changes, and one that is as good as it gets is left alone.

use super::{apart, json};
use crate::program::Program;

/// What a user has: 300 messages a second that wait in the client and at the broker.
const SLOW: &str = "\
cluster: {lab: {}}
load: {rate: 300, size: 100B, warm_up: 1s}
search: {budget: 20, block: 5s}
setups:
- producer: {linger.ms: 100, acks: all, enable.idempotence: true}
  consumer: {fetch.min.bytes: 65536, fetch.wait.max.ms: 500}
";

fn search(scenario: &str) -> Program {
    let program = Program::new(["search", "s.yaml", "--seed", "7", "--out", "found"]);
    std::fs::write(program.directory().join("s.yaml"), scenario).unwrap();
    let directory = program.directory().to_owned();
    apart(program, &directory)
}

#[test]
#[ignore = "takes a quarter of an hour on a machine that does nothing else: `make trials`"]
fn a_path_that_waits_by_its_settings_is_at_least_three_times_faster_with_at_most_three_changes() {
    let ended = search(SLOW).within(std::time::Duration::from_secs(2_400)).run();
    let report = json(&ended.path("found/search.json"));
    assert_eq!(ended.code(), Some(0), "{} {}", ended.stdout, ended.stderr);
    assert_eq!(report["outcome"], "better", "{}", ended.stdout);
    assert!(report["proof"]["interval_high"].as_f64().unwrap() < 1.0 / 3.0, "{}", ended.stdout);
    assert!(report["proposed"].as_array().unwrap().len() <= 3, "{}", ended.stdout);
    assert_eq!(report["proof"]["guarantees"]["acks"], "all");
    assert_eq!(report["proof"]["guarantees"]["enable.idempotence"], "true");
}

#[test]
#[ignore = "takes minutes on a machine that does nothing else: `make trials`"]
fn a_path_that_is_as_good_as_it_gets_is_left_as_it_is() {
    let good = SLOW
        .replace("linger.ms: 100", "linger.ms: 0")
        .replace("fetch.min.bytes: 65536", "fetch.min.bytes: 1");
    let ended = search(&good).within(std::time::Duration::from_secs(2_400)).run();
    let report = json(&ended.path("found/search.json"));
    assert!(
        ["as_good", "not_proven", "too_noisy"].contains(&report["outcome"].as_str().unwrap()),
        "{}",
        ended.stdout
    );
    assert_ne!(report["outcome"], "better");
}

/// A path with nothing to try on one topic setting in so few blocks, and brokers that have a queue for one request. Its latency is its linger, so
/// that a noisy machine hardly shows.
const RESTARTED: &str = "\
cluster: {lab: {broker_properties: {queued.max.requests: 1}}}
load: {rate: 300, size: 100B, warm_up: 500ms}
settle: 1s
search: {budget: 14, block: 2s, settings: [topic.index.interval.bytes], restart: {queued.max.requests: 500}}
setups:
- producer: {linger.ms: 100}
";

#[test]
#[ignore = "takes minutes: `make trials`"]
fn what_needs_a_restart_is_tried_in_the_last_trial_alone_on_brokers_that_have_it() {
    let ended = search(RESTARTED).args(["--pairs", "8"]).within(std::time::Duration::from_secs(1_200)).run();
    let report = json(&ended.path("found/search.json"));
    assert!([Some(0), Some(1)].contains(&ended.code()), "{} {}", ended.stdout, ended.stderr);
    let start = &report["restart"][0];
    assert_eq!(
        (&start["setting"], &start["from"]),
        (&"queued.max.requests".into(), &"1".into()),
        "{report:#}"
    );
    assert_eq!((&start["to"], &start["against"]), (&"500".into(), &"as it is".into()), "{report:#}");
    // On a busy machine too many pairs are left out as disturbed, and it says so.
    let says_why = !start["reasons"].as_array().unwrap().is_empty();
    assert!(start["estimate_ratio"].is_number() || says_why, "{report:#}");
    assert!(ended.stdout.contains("With a restart of the brokers"), "{}", ended.stdout);
    // No block of the search had it, and each of its arm in the last trial had.
    let brokers = |run: &str| {
        let document = super::document(&ended.path(run));
        let of = |step: &plumb_model::document::StepResult| {
            (step.name.clone(), step.effective.broker.get("queued.max.requests").cloned())
        };
        document.steps.iter().map(of).collect::<Vec<_>>()
    };
    let restarted = brokers("found/restart");
    for (name, value) in &restarted {
        let wanted = if name.starts_with("started with") { "500" } else { "1" };
        assert_eq!(value.as_deref(), Some(wanted), "{name}: {restarted:?}");
    }
}
