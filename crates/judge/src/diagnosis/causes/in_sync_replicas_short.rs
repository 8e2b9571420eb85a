//! Partitions have fewer replicas in sync than min.insync.replicas, and take no messages.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{ratio, sum};
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, short, significant};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "in-sync-replicas-short",
        summary: "Partitions have fewer replicas in sync than min.insync.replicas, and take no messages.",
        page: include_str!("../../../../../docs/findings/in-sync-replicas-short.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the brokers count these partitions themselves",
        stage: Some(PathStage::Replication),
        flip: Some(FlipRow {
            change: "bring the missing replicas back",
            setting: None,
            observe: "partitions below min.insync.replicas",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &["slow-follower", "replication-throttle-left"],
    rivals: &["slow-follower", "retries"],
    advice: &[
        "Bring the brokers of the missing replicas back; this is about correctness, not speed.",
        "Do not lower acks or min.insync.replicas: messages could be lost that were acknowledged.",
    ],
    check,
};

fn check(case: &Case) -> Option<Claim> {
    let under = case.broker_sum(|broker| broker.under_min_isr).filter(|under| *under >= 1.0)?;
    let refused = sum(case.brokers().iter().flat_map(|broker| {
        let named = broker.errors_per_s.iter().filter(|(code, _)| code.starts_with("NOT_ENOUGH_REPLICAS"));
        named.map(|(_, per_s)| Some(*per_s))
    }));
    let led = case.broker_sum(|broker| broker.leaders);
    Some(
        Claim::new(true, ratio(Some(under), led), format!("{} partitions have fewer replicas in sync than min.insync.replicas: producers with acks=all cannot write to them", significant(under, 3)))
            .seen("partitions below min.insync.replicas", Some(under), short, "0")
            .seen("partitions led", led, short, "")
            .seen("errors NOT_ENOUGH_REPLICAS", refused, per_s, "0/s")
            .seen("partitions with too few in sync", case.broker_sum(|broker| broker.under_replicated), short, "0"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    brokers(path, |broker| {
        (broker.under_min_isr, broker.under_replicated) = (Some(3.0), Some(4.0));
        broker.errors_per_s.insert("NOT_ENOUGH_REPLICAS".into(), 25.0);
    });
    producers(path, |client| (client.retries_per_s, client.errors_per_s) = (Some(20.0), Some(20.0)));
    wait(path, |waits| waits.client_queue = 60.0);
}
