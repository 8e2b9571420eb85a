//! Requests are sent again, and messages wait for the second attempt.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::client::requests_per_s;
use super::super::measure::{known, most, ratio, share, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "retries",
        summary: "Requests are sent again, and messages wait for the second attempt.",
        page: include_str!("../../../../../docs/findings/retries.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the clients counted what they sent again, and errors or time-outs with it",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "stop what makes the errors (moves of leaders, replicas that fall out)",
            setting: None,
            observe: "requests sent again",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[
        "packet-loss",
        "in-sync-replicas-short",
        "request-queue-full",
        "device-saturated",
        "device-throttled",
        "slow-follower",
        "network-threads-saturated",
        "handlers-saturated",
        "handlers-blocked",
        "connection-storm",
        "nic-drops",
        "receive-backlog-drops",
        "gc-pauses",
    ],
    rivals: &["packet-loss", "slow-follower"],
    advice: &[
        "Look at the errors by code: NOT_LEADER_OR_FOLLOWER means that leaders move, REQUEST_TIMED_OUT that a broker is slow, NOT_ENOUGH_REPLICAS that replicas are missing.",
        "Set retry.backoff.ms to 200 ms or more, so that retries do not add to the load.",
    ],
    check,
};

/// Share of requests sent again from which it is worth a look (ours).
const SHARE_SEEN: f64 = 0.001;
/// Answers to Produce requests alone, after which a client sends again.
const REFUSED: [&str; 3] = ["REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"];
/// From which it makes the mean wait longer (ours).
const SHARE_MIN: f64 = 0.01;

fn check(case: &Case) -> Option<Claim> {
    let again = sum(case.producers().map(|client| client.retries_per_s));
    let requests = sum(case.producers().map(requests_per_s)).or_else(|| case.requests_per_s("Produce"));
    // librdkafka counts no message that it sends again after the broker's refusal: the brokers' own answers tell these.
    let refused = sum(case
        .brokers()
        .iter()
        .flat_map(|broker| REFUSED.map(|code| broker.errors_per_s.get(code).copied())));
    let of_brokers = ratio(refused, case.requests_per_s("Produce"));
    let share =
        share(most([ratio(again, requests), of_brokers].into_iter())).filter(|share| *share >= SHARE_SEEN)?;
    let failed = sum(case.producers().flat_map(|client| [client.timeouts_per_s, client.errors_per_s]));
    let by_brokers =
        sum(case.brokers().iter().flat_map(|broker| broker.errors_per_s.values().map(|per_s| Some(*per_s))));
    let with_errors = sum([failed, by_brokers].into_iter()).is_some_and(|failed| failed > 0.0);
    // A message that is sent again waits for the answer that failed, for the backoff, and for a second answer: twice the wait.
    // In a client that keeps it in its queue meanwhile, the backoff is part of the wait there.
    let in_queue = case.share(&[Stage::ClientQueue]).filter(|_| case.queue_matters());
    let explained = (2.0 * share).max(in_queue.unwrap_or(0.0)).min(1.0);
    let waits = case.stages.sum_ns().is_none_or(|sum_ns| sum_ns >= 10e6);
    let mut claim = Claim::new(
        share >= SHARE_MIN && with_errors && waits,
        Some(explained),
        format!("{} of the producers' requests are sent again", percent(share)),
    )
    .seen("requests sent again", again, per_s, "0/s")
    .seen("Produce requests that brokers refused for now", refused, per_s, "0/s")
    .seen("requests", requests, per_s, "")
    .seen("time-outs and errors at the clients", failed, per_s, "0/s");
    let mut errors: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
    for (code, per_s) in case.brokers().iter().flat_map(|broker| &broker.errors_per_s) {
        *errors.entry(code).or_default() += known(Some(*per_s)).unwrap_or(0.0);
    }
    for (code, failing) in errors.into_iter().filter(|(_, failing)| *failing > 0.0).take(5) {
        claim = claim.told(format!("broker error {code}"), per_s(failing), "0/s");
    }
    Some(claim)
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.retries_per_s = Some(30.0);
        client.errors_per_s = Some(30.0);
    });
    brokers(path, |broker| {
        broker.errors_per_s.insert("NOT_LEADER_OR_FOLLOWER".into(), 40.0);
    });
    wait(path, |waits| (waits.client_queue, waits.unexplained) = (22.0, 6.0));
}
