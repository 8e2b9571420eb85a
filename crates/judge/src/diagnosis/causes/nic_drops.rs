//! The network interface drops packets, or a cloud's allowance is exceeded.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{count, most, ratio, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::percent;
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "nic-drops",
        summary: "The network interface drops packets, or a cloud's allowance is exceeded.",
        page: include_str!("../../../../../docs/findings/nic-drops.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the driver counted the packets, and clients or followers wait for them",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "enlarge the interface's receive ring",
            setting: None,
            observe: "packets that the interface dropped",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["packet-loss", "receive-backlog-drops"],
    advice: &[
        "Enlarge the ring of the interface (ethtool -G), and spread its interrupts.",
        "An allowance that was exceeded needs a larger instance, fewer bytes or more brokers.",
    ],
    check,
};

/// Share of packets dropped from which it is loss (ours).
const DROPPED_MIN: f64 = 1e-4;

fn check(case: &Case) -> Option<Claim> {
    let host = case.host()?;
    let counted = || host.nic_drops.iter().filter(|(_, packets)| **packets > 0);
    // One packet may be in several counters, so the largest says how many were lost at least.
    let worst = most(counted().map(|(name, packets)| lost(case, name, *packets as f64)));
    let share = worst.filter(|share| *share >= DROPPED_MIN)?;
    let stages = [Stage::Unexplained, Stage::Remote, Stage::Send];
    let waits = case.any_matters(&stages);
    if !waits && !case.slow() {
        return None;
    }
    let allowance = counted().any(|(name, _)| name.contains("allowance_exceeded"));
    let claim = match allowance {
        true => {
            "The cloud's allowance for this instance's network is exceeded, and packets wait or are dropped"
        }
        false => "The network interface drops packets that it receives",
    };
    let mut claim = Claim::new(waits, case.share(&stages), claim).seen(
        "packets dropped at least, of those of the interface",
        Some(share),
        percent,
        "0 %",
    );
    for (name, packets) in counted().take(5) {
        claim = claim.told(name.as_str(), packets.to_string(), "0");
    }
    Some(claim)
}

/// What a counter (`eth0 rx_missed_errors`) lost of the packets that its interface received or sent.
fn lost(case: &Case, counter: &str, packets: f64) -> Option<f64> {
    let of = |name: &str| counter.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
    let interface = case.interfaces().filter(|face| of(&face.name)).max_by_key(|face| face.name.len());
    let carried = match (interface, counter.contains(" tx_")) {
        (Some(face), true) => count(face.sent_packets),
        (Some(face), false) => count(face.received_packets),
        // Its traffic is not known, only that of all.
        (None, _) => case.received_packets(),
    };
    // What was dropped before it was received is in no other counter.
    ratio(Some(packets), sum([carried, Some(packets)].into_iter()))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    host(path).nic_drops.insert("eth0 rx_missed_errors".into(), 12_000);
    host(path).tcp.retransmitted = Some(6_000);
    wait(path, |waits| waits.unexplained = 18.0);
}
