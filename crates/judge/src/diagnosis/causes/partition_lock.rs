//! Handlers wait for each other: appends to one partition go one after another.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{known, most};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::{CpuClass, ThreadClass};

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "partition-lock",
        summary: "Handlers wait for each other: appends to one partition go one after another.",
        page: include_str!("../../../../../docs/findings/partition-lock.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "handlers wait in locks beyond their idle time while the append is long",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "spread the same load over more partitions",
            setting: None,
            observe: "time of an append",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "hot-partition",
        "few-partitions",
        "flush-forced",
        "journal-commits",
        "device-saturated",
        "device-throttled",
        "dirty-page-throttling",
    ],
    rivals: &["device-saturated", "handlers-saturated", "handlers-blocked"],
    advice: &[
        "Spread the load over more partitions, or choose a key that spreads it.",
        "Upgrade to Apache Kafka 3.7 or later: less is done under the lock of a log there.",
    ],
    check,
};

/// Share of the handlers' time in locks beyond what they are idle from which they wait for each other (ours).
const LOCKED_MIN: f64 = 0.2;
/// Or the share of locks in their processor time (ours).
const PROFILE_MIN: f64 = 0.1;
/// Time on processors from which a profile of handlers is one of work (ours).
const EXECUTING_MIN: f64 = 0.05;

fn check(case: &Case) -> Option<Claim> {
    if !case.matters(Stage::Local) || case.disk_is_slow() {
        return None;
    }
    // Idle handlers wait in a lock too: only what is above the idle time is contention.
    let locked = case.threads(ThreadClass::Handler, |threads| threads.lock);
    let contended = case.handler_idle().and_then(|idle| known(Some(locked? - idle)));
    let spins = most(
        [case.profile(&[CpuClass::Lock], Some(ThreadClass::Handler)), case.profile(&[CpuClass::Lock], None)]
            .into_iter(),
    );
    let blocked = contended.is_some_and(|contended| contended >= LOCKED_MIN);
    // In the profile of handlers that hardly run, locks are those in which they wait for work.
    let runs = case.threads(ThreadClass::Handler, |threads| threads.executing);
    let spinning =
        spins.is_some_and(|spins| spins >= PROFILE_MIN) && runs.is_none_or(|runs| runs >= EXECUTING_MIN);
    let skewed = case.producers_most(|client| client.partition_skew).is_some_and(|skew| skew >= 3.0);
    let unseen = skewed && locked.is_none();
    if !blocked && !spinning && !unseen {
        return None;
    }
    Some(
        Claim::new(
            blocked || spinning,
            case.share(&[Stage::Local, Stage::RequestQueue]),
            "Request handlers wait for each other at the lock of a partition's log",
        )
        .seen("handlers in locks beyond their idle time", contended, percent, "below 20 %")
        .seen("share of locks in the profile", spins, percent, "below 10 %")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, "")
        .seen(
            "largest partition over the mean",
            case.producers_most(|client| client.partition_skew),
            short,
            "about 1",
        ),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    idle(path, 0.8, 0.35);
    states(path, ThreadClass::Handler, [0.15, 0.01, 0.0, 0.82]);
    wait(path, |waits| waits.local = 18.0);
}
