//! The application takes its delivery reports too slowly.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{known, most, ratio, sum};
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::ClientWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "callbacks-slow",
        summary: "The application takes its delivery reports too slowly.",
        page: include_str!("../../../../../docs/findings/callbacks-slow.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the client counted the reports that wait, and they grow",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "use a delivery callback that does nothing",
            setting: None,
            observe: "delivery reports that wait",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["client-cpu-bound", "linger-too-long"],
    advice: &[
        "Call poll() from a thread of its own, and hand work of callbacks to other threads.",
        "Ask for reports of errors only, where the application does nothing with the others.",
    ],
    check,
};

/// Reports that wait for this long at the present rate (ours).
const WAIT_NS_MIN: f64 = 100e6;
/// Fewer messages whose reports wait hold nobody up (ours).
const REPORTS_MIN: f64 = 10.0;
/// The part of the acknowledgement that no stage explains from which it is a sign (ours).
const REST_SHARE_MIN: f64 = 0.25;

fn check(case: &Case) -> Option<Claim> {
    let wait_ns = |waiting: fn(&ClientWindow) -> Option<f64>| {
        most(case.producers().map(|client| Some(ratio(waiting(client), client.messages_per_s)? * 1e9)))
    };
    // Entries of the queue may carry many messages each, and messages that are in no other queue are counted one by one.
    let reports_ns = wait_ns(|client| client.reports_waiting.filter(|waiting| *waiting >= REPORTS_MIN));
    let waits_ns = most([wait_ns(|client| client.reply_queue), reports_ns].into_iter());
    let grows = case.producers().any(|client| client.reply_queue_grows == Some(true));
    let is_long = |waits_ns: Option<f64>| waits_ns.is_some_and(|waits_ns| waits_ns >= WAIT_NS_MIN);
    let queued = grows && is_long(waits_ns) || is_long(reports_ns);
    // The Java client has no such queue: the application sees the acknowledgement later than the client.
    let parts = |client: &ClientWindow| {
        sum([client.queue_mean_ns, client.outbuf_mean_ns, client.rtt_mean_ns].into_iter())
    };
    let rest_ns = most(case.producers().map(|client| {
        known(client.queue_mean_ns)?;
        Some(known(client.acknowledge_mean_ns)? - known(client.rtt_mean_ns).and(parts(client))?)
    }));
    let acknowledge_ns = case.producers_most(|client| client.acknowledge_mean_ns);
    let rest = ratio(rest_ns, acknowledge_ns).filter(|_| rest_ns.is_some_and(|rest_ns| rest_ns >= 2e6));
    let late = rest.is_some_and(|rest| rest >= REST_SHARE_MIN);
    if !queued && !late {
        return None;
    }
    let share = match queued {
        true => waits_ns.map(|waits_ns| waits_ns / (waits_ns + case.stages.sum_ns().unwrap_or(0.0))),
        false => rest,
    };
    Some(
        Claim::new(
            queued,
            share,
            "The application takes its delivery reports more slowly than the brokers acknowledge",
        )
        .seen(
            "entries in the queue of delivery reports",
            case.producers_most(|client| client.reply_queue),
            short,
            "near 0",
        )
        .seen(
            "messages whose report waits, on average",
            case.producers_most(|client| client.reports_waiting),
            short,
            "near 0",
        )
        .seen("their wait at this rate", waits_ns, time, "below 100 ms")
        .told("they grow in every reading", if grows { "yes" } else { "not told" }, "no")
        .seen("mean round trip", case.stages.rtt_ns, time, "")
        .seen("part of the acknowledgement after the round trip", rest, percent, "below 25 %"),
    )
}

/// A path that has it, by the size of the queue alone: a version of the client that does not count what is in flight.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.reply_queue = Some(90_000.0);
        client.reply_queue_grows = Some(true);
    });
}
