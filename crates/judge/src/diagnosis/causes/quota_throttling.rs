//! A quota holds clients back.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, ratio, sum};
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "quota-throttling",
        summary: "A quota holds clients back.",
        page: include_str!("../../../../../docs/findings/quota-throttling.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "answers carried the time for which the client was held back",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "raise the quota of one client",
            setting: None,
            observe: "throttle time",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["network-saturated", "nagle-delayed-ack", "slow-follower"],
    advice: &[
        "Raise the quota of this client.id or user, or spread its load over time.",
        "On managed services look up what the plan allows.",
    ],
    check,
};

/// The throttle time of the average request from which it matters (ours).
const THROTTLE_NS_MIN: f64 = 2e6;
/// And its share of all waits (ours).
const SHARE_MIN: f64 = 0.25;

fn check(case: &Case) -> Option<Claim> {
    let throttle_ns = case.stages.throttle_ns.filter(|throttle_ns| *throttle_ns >= THROTTLE_NS_MIN)?;
    let share = ratio(Some(throttle_ns), case.stages.sum_ns()).filter(|share| *share >= SHARE_MIN)?;
    let throttled = sum(case.producers().map(|client| count(client.throttled)));
    let mut claim = Claim::new(
        true,
        Some(share),
        format!("A quota holds requests back for {} on average", time(throttle_ns)),
    )
    .seen("throttle time of a request", Some(throttle_ns), time, "0")
    .seen("answers that carried one", throttled, short, "0")
    .seen("throttle time by the brokers", case.broker_most(|broker| broker.throttle_mean_ns), time, "0")
    .seen("broker's time of a Produce request", case.stages.broker_ns, time, "");
    for quota in case.path.settings.quotas.iter().take(3) {
        claim = claim.told("quota", quota.as_str(), "");
    }
    Some(claim)
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| (client.throttled, client.throttle_mean_ns) = (Some(13_000), Some(80e6)));
    path.settings.quotas.push("client-id=orders-1: producer_byte_rate=1000000".into());
    wait(path, |waits| waits.throttle = 76.0);
}
