//! The device of the log is at its limit.

use super::super::bounds;
use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::ratio;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{bytes_per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "device-saturated",
        summary: "The device of the log is at its limit.",
        page: include_str!("../../../../../docs/findings/device-saturated.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the device's own time and bytes are held against what it can do",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "send a third less",
            setting: None,
            observe: "time of a write of the device",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["cleaner-io", "cold-reads", "log-directories-uneven", "flush-forced"],
    rivals: &["device-throttled", "dirty-page-throttling", "handlers-saturated"],
    advice: &[
        "Write less: compression, fewer partitions on this broker, shorter flushes.",
        "Use a faster or a second device, or more provisioned throughput.",
    ],
    check,
};

/// Use of the measured rate from which the device is at its limit (the alarm of Amazon MSK's guide: 80 % of a volume's throughput).
const USE_MIN: f64 = 0.8;

fn check(case: &Case) -> Option<Claim> {
    let stages = [Stage::Local, Stage::Remote, Stage::RequestQueue];
    if !case.any_matters(&stages) {
        return None;
    }
    let used = ratio(case.written_per_s(), bounds::device_limit(case));
    let full = used.is_some_and(|used| used >= USE_MIN);
    let throttled = bounds::group_writes(case).and_then(|group| group.used());
    if throttled.is_some_and(|used| used >= USE_MIN) || !(full || case.disk_is_slow()) {
        return None;
    }
    let blocked = case.threads(ThreadClass::Handler, |threads| threads.disk);
    let name = case.written_disk().map_or("the device", |disk| disk.name.as_str());
    Some(
        Claim::new(
            full || blocked.is_none_or(|disk| disk >= 0.05),
            case.share(&stages),
            format!("The device {name} is at its limit"),
        )
        .seen("bytes written", case.written_per_s(), bytes_per_s, "")
        .seen("of what it can write", used, percent, "below 80 %")
        .seen("time in which it has something to do", case.disk_busy(), percent, "below 90 %")
        .seen("mean time of a write", case.disk_write_ns(), time, "below 5 ms")
        .seen("handlers waiting for a disk", blocked, percent, "0 %")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    path.limits.write_bytes_per_s = Some(33e6);
    (disk(path).busy_ns, disk(path).write_ns) = (Some(59_000_000_000), Some(18_000 * 40_000_000));
    idle(path, 0.8, 0.1);
    states(path, ThreadClass::Handler, [0.1, 0.01, 0.5, 0.1]);
    wait(path, |waits| (waits.local, waits.request_queue) = (30.0, 12.0));
}
