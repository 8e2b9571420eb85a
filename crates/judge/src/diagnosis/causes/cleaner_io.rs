//! The log cleaner takes the device from the producers.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, ratio, share, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{bytes_per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "cleaner-io",
        summary: "The log cleaner takes the device from the producers.",
        page: include_str!("../../../../../docs/findings/cleaner-io.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the cleaner's bytes are held against the device's, and the device is busy",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "limit the cleaner (log.cleaner.io.max.bytes.per.second)",
            setting: None,
            observe: "time of an append",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["device-saturated", "cold-reads"],
    advice: &[
        "Set log.cleaner.io.max.bytes.per.second.",
        "Raise min.cleanable.dirty.ratio (0.5) and segment sizes of compacted topics, so that they are cleaned less often.",
    ],
    check,
};

/// Share of the device's bytes from which the cleaner is a cause (ours).
const SHARE_MIN: f64 = 0.2;

fn check(case: &Case) -> Option<Claim> {
    let cleaner = case.broker_most(|broker| broker.cleaner_bytes_per_s).filter(|bytes| *bytes >= 1e6)?;
    let device = case
        .written_disk()
        .and_then(|disk| sum([count(disk.written_bytes), count(disk.read_bytes)].into_iter()));
    let share = share(ratio(Some(cleaner), ratio(device, case.host_seconds())))
        .filter(|share| *share >= SHARE_MIN)?;
    let stages = [Stage::Local, Stage::RequestQueue, Stage::Remote];
    if !case.any_matters(&stages) {
        return None;
    }
    let busy = case.disk_busy();
    Some(
        Claim::new(
            busy.is_some_and(|busy| busy >= 0.6),
            case.share(&stages),
            format!(
                "The log cleaner moves {}, {} of the device's bytes",
                bytes_per_s(cleaner),
                percent(share)
            ),
        )
        .seen("bytes of the cleaner", Some(cleaner), bytes_per_s, "")
        .seen("of the device's bytes", Some(share), percent, "below 20 %")
        .seen("time in which the device has something to do", busy, percent, "below 60 %")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    brokers(path, |broker| broker.cleaner_bytes_per_s = Some(25e6));
    (disk(path).busy_ns, disk(path).write_ns) = (Some(57_000_000_000), Some(18_000 * 12_000_000));
    idle(path, 0.8, 0.4);
    states(path, ThreadClass::Handler, [0.15, 0.01, 0.3, 0.4]);
    wait(path, |waits| waits.local = 20.0);
}
