//! TCP sends segments again: packets are lost on the way.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::count;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "packet-loss",
        summary: "TCP sends segments again: packets are lost on the way.",
        page: include_str!("../../../../../docs/findings/packet-loss.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "TCP counted what it sent again, and clients or followers wait for it",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "take another way between the same hosts",
            setting: None,
            observe: "segments sent again",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &["nic-drops", "receive-backlog-drops"],
    rivals: &["nagle-delayed-ack", "slow-follower", "network-saturated"],
    advice: &[
        "Look for the place: errors of interfaces and switches, a wrong MTU, a full queue, a virtual network's limit.",
        "Compare brokers and clients in pairs: the loss is on what the bad pairs share.",
    ],
    check,
};

/// Share of segments sent again from which it is loss (ours).
const LOSS_MIN: f64 = 0.001;
/// The same where no time-out says so as well: a tail that was only late is sent again, too (ours).
const LOSS_WITHOUT_TIMEOUTS: f64 = 0.01;
/// Segments below which a share says nothing (ours).
const SEGMENTS_MIN: f64 = 1000.0;

fn check(case: &Case) -> Option<Claim> {
    let lost = case.retransmitted().filter(|lost| *lost >= LOSS_MIN)?;
    let host = case.host()?;
    let sent = count(host.tcp.sent_segments.or(host.counters.tcp_sent_segments))
        .filter(|sent| *sent >= SEGMENTS_MIN);
    let stages = [Stage::Unexplained, Stage::Remote, Stage::Send];
    let waits = case.any_matters(&stages);
    if !waits && !case.slow() {
        return None;
    }
    let timeouts = count(host.tcp.timeouts);
    if timeouts == Some(0.0) && lost < LOSS_WITHOUT_TIMEOUTS {
        return None;
    }
    Some(
        Claim::new(
            // The kernel also sends again what was only late (tail probes): alone it is no proof of loss, least of all on loopback.
            waits && sent.is_some() && timeouts.is_some_and(|timeouts| timeouts > 0.0),
            case.share(&stages),
            format!("TCP sends {} of its segments again: packets are lost", percent(lost)),
        )
        .seen("segments sent again", Some(lost), percent, "below 0.1 %")
        .seen("retransmission time-outs", timeouts, short, "0")
        .seen("longest round trip", case.producers_most(|client| client.rtt_max_ns), time, "")
        .seen("time between client and broker", case.stages.mean_ns(Stage::Unexplained), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    host(path).tcp.retransmitted = Some(9_000);
    host(path).tcp.timeouts = Some(700);
    producers(path, |client| client.rtt_max_ns = Some(420e6));
    wait(path, |waits| waits.unexplained = 18.0);
}
