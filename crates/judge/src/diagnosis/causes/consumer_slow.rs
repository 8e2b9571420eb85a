//! The consumers' application takes messages more slowly than they come.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{least, ratio, share};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "consumer-slow",
        summary: "The consumers' application takes messages more slowly than they come.",
        page: include_str!("../../../../../docs/findings/consumer-slow.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "their lag grows, and they hardly wait in poll()",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "let one consumer do nothing with its messages",
            setting: None,
            observe: "lag",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &["commits-frequent", "group-rebalances", "hot-partition", "few-partitions"],
    rivals: &["fetch-wait", "cold-reads"],
    advice: &[
        "Do less for each message, in parallel, or with more consumers (as long as there are partitions).",
        "A larger fetch does not help: messages wait in the client already.",
    ],
    check,
};

/// Share of the time in poll() below which the application is busy (ours).
const POLL_IDLE_MAX: f64 = 0.2;
/// Fetched messages, and their part of the lag, from which the application is what is waited for (ours).
const FETCHED_MIN: f64 = 100.0;
const FETCHED_PART: f64 = 0.5;
/// The fetched messages that librdkafka keeps before it stops (queued.min.messages).
const QUEUE_DEFAULT: f64 = 100_000.0;

fn check(case: &Case) -> Option<Claim> {
    if !case.lag_grows() {
        return None;
    }
    let idle = share(least(case.consumers().map(|client| client.poll_idle_share)));
    let queue = case.consumers_most(|client| client.fetch_queue);
    let limit = case.consumer_number(&["queued.min.messages"]).unwrap_or(QUEUE_DEFAULT);
    let full = ratio(queue, Some(limit)).is_some_and(|full| full >= 0.9);
    // What is behind was fetched already: nobody but the application is waited for.
    let lag = case.consumers_most(|client| client.lag);
    let fetched = queue.is_some_and(|queue| queue >= FETCHED_MIN)
        && ratio(queue, lag).is_some_and(|part| part >= FETCHED_PART);
    let busy = idle.is_some_and(|idle| idle < POLL_IDLE_MAX) || fetched;
    if !busy && !full && (idle.is_some() || queue.is_some()) {
        return None;
    }
    Some(
        Claim::new(
            busy || full,
            case.share(&[Stage::Fetch]),
            "The consumers' application is slower than messages come, and its lag grows",
        )
        .seen("lag growth, of the messages", case.lag_growth(), percent, "0 %")
        .seen("lag in messages", case.consumers_most(|client| client.lag), short, "")
        .seen("time in which the application waits in poll()", idle, percent, "above 20 %")
        .seen("fetched messages that wait for the application", queue, short, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    consumers(path, |client| {
        (client.lag_growth_per_s, client.lag, client.poll_idle_share) =
            (Some(9_000.0), Some(500_000.0), Some(0.01));
    });
    wait(path, |waits| waits.fetch = 8_000.0);
}
