//! A quota holds clients back.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, known, most, ratio, share, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::ClientWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::prose::quoted;

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

/// Share of the time for which a connection is held back from which what waits before it waits for that (ours).
const HELD_MIN: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let throttle_ns = case.stages.throttle_ns.filter(|throttle_ns| *throttle_ns >= THROTTLE_NS_MIN)?;
    let of_request = ratio(Some(throttle_ns), case.stages.sum_ns())?;
    let held =
        share(most(case.producers().map(|client| ratio(held_back(client), Some(case.taking_brokers())))));
    // A connection that is held back nearly always makes its requests wait for each other, which no answer tells.
    let waits = held.filter(|held| *held >= HELD_MIN).and_then(|held| {
        let before_broker =
            case.stages.share(&[Stage::ClientQueue, Stage::ClientSend, Stage::Unexplained])?;
        Some(held * before_broker)
    });
    let share = share(Some(of_request + waits.unwrap_or(0.0))).filter(|share| *share >= SHARE_MIN)?;
    let throttled = sum(case.producers().map(|client| count(client.throttled)));
    let mut claim = Claim::new(
        true,
        Some(share),
        match held.filter(|_| waits.is_some()) {
            Some(held) => format!("A quota holds {} back for {} of the time", whom(case), percent(held)),
            None => {
                format!("A quota holds requests of {} back for {} on average", whom(case), time(throttle_ns))
            }
        },
    )
    .seen("time for which a producer's connection is held back", held, percent, "0 %")
    .seen("throttle time of a request", Some(throttle_ns), time, "0")
    .seen("answers that carried one", throttled, short, "0")
    .seen("throttle time by the brokers", case.broker_most(|broker| broker.throttle_mean_ns), time, "0")
    .seen("broker's time of a Produce request", case.stages.broker_ns, time, "");
    for quota in case.path.settings.quotas.iter().take(3) {
        claim = claim.told("quota", quota.as_str(), "");
    }
    Some(claim)
}

/// The producer that is held back most.
fn whom(case: &Case) -> String {
    let held = case.producers().filter_map(|client| Some((client, held_back(client)?)));
    let most = held.filter(|(_, held)| *held > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    most.map_or_else(|| "producers".to_owned(), |(client, _)| quoted(&client.name))
}

/// Share of the window for which the broker read nothing of a client: the throttle times of its answers together.
fn held_back(client: &ClientWindow) -> Option<f64> {
    let window_ns = client.window_ns as f64;
    ratio(Some(count(client.throttled)? * known(client.throttle_mean_ns)?), Some(window_ns))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| (client.throttled, client.throttle_mean_ns) = (Some(13_000), Some(80e6)));
    path.settings.quotas.push("client-id=orders-1: producer_byte_rate=1000000".into());
    wait(path, |waits| waits.throttle = 76.0);
}
