//! Consumers read old data from the disk, and others wait behind them.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{ratio, sum};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{bytes_per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "cold-reads",
        summary: "Consumers read old data from the disk, and others wait behind them.",
        page: include_str!("../../../../../docs/findings/cold-reads.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the kernel counted the bytes read for the broker, and threads wait for them",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "pause the group that reads old data",
            setting: None,
            observe: "bytes that the broker reads from its device",
            expect: Expect::Gone,
        }),
    },
    consequence_of: &[],
    rivals: &["network-threads-saturated", "device-saturated", "slow-follower"],
    advice: &[
        "Give the group that is behind a quota (consumer_byte_rate), or let it read from a follower.",
        "Give the page cache more memory: Kafka's documentation counts 30 s of what is written.",
        "Keep old data in tiered storage.",
    ],
    check,
};

/// Bytes read from the device over bytes to consumers from which they are not from memory (ours; with consumers that keep up it is 0).
const SHARE_SEEN: f64 = 0.05;
/// From which they are a cause (ours).
const SHARE_MIN: f64 = 0.2;
/// Less than this is nothing for a device (ours).
const BYTES_MIN: f64 = 1e6;

fn check(case: &Case) -> Option<Claim> {
    let read = sum(case.broker_processes().map(|process| process.device_read_bytes_per_s))
        .filter(|read| *read >= BYTES_MIN)?;
    let here = case.brokers().iter().filter(|broker| broker.pid.is_some() || case.brokers().len() == 1);
    let share = ratio(Some(read), sum(here.map(|broker| broker.bytes_out_per_s)))
        .filter(|share| *share >= SHARE_SEEN)?;
    let fetch_ns = case.request_mean_ns("FetchConsumer", |kind| kind.stages.local);
    let network = case.threads(ThreadClass::Network, |threads| threads.disk);
    let blocked = network.is_some_and(|disk| disk >= 0.1) || fetch_ns.is_some_and(|fetch_ns| fetch_ns >= 5e6);
    let stages = [Stage::Unexplained, Stage::ResponseQueue, Stage::Send, Stage::Local, Stage::Fetch];
    if !blocked && !case.any_matters(&stages[..4]) {
        return None;
    }
    Some(
        Claim::new(
            share >= SHARE_MIN && blocked && case.any_matters(&stages),
            case.share(&stages[..4]),
            "Consumers read data that is no longer in memory, and the broker's threads wait for the disk",
        )
        .seen("bytes read from the device", Some(read), bytes_per_s, "0 MB/s")
        .seen("of what goes to consumers", Some(share.min(1.0)), percent, "below 5 %")
        .seen("network threads waiting for a disk", network, percent, "0 %")
        .seen("time of a consumer's fetch in the log", fetch_ns, time, "")
        .seen("idle of the busiest network thread", case.network_idle(), percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    process(path).device_read_bytes_per_s = Some(60e6);
    brokers(path, |broker| broker.bytes_out_per_s = Some(70e6));
    states(path, ThreadClass::Network, [0.2, 0.01, 0.6, 0.0]);
    idle(path, 0.2, 0.8);
    wait(path, |waits| (waits.unexplained, waits.response_queue) = (25.0, 15.0));
}
