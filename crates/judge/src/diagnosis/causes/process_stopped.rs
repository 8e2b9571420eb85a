//! A broker's process stands still: something stopped it, and nothing that waits for it goes on.

use super::super::case::{Case, stopped};
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "process-stopped",
        summary: "A broker's process stands still: a signal, a debugger or a freezer stopped it.",
        page: include_str!("../../../../../docs/findings/process-stopped.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the broker's threads were seen stopped, where no thread is that works or waits",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "let the process run (SIGCONT, or thaw its control group)",
            setting: None,
            observe: "readings in which its threads are stopped",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["cpu-quota", "cpu-stolen", "gc-pauses"],
    advice: &[
        "Find who stops it: a debugger or profiler that is attached, a checkpoint (CRIU), a frozen control group, kill -STOP in a script.",
        "Keep such stops shorter than broker.session.timeout.ms: a broker that stands still for longer loses the partitions that it leads.",
    ],
    check,
};

/// Share of readings in which a broker's threads were stopped from which it is no attaching of a tool (ours).
const SHARE_MIN: f64 = 0.05;

fn check(case: &Case) -> Option<Claim> {
    let share_of = |process| Some((process, stopped(process)?));
    let longest = case.broker_processes().filter_map(share_of).max_by(|a, b| a.1.total_cmp(&b.1));
    let (process, share) = longest.filter(|(_, share)| *share >= SHARE_MIN)?;
    let stages = [
        Stage::Unexplained,
        Stage::RequestQueue,
        Stage::Local,
        Stage::Remote,
        Stage::ResponseQueue,
        Stage::Send,
    ];
    let waits = case.any_matters(&stages);
    if !waits && !case.slow() {
        return None;
    }
    let stopped_ns = case.seconds().map(|seconds| share * seconds * 1e9);
    Some(
        Claim::new(
            waits,
            case.share(&stages),
            format!("The broker's process {} stood still for {} of the window", process.pid, percent(share)),
        )
        .seen("readings in which its threads were stopped", Some(share), percent, "0 %")
        .seen("about how long", stopped_ns, time, "0")
        .seen("time waiting for followers", case.stages.mean_ns(Stage::Remote), time, "")
        .seen("time between client and broker", case.stages.mean_ns(Stage::Unexplained), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    for group in &mut process(path).groups {
        group.waits = [("do_signal_stop".to_owned(), 0.4)].into();
    }
    wait(path, |waits| (waits.unexplained, waits.request_queue, waits.local) = (80.0, 10.0, 5.0));
}
