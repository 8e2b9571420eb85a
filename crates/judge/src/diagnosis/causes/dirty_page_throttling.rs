//! The kernel makes the broker wait, because too much written data is not on the disk yet.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, ratio, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "dirty-page-throttling",
        summary: "The kernel makes the broker wait, because too much written data is not on the disk yet.",
        page: include_str!("../../../../../docs/findings/dirty-page-throttling.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "dirty pages are near the kernel's limit, and threads were seen waiting there",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "halve the load",
            setting: None,
            observe: "dirty pages",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["device-throttled", "device-saturated", "cleaner-io"],
    rivals: &["device-saturated", "journal-commits", "handlers-saturated"],
    advice: &[
        "The device does not take the rate: a faster one, fewer bytes (compression) or more brokers.",
        "Lower vm.dirty_background_ratio (5), so that writing starts earlier and in smaller parts; do not lower vm.dirty_ratio with it.",
    ],
    check,
};

/// Dirty pages over the kernel's limit from which writers are slowed (ours; the kernel starts half-way between both limits).
const NEAR: f64 = 0.8;
/// Share of the handlers' time that is seen in the wait (ours).
const WAIT_MIN: f64 = 0.05;
/// The same of the time in which handlers are not idle, and the least that is seen at all (ours).
const OF_WORK_MIN: f64 = 0.25;
const SEEN_LEAST: f64 = 0.01;
/// Where the kernel lets writers wait.
const FUNCTIONS: [&str; 1] = ["balance_dirty_pages"];

fn check(case: &Case) -> Option<Claim> {
    let counters = &case.host()?.counters;
    let dirty = sum([count(counters.dirty_bytes), count(counters.writeback_bytes)].into_iter());
    let near = ratio(dirty, count(counters.dirty_threshold_bytes));
    let seen = case.waits(ThreadClass::Handler, &FUNCTIONS).max(case.off_cpu(&FUNCTIONS).min(1.0));
    let is_near = near.is_some_and(|near| near >= NEAR);
    // One busy handler among many idle ones is seen in few of all readings.
    let of_work = ratio(Some(seen), case.handler_idle().map(|idle| 1.0 - idle)).unwrap_or(0.0);
    let is_seen = seen >= WAIT_MIN || seen >= SEEN_LEAST && of_work >= OF_WORK_MIN;
    if !case.matters(Stage::Local) || !(is_near || is_seen) {
        return None;
    }
    let disk = case.threads(ThreadClass::Handler, |threads| threads.disk);
    let waits = is_seen || is_near && disk.is_some_and(|disk| disk >= 0.1);
    Some(
        Claim::new(
            waits,
            case.share(&[Stage::Local, Stage::RequestQueue]),
            "The kernel holds back the broker's writes until older ones are on the disk",
        )
        .seen("dirty and written-back pages, of the kernel's limit", near, percent, "below 80 %")
        .seen("handlers seen in balance_dirty_pages", Some(seen), percent, "0 %")
        .seen("handlers waiting for a disk", disk, percent, "0 %")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    host(path).counters.dirty_bytes = Some(2_700_000_000);
    idle(path, 0.8, 0.1);
    states(path, ThreadClass::Handler, [0.1, 0.01, 0.6, 0.1]);
    threads(path, ThreadClass::Handler).waits.insert("balance_dirty_pages".into(), 0.5);
    wait(path, |waits| (waits.local, waits.request_queue) = (60.0, 20.0));
}
