//! The request handlers have no time left, and use it on processors.

use super::super::case::{CPU_BUSY, Case, IDLE_MIN};
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "handlers-saturated",
        summary: "The request handlers have no time left, and use it on processors.",
        page: include_str!("../../../../../docs/findings/handlers-saturated.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the handlers' idle time and the time in their queue were measured, and they run on processors",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "send a third fewer requests by larger batches",
            setting: None,
            observe: "time in the request queue",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "batches-too-small",
        "broker-recompression",
        "format-conversion",
        "coordinator-load",
        "leader-skew",
        "noisy-neighbour",
        "processors-saturated",
        "cpu-quota",
        "process-stopped",
        "cpu-stolen",
        "gc-pauses",
        "hot-partition",
        "few-partitions",
    ],
    rivals: &["handlers-blocked", "network-threads-saturated", "batches-too-small"],
    advice: &[
        "Send fewer, larger requests first (linger.ms, batch.size, fetch.min.bytes); a handler's work is for requests more than for bytes.",
        "Raise num.io.threads while there are processors left; else add processors or brokers.",
    ],
    check,
};

/// Share of the handlers' busy time on processors, or ready for one, from which they are bound by these (ours).
const AT_WORK_MIN: f64 = 0.6;

fn check(case: &Case) -> Option<Claim> {
    let idle = case.handler_idle().filter(|idle| *idle < IDLE_MIN)?;
    let waits = case.matters(Stage::RequestQueue);
    // Without a wait that is known, a slow path whose requests are mostly in that queue is a sign.
    let of_broker = case.stages.share_of_broker(&[Stage::RequestQueue]);
    let is_sign = case.slow() && of_broker.is_some_and(|share| share >= 0.5);
    if !waits && !is_sign {
        return None;
    }
    let at_work = case.handlers_at_work();
    let on_processors = match at_work {
        Some(at_work) => at_work >= AT_WORK_MIN * (1.0 - idle),
        None => case.cpu_busy()? >= CPU_BUSY,
    };
    if waits && !on_processors {
        return None;
    }
    Some(
        Claim::new(
            waits,
            case.share(&[Stage::RequestQueue]),
            format!(
                "The request handlers have {} idle time{}",
                percent(idle),
                if on_processors { " and spend the rest on processors" } else { "" }
            ),
        )
        .seen("idle of request handlers", Some(idle), percent, "above 30 %")
        .seen("time in the request queue", case.stages.mean_ns(Stage::RequestQueue), time, "")
        .seen("handlers on a processor, or ready for one", at_work, percent, "")
        .seen("all processors busy", case.cpu_busy(), percent, "below 60 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    idle(path, 0.6, 0.05);
    cpu_busy(path, 0.9);
    states(path, ThreadClass::Handler, [0.9, 0.03, 0.0, 0.05]);
    wait(path, |waits| waits.request_queue = 20.0);
}
