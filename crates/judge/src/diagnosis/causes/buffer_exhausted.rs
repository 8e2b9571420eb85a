//! send() waits because the producers' buffer is full.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::client::setting;
use super::super::measure::{least, number, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::ClientWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "buffer-exhausted",
        summary: "send() waits because the producers' buffer is full.",
        page: include_str!("../../../../../docs/findings/buffer-exhausted.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the clients counted their waits for memory, and the buffer holds too little for the rate; it is suspected where the buffer is large enough",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "double the producers' buffer",
            setting: None,
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[
        "in-flight-limit",
        "serial-connection",
        "handlers-saturated",
        "handlers-blocked",
        "network-threads-saturated",
        "network-saturated",
        "device-saturated",
        "device-throttled",
        "dirty-page-throttling",
        "flush-forced",
        "journal-commits",
        "slow-follower",
        "few-replica-fetchers",
        "quota-throttling",
        "packet-loss",
        "nagle-delayed-ack",
        "socket-buffers-small",
        "aes-not-accelerated",
        "tls-cpu",
        "batches-too-small",
        "client-cpu-bound",
        "partition-lock",
        "cpu-quota",
        "process-stopped",
        "noisy-neighbour",
        "processors-saturated",
        "client-compression-cpu",
        "leader-skew",
        "hot-partition",
        "callbacks-slow",
    ],
    rivals: &["linger-too-long", "callbacks-slow"],
    advice: &[
        "Find what is slow behind the buffer first: a larger one only makes the wait longer if the path cannot take the rate.",
        "Size the buffer as rate times the longest outage that it has to bear (buffer.memory; queue.buffering.max.kbytes of librdkafka).",
    ],
    check,
};

/// send() waits this share of the time or more (ours).
const WAIT_SHARE_MIN: f64 = 0.05;
/// The buffer is nearly full from here up (ours).
const FULL: f64 = 0.9;
/// A buffer that holds less than this time of the rate is small (ours: the Java default of 32 MiB holds it at 128 MB/s).
const HELD_S_MIN: f64 = 0.25;

fn check(case: &Case) -> Option<Claim> {
    let waits = case.producers_most(|client| client.buffer_wait_share);
    let full = case.producers_most(|client| client.queue_share_max);
    let held_s = least(case.producers().map(|client| ratio(buffer_bytes(client), client.bytes_per_s)));
    let waits_long = waits.is_some_and(|waits| waits >= WAIT_SHARE_MIN);
    let is_full = full.is_some_and(|full| full >= FULL);
    if !waits_long && !is_full {
        return None;
    }
    // A full buffer holds what waits in it: its time of the rate is the wait (Little's law).
    let waited_s = case.stages.mean_ns(Stage::ClientQueue).filter(|_| is_full).map(|queue_ns| queue_ns / 1e9);
    let held_s = held_s.or(waited_s);
    let small = held_s.is_some_and(|held_s| held_s < HELD_S_MIN);
    let behind = [Stage::Unexplained, Stage::RequestQueue, Stage::Local, Stage::Remote, Stage::ResponseQueue];
    let is_root = !case.any_matters(&behind) && !case.connection_is_full();
    let why = match small {
        true => "it holds too little for this rate",
        false => "what is behind it does not take the rate",
    };
    Some(
        Claim::new(
            small && (waits_long || is_full && is_root),
            case.share(&[Stage::ClientQueue]),
            format!("The producers' buffer is full and send() waits: {why}"),
        )
        .seen("time for which send() waits for memory", waits, percent, "0 %")
        .seen("buffer in use at most", full, percent, "below 90 %")
        .seen(
            "time of the rate that the buffer holds",
            held_s.map(|held_s| held_s * 1e9),
            time,
            "above 250 ms",
        ),
    )
}

fn buffer_bytes(client: &ClientWindow) -> Option<f64> {
    let java = setting(client, &["buffer.memory"]).and_then(number);
    java.or_else(|| Some(setting(client, &["queue.buffering.max.kbytes"]).and_then(number)? * 1024.0))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.buffer_wait_share = Some(0.6);
        client.queue_share_max = Some(1.0);
        client.settings.insert("buffer.memory".into(), "1048576".into());
    });
    wait(path, |waits| waits.client_queue = 25.0);
}
