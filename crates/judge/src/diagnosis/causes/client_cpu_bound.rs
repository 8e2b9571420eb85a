//! The producers' sending thread uses a whole processor.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::percent;
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "client-cpu-bound",
        summary: "The producers' sending thread uses a whole processor.",
        page: include_str!("../../../../../docs/findings/client-cpu-bound.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the kernel counted the thread's processor time, and the brokers have time left",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "split the load over two producers",
            setting: None,
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &["client-compression-cpu", "cpu-quota", "noisy-neighbour", "processors-saturated"],
    rivals: &["linger-too-long", "in-flight-limit", "handlers-saturated"],
    advice: &[
        "Run more producers, or give the client processors of its own.",
        "Use a cheaper codec (lz4), larger batches, and no work in callbacks and interceptors.",
    ],
    check,
};

/// Processor time of the sending thread from which it is the limit (customary: a thread there is about to be it).
const BUSY_MIN: f64 = 0.9;
/// Or the share of its wish for a processor that it waits (ours).
const DELAYED_MIN: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let stages = [Stage::ClientQueue, Stage::ClientSend];
    if !case.matters(Stage::ClientSend) && !case.queue_matters() {
        return None;
    }
    let busiest = case.client_threads(ThreadClass::ClientSender, |threads| threads.busiest);
    let delayed = case.client_threads(ThreadClass::ClientSender, |threads| threads.delayed());
    let busy = busiest.is_some_and(|busiest| busiest >= BUSY_MIN);
    if !busy && delayed.is_none_or(|delayed| delayed < DELAYED_MIN) {
        return None;
    }
    Some(
        Claim::new(
            busy && case.threads_idle(),
            case.share(&stages),
            "The producers' sending thread has no processor time left; messages wait in the client",
        )
        .seen("processor time of the busiest sending thread", busiest, percent, "below 90 % of one processor")
        .seen("its wait for a processor, of the time in which it wants one", delayed, percent, "below 50 %")
        .seen("idle of the brokers' busiest network thread", case.network_idle(), percent, "above 30 %")
        .seen("idle of the brokers' request handlers", case.handler_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    client_states(path, ThreadClass::ClientSender, [0.97, 0.02, 0.0, 0.0]);
    wait(path, |waits| (waits.client_queue, waits.client_send) = (40.0, 12.0));
}
