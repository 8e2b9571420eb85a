//! One of several log devices does most of the work.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, most, ratio, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::ratio_digits;
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "log-directories-uneven",
        summary: "One of several log devices does most of the work.",
        page: include_str!("../../../../../docs/findings/log-directories-uneven.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the devices of the log directories are held against each other",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "move one busy partition to another log directory",
            setting: None,
            observe: "time in which the busiest device has something to do",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["hot-partition"],
    rivals: &["device-saturated"],
    advice: &[
        "Move busy partitions to the other log directories (kafka-reassign-partitions with log_dirs); new partitions go by count, not by bytes.",
    ],
    check,
};

/// The busiest device over the mean from which they are uneven (ours).
const SKEW_MIN: f64 = 1.5;

fn check(case: &Case) -> Option<Claim> {
    let directories = case.broker_setting("log.dirs").map_or(0, |paths| paths.split(',').count());
    let stages = [Stage::Local, Stage::Remote, Stage::RequestQueue];
    if directories < 2 || !case.any_matters(&stages) {
        return None;
    }
    let disks = || {
        case.host()
            .into_iter()
            .flat_map(|host| &host.counters.disks)
            .filter(|disk| disk.written_bytes.is_some())
    };
    let devices = disks().count().min(directories);
    let total = sum(disks().map(|disk| count(disk.written_bytes)));
    let largest = most(disks().map(|disk| count(disk.written_bytes)));
    let skew =
        ratio(largest.map(|largest| largest * devices as f64), total).filter(|skew| *skew >= SKEW_MIN)?;
    let busy = case.disk_busy();
    if devices < 2 || busy.is_none_or(|busy| busy < 0.8) {
        return None;
    }
    Some(
        Claim::new(
            case.disk_is_slow(),
            case.share(&stages),
            "One log device does most of the writing while the others have time",
        )
        .seen("bytes of the busiest device over the mean", Some(skew), ratio_digits, "below 1.5")
        .seen("time in which it has something to do", busy, percent, "")
        .seen("mean time of its writes", case.disk_write_ns(), time, "")
        .told("log directories", directories.to_string(), ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    broker_setting(path, "log.dirs", "/data/a,/data/b");
    second_disk(path).written_bytes = Some(60_000_000);
    (disk(path).busy_ns, disk(path).write_ns) = (Some(59_000_000_000), Some(18_000 * 40_000_000));
    idle(path, 0.8, 0.1);
    states(path, ThreadClass::Handler, [0.1, 0.01, 0.5, 0.1]);
    wait(path, |waits| (waits.local, waits.request_queue) = (30.0, 12.0));
}
