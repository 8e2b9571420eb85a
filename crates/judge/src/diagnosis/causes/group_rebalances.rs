//! Consumer groups rebalance again and again, and read nothing meanwhile.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "group-rebalances",
        summary: "Consumer groups rebalance again and again, and read nothing meanwhile.",
        page: include_str!("../../../../../docs/findings/group-rebalances.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the clients counted the rebalances, and their lag or the time to the consumer shows them",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "give each consumer a fixed name (group.instance.id)",
            setting: None,
            observe: "rebalances",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["consumer-slow", "coordinator-load"],
    advice: &[
        "Use static membership (group.instance.id) and cooperative assignment, or the protocol of KIP-848.",
        "Let poll() come around well within max.poll.interval.ms, and keep the heartbeat at a third of the session's time.",
    ],
    check,
};

/// Rebalances of one consumer in the window from which they are not a single deployment (ours).
const COUNT_MIN: f64 = 2.0;

fn check(case: &Case) -> Option<Claim> {
    let rebalances = case
        .consumers_most(|client| count(client.rebalances))
        .filter(|rebalances| *rebalances >= COUNT_MIN)?;
    let per_h = ratio(Some(rebalances), case.seconds().map(|seconds| seconds / 3600.0))
        .filter(|per_h| *per_h > 1.0)?;
    let waits = case.matters(Stage::Fetch) || case.lag_grows();
    Some(
        Claim::new(
            waits,
            case.share(&[Stage::Fetch]).filter(|_| waits),
            format!(
                "Consumers rebalanced {} times in the window, and read nothing meanwhile",
                plumb_model::figure::whole(rebalances)
            ),
        )
        .seen("rebalances", Some(rebalances), short, "0 or 1")
        .seen("rebalances an hour", Some(per_h), short, "at most 1")
        .seen(
            "rebalances of groups at the brokers",
            case.broker_sum(|broker| broker.group_rebalances_per_s),
            per_s,
            "",
        )
        .seen("time from acknowledgement to consumer", case.stages.mean_ns(Stage::Fetch), time, "")
        .seen("lag growth, of the messages", case.lag_growth(), percent, "0 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    consumers(path, |client| client.rebalances = Some(9));
    wait(path, |waits| waits.fetch = 1_200.0);
}
