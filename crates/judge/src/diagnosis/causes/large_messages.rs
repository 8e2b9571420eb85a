//! Messages are large, and one holds up all that are behind it on its connection.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, significant, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "large-messages",
        summary: "Messages are large, and one holds up all that are behind it on its connection.",
        page: include_str!("../../../../../docs/findings/large-messages.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the mean message was told, and the way and the append of such requests are long while nothing is at its limit",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "send the large messages to a topic and a producer of their own",
            setting: None,
            observe: "mean acknowledgement of the others",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "network-saturated",
        "device-saturated",
        "packet-loss",
        "device-throttled",
        "dirty-page-throttling",
        "socket-buffers-small",
    ],
    rivals: &["batches-too-small", "network-saturated", "slow-follower"],
    advice: &[
        "Keep large objects elsewhere and send where they are, or cut them in parts.",
        "Give large messages a topic and a producer of their own, so that small ones do not wait behind them.",
    ],
    check,
};

/// A message from here up is large (Strimzi: ideally a few 100 KB at most).
const LARGE: f64 = 262_144.0;
/// A round trip must be at least this long (ours).
const RTT_NS_MIN: f64 = 20e6;
/// And these stages its main part (ours).
const SHARE_MIN: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let bytes = case.producers_mean(|client| client.record_bytes_mean).filter(|bytes| *bytes >= LARGE)?;
    let rtt_ns = case.stages.rtt_ns.or(case.stages.broker_ns).filter(|rtt_ns| *rtt_ns >= RTT_NS_MIN)?;
    let stages = [Stage::ClientSend, Stage::Unexplained, Stage::Local, Stage::Remote, Stage::Send];
    case.share_of_produce(&stages).filter(|share| *share >= SHARE_MIN)?;
    let share = case.share(&stages)?;
    Some(
        Claim::new(!case.threads_busy() && !case.disk_is_slow(), Some(share), format!("A message has {} on average; its way, its append and its replication take {} of the wait, and others wait behind it", bytes_text(bytes), percent(share)))
            .seen("bytes of a message", Some(bytes), bytes_text, "a few 100 KB at most")
            .seen("mean round trip", Some(rtt_ns), time, "")
            .seen("messages of a batch", case.producers_mean(|client| client.batch_messages_mean), short, "more than 1"),
    )
}

fn bytes_text(bytes: f64) -> String {
    format!("{} MB", significant(bytes / 1e6, 3))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        (client.messages_per_s, client.bytes_per_s) = (Some(4.0), Some(8e6));
        (client.batch_messages_mean, client.batch_bytes_mean) = (Some(1.0), Some(2e6));
        client.record_bytes_mean = Some(2e6);
    });
    brokers(path, |broker| broker.requests.get_mut("Produce").unwrap().per_s = Some(5.3));
    wait(path, |waits| (waits.unexplained, waits.local, waits.remote) = (40.0, 9.0, 12.0));
}
