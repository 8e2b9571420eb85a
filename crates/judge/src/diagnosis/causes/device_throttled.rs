//! A limit of the control group holds back the broker's writes to its device.

use super::super::bounds;
use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::most;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{bytes_per_s, per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "device-throttled",
        summary: "A limit of the control group holds back the broker's writes to its device.",
        page: include_str!("../../../../../docs/findings/device-throttled.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the limit was read from the kernel, and what is written is at it",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "lift the limit of the control group",
            setting: None,
            observe: "bytes written a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[],
    rivals: &["device-saturated", "dirty-page-throttling"],
    advice: &[
        "Raise or remove the control group's io.max (in Kubernetes: the limit of the volume or of the container runtime).",
        "Or send fewer bytes: compression, fewer replicas on this broker.",
    ],
    check,
};

/// Use of the limit from which it binds (ours).
const USE_MIN: f64 = 0.8;

fn check(case: &Case) -> Option<Claim> {
    let (bytes, writes) = (bounds::group_writes(case), bounds::group_write_calls(case));
    let used =
        most([bytes, writes].into_iter().map(|group| group?.used())).filter(|used| *used >= USE_MIN)?;
    let stages = [Stage::Local, Stage::Remote, Stage::RequestQueue];
    if !case.any_matters(&stages) {
        return None;
    }
    Some(
        Claim::new(
            true,
            case.share(&stages),
            format!(
                "The control group's limit holds back the broker's writes: {} of it is in use",
                percent(used)
            ),
        )
        .seen("bytes written", bytes.and_then(|group| group.per_s), bytes_per_s, "")
        .seen("limit of bytes written", bytes.and_then(|group| group.limit), bytes_per_s, "none")
        .seen("writes", writes.and_then(|group| group.per_s), per_s, "")
        .seen("limit of writes", writes.and_then(|group| group.limit), per_s, "none")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    process(path).cgroup = Some(plumb_model::observed::CgroupWindow {
        write_limit_bytes_per_s: Some(31_000_000),
        ..Default::default()
    });
    host(path).counters.dirty_bytes = Some(2_800_000_000);
    idle(path, 0.8, 0.05);
    states(path, ThreadClass::Handler, [0.1, 0.01, 0.7, 0.05]);
    threads(path, ThreadClass::Handler).waits.insert("balance_dirty_pages".into(), 0.5);
    wait(path, |waits| (waits.local, waits.request_queue) = (80.0, 30.0));
}
