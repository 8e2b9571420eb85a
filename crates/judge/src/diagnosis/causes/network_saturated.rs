//! The network interface is at its limit.

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

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "network-saturated",
        summary: "The network interface is at its limit.",
        page: include_str!("../../../../../docs/findings/network-saturated.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "bytes of the interface are held against its own speed",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "stop half of the consumers",
            setting: None,
            observe: "time of sending",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["cold-reads"],
    rivals: &["packet-loss", "tls-cpu", "socket-buffers-small"],
    advice: &[
        "Compress, and let consumers read from the replica in their own zone or rack.",
        "Use a larger interface, or spread leaders over more brokers.",
        "Limit moves of partitions and replays of old data by a quota.",
    ],
    check,
};

/// Use of the interface from which it is at its limit (ours; 70 % sustained is the customary alarm).
const USE_MIN: f64 = 0.8;

fn check(case: &Case) -> Option<Claim> {
    let used = ratio(bounds::network_per_s(case), case.path.limits.network_bytes_per_s)
        .filter(|used| *used >= USE_MIN)?;
    let stages = [Stage::Unexplained, Stage::Send, Stage::Remote, Stage::ClientSend];
    if !case.any_matters(&stages) {
        return None;
    }
    Some(
        Claim::new(
            true,
            case.share(&stages),
            format!("The network interface carries {} of its limit", percent(used)),
        )
        .seen("bytes of the busier direction", bounds::network_per_s(case), bytes_per_s, "")
        .seen("limit of the interface", case.path.limits.network_bytes_per_s, bytes_per_s, "")
        .seen("time of sending the answer", case.stages.mean_ns(Stage::Send), time, "")
        .seen("time between client and broker", case.stages.mean_ns(Stage::Unexplained), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    path.limits.network_bytes_per_s = Some(125e6);
    host(path).counters.interfaces[0].sent_bytes = Some((122e6 * 60.0) as u64);
    wait(path, |waits| (waits.unexplained, waits.send) = (25.0, 18.0));
}
