//! Followers that are late by a known time: the commit stage is that time, and a long one is a finding though nothing waits at
//! the end.

use super::{Document, Path, TOPIC};
use crate::drivers::{Driver, on_both_drivers};
use plumb_lab::sink::Delay;
use std::time::Duration;

on_both_drivers!(
    the_time_until_followers_have_copied_is_the_commit_stage,
    followers_that_were_late_and_have_caught_up_at_the_end_are_told,
);

/// A run of four seconds on a topic whose follower is late by so much.
fn run(driver: Driver, late: Duration) -> Document {
    let path = Path::new(driver);
    path.control.delay_visibility(TOPIC, Delay::Constant(late));
    Document::of(&path.latency(500, 2_000).run())
}

fn commit(document: &Document) -> &serde_json::Value {
    let stages = document.at("/steps/0/stages").as_array().unwrap();
    stages.iter().find(|stage| stage["stage"] == "commit").unwrap()
}

fn the_time_until_followers_have_copied_is_the_commit_stage(driver: Driver) {
    let document = run(driver, Duration::from_millis(200));
    let commit = commit(&document);
    let ms = |figure: &str| commit[figure].as_f64().unwrap_or_else(|| panic!("{commit}")) / 1e6;
    assert!((150.0..250.0).contains(&ms("mean_ns")), "{commit}");
    assert!(ms("low_ns") <= 202.0 && ms("high_ns") >= 190.0, "{commit}");
    assert!(!document.has_reason("replication-behind"), "{:?}", document.reasons());
}

fn followers_that_were_late_and_have_caught_up_at_the_end_are_told(driver: Driver) {
    let document = run(driver, Duration::from_secs(2));
    assert_eq!(document.at("/steps/0/accounting/unreplicated"), 0);
    assert_eq!((document.count("lost"), document.count("received")), (0, 2_000));
    assert!(document.has_reason("replication-behind"), "{:?}", document.reasons());
    let longest = document.at("/steps/0/blocks/0/replication_lag/longest_wait_ns").as_u64().unwrap();
    assert!((1_000_000_000..2_100_000_000).contains(&longest), "{longest}");
}
