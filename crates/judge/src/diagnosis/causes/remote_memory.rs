//! The broker's memory is on another node than its threads.

use super::super::case::{CPU_BUSY, Case};
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{most, share};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::percent;
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::CpuClass;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "remote-memory",
        summary: "The broker's memory is on another node than its threads.",
        page: include_str!("../../../../../docs/findings/remote-memory.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the kernel tells where the pages are; that it matters takes a trial or a profile",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "bind the broker to one node (numactl --cpunodebind --membind)",
            setting: None,
            observe: "the brokers' processor time for each byte",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["noisy-neighbour", "handlers-saturated"],
    advice: &["Bind the broker to the node of its network interface, or run one broker on each node."],
    check,
};

/// Share of pages on other nodes from which they are many (ours).
const REMOTE_MIN: f64 = 0.3;
/// Share of copies in the broker's work from which memory can be its limit (ours).
const COPY_MIN: f64 = 0.3;

fn check(case: &Case) -> Option<Claim> {
    let remote = share(most(case.broker_processes().map(|process| process.remote_memory_share)))
        .filter(|remote| *remote >= REMOTE_MIN)?;
    let copies = case.profile(&[CpuClass::Copy], None);
    let stages = [Stage::RequestQueue, Stage::ResponseQueue, Stage::Unexplained, Stage::Local, Stage::Send];
    if !case.any_matters(&stages) || !case.slow() {
        return None;
    }
    let bound = copies.is_some_and(|copies| copies >= COPY_MIN);
    let busy = case.cpu_busy().is_some_and(|busy| busy >= CPU_BUSY);
    Some(
        Claim::new(
            bound && busy,
            copies,
            format!("{} of the broker's memory is on another node than its threads", percent(remote)),
        )
        .seen("pages on other nodes", Some(remote), percent, "below 30 %")
        .seen("share of copies in the broker's work", copies, percent, "below 30 %")
        .seen("all processors busy", case.cpu_busy(), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    process(path).remote_memory_share = Some(0.6);
    profile(path, &[(CpuClass::Copy, 0.5)]);
    cpu_busy(path, 0.7);
    wait(path, |waits| (waits.local, waits.send) = (10.0, 8.0));
}
