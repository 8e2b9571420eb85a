//! The brokers have more partitions than is recommended.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "many-partitions",
        summary: "The brokers have more partitions than is recommended.",
        page: include_str!("../../../../../docs/findings/many-partitions.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "partitions are counted; that they make the wait takes a trial",
        stage: Some(PathStage::Replication),
        flip: Some(FlipRow {
            change: "send the same load to a cluster with fewer partitions",
            setting: None,
            observe: "time waiting for followers",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["slow-follower", "few-replica-fetchers"],
    advice: &[
        "Give topics fewer partitions, delete those that nobody uses, or add brokers.",
        "Amazon MSK recommends up to 1,000 replicas on small brokers, 2,000 on middle and 4,000 on large ones.",
    ],
    check,
};

/// Replicas of a broker from which they are many for a small one, and for any (Amazon MSK's recommendations).
const MANY: f64 = 1_000.0;
const TOO_MANY: f64 = 4_000.0;

fn check(case: &Case) -> Option<Claim> {
    let partitions = case.broker_most(|broker| broker.partitions).filter(|partitions| *partitions > MANY)?;
    let remote = case.matters(Stage::Remote);
    if !remote {
        return None;
    }
    let lags = case.broker_most(|broker| broker.follower_max_lag).is_some_and(|lag| lag >= 100_000.0);
    Some(
        Claim::new(
            partitions > TOO_MANY && !lags,
            case.share(&[Stage::Remote]),
            format!(
                "A broker has {} partitions, and each fetch of a follower goes through all of its own",
                plumb_model::figure::whole(partitions)
            ),
        )
        .seen(
            "partitions of the fullest broker",
            Some(partitions),
            short,
            "at most 4000, on small brokers 1000",
        )
        .seen("time waiting for followers", case.stages.mean_ns(Stage::Remote), time, "")
        .seen("bytes of a Produce request", case.produce_bytes(), short, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    brokers(path, |broker| broker.partitions = Some(9_000.0));
    wait(path, |waits| waits.remote = 25.0);
}
