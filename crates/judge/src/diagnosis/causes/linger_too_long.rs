//! Most of the wait is the producers' own: they wait for more messages that do not come (linger.ms).

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::client::in_flight_limit;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "linger-too-long",
        summary: "Most of the wait is the producers' own: they wait for more messages that do not come (linger.ms).",
        page: include_str!("../../../../../docs/findings/linger-too-long.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the wait in the queue is as long as the linger that was read back, and batches leave unfilled",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "send without lingering",
            setting: Some(SettingRow { path: "producer.linger.ms", value: "0" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["in-flight-limit", "serial-connection", "client-cpu-bound"],
    advice: &[
        "Lower linger.ms: the first message of a batch waits all of it, the mean about half; with 0 each message goes at once.",
        "At rates that fill batches sooner linger costs nothing: ask again at the rate that matters.",
        "Or lower batch.size so that batches are full before the time is over.",
    ],
    check,
};

/// The wait must be at least this long (ours): 5 ms is the default of current clients, and nobody's fault.
const QUEUE_NS_MIN: f64 = 10e6;
/// Round trips that a wait lasts which is none for answers (ours).
const ROUND_TRIPS_MIN: f64 = 5.0;
/// And at least this share of all waits until the acknowledgement (ours).
const SHARE_MIN: f64 = 0.5;
/// Where the linger was told and the wait is as long as it, a smaller share is enough for a wait that is long in itself (ours).
const TOLD_SHARE_MIN: f64 = 0.1;
const TOLD_NS_MIN: f64 = 20e6;

fn check(case: &Case) -> Option<Claim> {
    let queue_ns = case.stages.mean_ns(Stage::ClientQueue).filter(|queue_ns| *queue_ns >= QUEUE_NS_MIN)?;
    let least = if is_told(case, queue_ns) { TOLD_SHARE_MIN } else { SHARE_MIN };
    case.share_of_produce(&[Stage::ClientQueue]).filter(|share| *share >= least)?;
    let share = case.share(&[Stage::ClientQueue])?;
    // Half the linger: every message of a batch but the first waits less. A little above it: the sender has to wake up.
    let is_linger = |linger_ns: f64| (0.5 * linger_ns..=1.2 * linger_ns + 0.3e6).contains(&queue_ns);
    let full = match (
        case.producers_mean(|client| client.batch_bytes_mean),
        case.producer_number(&["batch.size"]),
    ) {
        (Some(bytes), Some(size)) => bytes >= 0.5 * size,
        _ => false,
    };
    let queued = case.producers_most(|client| client.queue_share_max).is_some_and(|share| share >= 0.5);
    let in_flight = case.producers_most(|client| client.in_flight_max);
    let supported = match case.linger_ns() {
        Some(linger_ns) if !is_linger(linger_ns) => return None,
        linger_ns => linger_ns.is_some() && !full && !queued,
    };
    // Nobody told the linger: a sender that waits for answers waits about as long as they take, and one that lingers waits far longer.
    let far_longer = case.stages.rtt_ns.is_some_and(|rtt_ns| queue_ns >= ROUND_TRIPS_MIN * rtt_ns);
    let waits_for_answers = in_flight.is_none_or(|in_flight| in_flight > 1.0) && !far_longer;
    if full || queued || (!supported && waits_for_answers) {
        return None;
    }
    let setting = case
        .linger_ns()
        .map_or_else(String::new, |linger_ns| format!(" linger.ms is {}, and", linger_ns / 1e6));
    Some(
        Claim::new(
            supported,
            Some(share),
            format!("{} of the wait ({}) are the producers waiting for more messages:{setting} batches leave unfilled", percent(share), time(queue_ns)),
        )
        .seen("wait in the producers' queue", Some(queue_ns), time, "well below the linger")
        .seen("linger.ms in force", case.linger_ns().map(|linger_ns| linger_ns / 1e6), short, "")
        .seen("bytes of a batch", case.producers_mean(|client| client.batch_bytes_mean), short, "")
        .seen("requests in flight at most", in_flight, short, ""),
    )
}

/// Whether the wait is a linger that was told, and no wait for the answers of requests in flight.
fn is_told(case: &Case, queue_ns: f64) -> bool {
    let at_limit = case.producers().any(|client| {
        let limit = client.in_flight_max.zip(in_flight_limit(client));
        limit.is_some_and(|(in_flight, limit)| in_flight >= limit)
    });
    queue_ns >= TOLD_NS_MIN && case.linger_ns().is_some() && !at_limit
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.messages_per_s = Some(50.0);
        client.bytes_per_s = Some(50_000.0);
        client.batch_messages_mean = Some(5.0);
        client.batch_bytes_mean = Some(5_000.0);
        client.in_flight_max = Some(1.0);
        client.settings.insert("linger.ms".into(), "200".into());
    });
    wait(path, |waits| waits.client_queue = 160.0);
}
