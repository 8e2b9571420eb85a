//! Acknowledgements wait for a follower that is slow.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{known, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{per_s, ratio_digits, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "slow-follower",
        summary: "Acknowledgements wait for a follower that is slow.",
        page: include_str!("../../../../../docs/findings/slow-follower.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the wait for followers was measured, and one follower falls behind the others or out of sync",
        stage: Some(PathStage::Replication),
        flip: Some(FlipRow {
            change: "let only the leader acknowledge, on a topic of its own",
            setting: Some(SettingRow { path: "producer.acks", value: "1" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "replication-throttle-left",
        "device-throttled",
        "device-saturated",
        "packet-loss",
        "nic-drops",
        "receive-backlog-drops",
        "network-saturated",
        "many-partitions",
        "cpu-quota",
        "process-stopped",
        "noisy-neighbour",
        "processors-saturated",
        "cpu-stolen",
        "gc-pauses",
    ],
    rivals: &["few-replica-fetchers", "dirty-page-throttling", "large-messages"],
    advice: &[
        "Look at the follower that is behind: its disk, its network, its processors, its own pauses.",
        "Do not lower acks or min.insync.replicas to hide it: that gives up durability.",
    ],
    check,
};

/// Lag of one broker's fetchers over the median of the others from which it is the slow one (Cruise Control takes 3 times its peers).
const LAG_SKEW_MIN: f64 = 3.0;
/// Messages below which a lag is what is on the way (ours).
const LAG_MIN: f64 = 1_000.0;

fn check(case: &Case) -> Option<Claim> {
    if !case.matters(Stage::Remote) {
        return None;
    }
    let mut lags: Vec<(String, f64)> = case
        .brokers()
        .iter()
        .filter_map(|broker| {
            Some((
                broker.id.map_or_else(|| broker.source.clone(), |id| format!("broker {id}")),
                known(broker.follower_max_lag)?,
            ))
        })
        .collect();
    lags.sort_by(|a, b| b.1.total_cmp(&a.1));
    let others = lags.get(1).map(|_| lags[1 + (lags.len() - 1) / 2].1);
    let skew = ratio(lags.first().map(|(_, lag)| *lag), others.map(|lag| lag.max(1.0)));
    let one =
        lags.first().filter(|(_, lag)| *lag >= LAG_MIN && skew.is_some_and(|skew| skew >= LAG_SKEW_MIN));
    let shrinks = case.broker_sum(|broker| broker.isr_shrinks_per_s);
    let under = case.broker_sum(|broker| broker.under_replicated);
    let out = shrinks.is_some_and(|per_s| per_s > 0.0) || under.is_some_and(|under| under >= 1.0);
    let even = one.is_none() && lags.first().is_some_and(|(_, lag)| *lag < LAG_MIN);
    if even && !out && lags.len() > 1 && !case.slow() {
        return None;
    }
    let fetchers =
        case.threads(ThreadClass::ReplicaFetcher, |threads| threads.busiest).is_some_and(|busy| busy >= 0.7);
    if fetchers && one.is_none() {
        return None;
    }
    let name = one.map_or("a follower", |(name, _)| name.as_str());
    Some(
        Claim::new(
            one.is_some() || out,
            case.share(&[Stage::Remote]),
            format!(
                "Acknowledgements wait {} for followers, and {}",
                time(case.stages.mean_ns(Stage::Remote)?),
                match (one, out) {
                    (Some((name, _)), _) => format!("{name} is behind"),
                    (None, true) => "replicas have fallen out of sync".to_owned(),
                    (None, false) => "no follower is known to be behind the others".to_owned(),
                },
            ),
        )
        .seen("time waiting for followers", case.stages.mean_ns(Stage::Remote), time, "")
        .seen(format!("lag of {name} in messages"), lags.first().map(|(_, lag)| *lag), short, "about a batch")
        .seen("over the others' median", skew, ratio_digits, "below 3")
        .seen("replicas falling out of sync", shrinks, per_s, "0/s")
        .seen("partitions with too few in sync", under, short, "0"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    path.brokers[2].follower_max_lag = Some(40_000.0);
    path.brokers[1].isr_shrinks_per_s = Some(0.05);
    wait(path, |waits| waits.remote = 60.0);
}
