//! The request handlers have no time left, but they wait instead of working.

use super::super::case::{CPU_BUSY, Case, IDLE_MIN};
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "handlers-blocked",
        summary: "The request handlers have no time left, but they wait instead of working.",
        page: include_str!("../../../../../docs/findings/handlers-blocked.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the handlers' idle time and the time in their queue were measured, and they are not on processors",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "double num.io.threads",
            setting: None,
            observe: "time in the request queue",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "device-saturated",
        "device-throttled",
        "dirty-page-throttling",
        "flush-forced",
        "journal-commits",
        "partition-lock",
        "cold-reads",
        "cleaner-io",
        "log-directories-uneven",
        "cpu-quota",
        "process-stopped",
        "noisy-neighbour",
        "processors-saturated",
        "cpu-stolen",
        "gc-pauses",
        "hot-partition",
    ],
    rivals: &["handlers-saturated", "network-threads-saturated"],
    advice: &[
        "Find what they wait for: a disk, or a lock of a partition; a larger pool only hides it.",
        "If nothing else is found, raise num.io.threads: Amazon MSK uses 16 from 16 processors up.",
    ],
    check,
};

/// Share of the handlers' busy time on processors, or ready for one, below which they wait for something else (ours).
const AT_WORK_MAX: f64 = 0.6;

fn check(case: &Case) -> Option<Claim> {
    let idle = case.handler_idle().filter(|idle| *idle < IDLE_MIN)?;
    if !case.matters(Stage::RequestQueue) {
        return None;
    }
    let at_work = case.handlers_at_work();
    let waits = match at_work {
        Some(at_work) => at_work < AT_WORK_MAX * (1.0 - idle),
        None => case.cpu_busy()? < CPU_BUSY,
    };
    if !waits {
        return None;
    }
    let disk = case.threads(ThreadClass::Handler, |threads| threads.disk);
    Some(
        Claim::new(
            at_work.is_some(),
            case.share(&[Stage::RequestQueue]),
            format!("The request handlers have {} idle time, but wait for most of the rest", percent(idle)),
        )
        .seen("idle of request handlers", Some(idle), percent, "above 30 %")
        .seen("handlers on a processor, or ready for one", at_work, percent, "")
        .seen("handlers waiting for a disk", disk, percent, "0 %")
        .seen("time in the request queue", case.stages.mean_ns(Stage::RequestQueue), time, "")
        .seen("all processors busy", case.cpu_busy(), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    idle(path, 0.8, 0.05);
    states(path, ThreadClass::Handler, [0.2, 0.01, 0.02, 0.1]);
    wait(path, |waits| (waits.request_queue, waits.local) = (25.0, 6.0));
}
