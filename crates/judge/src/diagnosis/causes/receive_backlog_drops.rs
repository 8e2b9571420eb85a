//! The kernel has no room for packets that it received, or one processor does all of its network work.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, most, ratio, share, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "receive-backlog-drops",
        summary: "The kernel has no room for packets that it received, or one processor does all of its network work.",
        page: include_str!("../../../../../docs/findings/receive-backlog-drops.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the kernel counted the packets that it dropped, or one processor's time in soft interrupts",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "spread the interface's queues over all processors",
            setting: None,
            observe: "packets without room in the backlog",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["packet-loss", "nic-drops"],
    advice: &[
        "Give the interface as many receive queues as there are processors (ethtool -L), or turn on RPS.",
        "Raise net.core.netdev_max_backlog, and net.core.netdev_budget if the budget runs out.",
    ],
    check,
};

/// Share of packets dropped from which it is loss (ours).
const DROPPED_MIN: f64 = 1e-4;
/// Share of one processor's time in soft interrupts from which it is full with them (ours).
const SOFTIRQ_MIN: f64 = 0.8;

fn check(case: &Case) -> Option<Claim> {
    let host = case.host()?;
    let processed = sum(host.softnet.iter().map(|cpu| Some(cpu.processed as f64)));
    let dropped = sum(host.softnet.iter().map(|cpu| Some(cpu.dropped as f64)));
    let lost = ratio(dropped, processed);
    let squeezed =
        ratio(sum(host.softnet.iter().map(|cpu| Some(cpu.time_squeeze as f64))), case.host_seconds());
    let window_ns = case.host_seconds().map(|seconds| seconds * 1e9);
    let fullest = share(most(host.interrupts.iter().map(|cpu| ratio(count(cpu.softirq_ns), window_ns))));
    let drops = lost.is_some_and(|lost| lost >= DROPPED_MIN);
    let one_cpu = fullest.is_some_and(|fullest| fullest >= SOFTIRQ_MIN)
        && case.cpu_busy().is_some_and(|busy| busy < 0.8);
    let stages = [Stage::Unexplained, Stage::Remote];
    if !(drops || one_cpu) || !(case.any_matters(&stages) || case.slow()) {
        return None;
    }
    let claim = match drops {
        true => "The kernel drops packets for which its receive backlog has no room",
        false => "One processor does all the network work of the kernel and is full with it",
    };
    Some(
        Claim::new(case.any_matters(&stages), case.share(&stages), claim)
            .seen("packets without room in the backlog", lost, percent, "0 %")
            .seen("budgets used up", squeezed, per_s, "below 10/s")
            .seen("soft interrupts of the busiest processor", fullest, percent, "below 80 %")
            .seen("all processors busy", case.cpu_busy(), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    host(path).softnet[0].dropped = 50_000;
    host(path).softnet[0].time_squeeze = 4_000;
    host(path).tcp.retransmitted = Some(6_000);
    wait(path, |waits| waits.unexplained = 18.0);
}
