//! Requests of consumer groups take the handlers' time.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{known, ratio, share, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "coordinator-load",
        summary: "Requests of consumer groups take the handlers' time.",
        page: include_str!("../../../../../docs/findings/coordinator-load.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "time of group requests in the log and the coordinator is held against that of all requests",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "let consumers commit every 5 s",
            setting: None,
            observe: "commits a second of the brokers",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["commits-frequent", "group-rebalances"],
    rivals: &["handlers-saturated"],
    advice: &[
        "Commit every 5 s or after many messages, not for each; use fewer groups.",
        "Spread groups: a group's coordinator leads one partition of __consumer_offsets.",
    ],
    check,
};

/// Requests of groups.
const KINDS: [&str; 7] = [
    "OffsetCommit",
    "OffsetFetch",
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "ConsumerGroupHeartbeat",
    "TxnOffsetCommit",
];
/// Share of the handlers' work from which they are a load (ours).
const SHARE_MIN: f64 = 0.3;

fn check(case: &Case) -> Option<Claim> {
    let work = |group: bool| {
        let kinds = case.brokers().iter().flat_map(|broker| &broker.requests);
        let of = kinds.filter(|(name, _)| !group || KINDS.contains(&name.as_str()));
        sum(of.map(|(_, kind)| Some(known(kind.per_s)? * known(Some(kind.stages.local?.mean_ns))?)))
    };
    // Not every exporter tells the times of these kinds: then by their number.
    let by_time = share(ratio(work(true), work(false)));
    let by_number = sum(KINDS.iter().map(|kind| case.share_of_requests(kind)));
    let share = by_time.or(by_number).filter(|share| *share >= SHARE_MIN)?;
    let commit_ns = case.request_mean_ns("OffsetCommit", |kind| kind.stages.total);
    let slow_commits = commit_ns.is_some_and(|commit_ns| commit_ns >= 50e6);
    let handlers = case.handlers_busy() && case.matters(Stage::RequestQueue);
    if !handlers && !slow_commits {
        return None;
    }
    Some(
        Claim::new(
            case.handlers_busy(),
            case.share(&[Stage::RequestQueue]),
            format!("Requests of consumer groups are {} of the handlers' work", percent(share)),
        )
        .seen("share of group requests in the handlers' work", Some(share), percent, "below 30 %")
        .seen("OffsetCommit requests", case.requests_per_s("OffsetCommit"), per_s, "")
        .seen("time of an OffsetCommit", commit_ns, time, "")
        .seen("idle of request handlers", case.handler_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    brokers(path, |broker| broker.requests.get_mut("OffsetCommit").unwrap().per_s = Some(9_000.0));
    idle(path, 0.5, 0.1);
    cpu_busy(path, 0.8);
    states(path, ThreadClass::Handler, [0.85, 0.03, 0.0, 0.1]);
    wait(path, |waits| waits.request_queue = 15.0);
}
