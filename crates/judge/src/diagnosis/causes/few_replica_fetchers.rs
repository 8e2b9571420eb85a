//! The followers have too few fetchers for what they copy.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{bytes_per_s, percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "few-replica-fetchers",
        summary: "The followers have too few fetchers for what they copy.",
        page: include_str!("../../../../../docs/findings/few-replica-fetchers.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the fetching threads' processor time was counted, and the number of fetchers was read",
        stage: Some(PathStage::Replication),
        flip: Some(FlipRow {
            change: "raise num.replica.fetchers to 4",
            setting: Some(SettingRow { path: "cluster.broker_properties.num.replica.fetchers", value: "4" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["cpu-quota", "process-stopped", "noisy-neighbour", "processors-saturated"],
    rivals: &["slow-follower", "replication-throttle-left"],
    advice: &[
        "Raise num.replica.fetchers to 4 (it can be changed while the broker runs); managed services use 2 to 16 by size.",
    ],
    check,
};

/// Processor time of a fetcher from which it is the limit (ours).
const BUSY_MIN: f64 = 0.7;
/// Fetchers from which there are not few (ours; managed services use up to 16).
const FETCHERS_MAX: f64 = 4.0;

fn check(case: &Case) -> Option<Claim> {
    let busiest = case
        .threads(ThreadClass::ReplicaFetcher, |threads| threads.busiest)
        .filter(|busiest| *busiest >= BUSY_MIN)?;
    let fetchers = case.broker_number("num.replica.fetchers");
    if !case.matters(Stage::Remote) || fetchers.is_some_and(|fetchers| fetchers > FETCHERS_MAX) {
        return None;
    }
    Some(
        Claim::new(
            fetchers.is_some(),
            case.share(&[Stage::Remote]),
            "A follower's fetcher has no time left, and acknowledgements wait for it",
        )
        .seen("processor time of the busiest fetcher", Some(busiest), percent, "below 70 % of one processor")
        .seen("num.replica.fetchers", fetchers, short, "4")
        .seen(
            "bytes from leaders",
            case.broker_most(|broker| broker.replication_bytes_in_per_s),
            bytes_per_s,
            "",
        )
        .seen("time waiting for followers", case.stages.mean_ns(Stage::Remote), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    states(path, ThreadClass::ReplicaFetcher, [0.93, 0.02, 0.0, 0.0]);
    brokers(path, |broker| broker.follower_max_lag = Some(5_000.0));
    wait(path, |waits| waits.remote = 45.0);
}
