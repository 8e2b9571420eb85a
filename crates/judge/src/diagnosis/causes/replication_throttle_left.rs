//! A limit of replication is still set, although no partition is being moved.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{most, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{bytes_per_s, percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "replication-throttle-left",
        summary: "A limit of replication is still set, although no partition is being moved.",
        page: include_str!("../../../../../docs/findings/replication-throttle-left.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the limit was read from the brokers' settings, and nothing is being moved",
        stage: Some(PathStage::Replication),
        flip: Some(FlipRow {
            change: "remove the limit (kafka-reassign-partitions --verify)",
            setting: None,
            observe: "time waiting for followers",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["slow-follower", "few-replica-fetchers"],
    advice: &[
        "Run kafka-reassign-partitions --verify, which removes the limits once a move is complete, or delete leader.replication.throttled.rate and follower.replication.throttled.rate.",
    ],
    check,
};

/// The settings that limit replication.
const KEYS: [&str; 2] = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"];

fn check(case: &Case) -> Option<Claim> {
    let limits = KEYS.iter().filter_map(|key| Some((key, case.broker_number(key)?)));
    let (key, limit) = limits.filter(|(_, limit)| *limit < 1e15).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let moving = case.broker_sum(|broker| broker.reassigning_partitions);
    if moving.is_some_and(|moving| moving > 0.0) {
        return None;
    }
    let copied = most(
        [
            case.broker_most(|broker| broker.replication_bytes_in_per_s),
            case.broker_most(|broker| broker.replication_bytes_out_per_s),
        ]
        .into_iter(),
    );
    let used = ratio(copied, Some(limit));
    // Followers that are in sync are copied to beyond the limit: it holds back those that are not, and nobody else.
    let under_replicated = case.broker_sum(|broker| broker.under_replicated);
    let behind = under_replicated.is_some_and(|under| under >= 1.0);
    let supported = behind && moving.is_some() && used.is_none_or(|used| used >= 0.5);
    Some(
        Claim::new(
            supported,
            case.share(&[Stage::Remote]).filter(|_| behind),
            "Replication is limited although nothing is being moved: a limit was left behind",
        )
        .seen(*key, Some(limit), bytes_per_s, "not set")
        .seen("partitions that lack replicas in sync", under_replicated, short, "0")
        .seen("partitions being moved", moving, short, "")
        .seen("bytes copied by replication, of the limit", used, percent, "")
        .seen("time waiting for followers", case.stages.mean_ns(Stage::Remote), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    broker_setting(path, "follower.replication.throttled.rate", "21000000");
    brokers(path, |broker| (broker.follower_max_lag, broker.under_replicated) = (Some(30_000.0), Some(4.0)));
    wait(path, |waits| waits.remote = 50.0);
}
