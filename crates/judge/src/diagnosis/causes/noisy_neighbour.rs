//! Other programs on this host take the processors from the broker.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::processors::{OTHERS_MIN, ProcessorWait, SHARE_MIN, largest_of_others};
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::prose::list;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "noisy-neighbour",
        summary: "Other programs on this host take the processors from the broker.",
        page: include_str!("../../../../../docs/findings/noisy-neighbour.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the broker's threads wait for processors for as long as they use them, and others use them",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "stop the other programs, or give the broker processors of its own",
            setting: None,
            observe: "time that its threads wait for a processor",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["processors-saturated", "cpu-stolen", "cpu-quota", "handlers-saturated"],
    advice: &[
        "Move the other programs, or give the broker processors of its own (cpusets).",
        "Give the broker's control group a higher weight (cpu.weight).",
    ],
    check,
};

/// Share of the host's processors that others use from which they are worth a look (ours).
const OTHERS_SEEN: f64 = 0.1;
/// Share of the host's processors in use from which there is none to spare (ours).
const BUSY_MIN: f64 = 0.8;

fn check(case: &Case) -> Option<Claim> {
    let wait = ProcessorWait::of(case).filter(|wait| wait.busy >= BUSY_MIN && wait.others >= OTHERS_SEEN)?;
    let largest = largest_of_others(case);
    let supported = wait.others >= OTHERS_MIN && wait.explained >= SHARE_MIN;
    Some(
        Claim::new(supported, Some(wait.explained), format!("The broker's threads wait for a processor for {} of the time in which they want one, and other programs use {} of the host", percent(wait.delayed), percent(wait.others)))
            .seen("wait for a processor, of the time in which one is wanted", Some(wait.delayed), percent, "below 50 %")
            .seen("the broker's wait for a processor, for each request that it took", Some(wait.of_request_ns), time, "")
            .seen("processors used by programs that were not watched", Some(wait.others), percent, "below 30 %")
            .told("those that use most", if largest.is_empty() { "not told".to_owned() } else { list(&largest) }, "")
            .seen("processors used by clients on this host", Some(wait.clients), percent, "")
            .seen("all processors busy", Some(wait.busy), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    cpu_busy(path, 0.99);
    states(path, ThreadClass::Handler, [0.25, 0.55, 0.0, 0.15]);
    states(path, ThreadClass::Network, [0.2, 0.5, 0.0, 0.0]);
    // Eleven milliseconds of waiting for a processor for each request.
    brokers(path, |broker| broker.requests.values_mut().for_each(|kind| kind.per_s = Some(100.0)));
    idle(path, 0.3, 0.18);
    wait(path, |waits| (waits.unexplained, waits.request_queue, waits.local) = (15.0, 22.0, 8.0));
}
