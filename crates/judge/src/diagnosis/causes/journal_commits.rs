//! The file system's journal makes the broker wait.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::known;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "journal-commits",
        summary: "The file system's journal makes the broker wait.",
        page: include_str!("../../../../../docs/findings/journal-commits.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "threads were seen waiting for the journal, or its commits were timed",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "put one broker's log on XFS",
            setting: None,
            observe: "time of an append",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["flush-forced", "device-throttled", "device-saturated", "cold-reads"],
    rivals: &["nagle-delayed-ack", "device-saturated", "dirty-page-throttling"],
    advice: &[
        "Use XFS for the log: the journal of ext4 lets appends wait while it commits.",
        "Mount with noatime, and keep other programs that call fsync off the file system.",
        "Roll segments less often (segment.bytes): each roll writes and flushes small files.",
    ],
    check,
};

/// Where threads wait for the journals of ext4 and XFS.
const FUNCTIONS: [&str; 8] = [
    "jbd2_log_wait_commit",
    "jbd2_log_wait_for_space",
    "jbd2_log_do_checkpoint",
    "wait_transaction_locked",
    "do_get_write_access",
    "jbd2__journal_start",
    "start_this_handle",
    "xfs_log_force",
];
/// Handlers that are there at any moment, on average (ours): one for a quarter of the window.
const WAIT_MIN: f64 = 0.25;
/// A commit of this length is slow (ours).
const COMMIT_NS_MIN: f64 = 20e6;

fn check(case: &Case) -> Option<Claim> {
    if !case.matters(Stage::Local) {
        return None;
    }
    let seen = case.handlers_in(&FUNCTIONS);
    let commits = case.path.kernel.as_ref().and_then(|kernel| kernel.journal_commit.as_ref());
    let commit_ns = known(commits.and_then(|commits| commits.mean_ns()));
    let slow = commit_ns.is_some_and(|commit_ns| commit_ns >= COMMIT_NS_MIN);
    if seen < WAIT_MIN && !slow {
        return None;
    }
    Some(
        Claim::new(
            seen >= WAIT_MIN,
            case.share(&[Stage::Local, Stage::RequestQueue]),
            "Appends wait for commits of the file system's journal",
        )
        .seen("handlers that wait for the journal at any moment", Some(seen), short, "0")
        .seen("mean commit of the journal", commit_ns, time, "below 20 ms")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    threads(path, ThreadClass::Handler).waits.insert("wait_transaction_locked".into(), 0.4);
    idle(path, 0.85, 0.4);
    states(path, ThreadClass::Handler, [0.1, 0.01, 0.45, 0.4]);
    wait(path, |waits| waits.local = 25.0);
}
