//! The request queue is full, and the network threads wait to put requests into it.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::ratio;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, short, significant};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::ThreadClass;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "request-queue-full",
        summary: "The request queue is full, and the network threads wait to put requests into it.",
        page: include_str!("../../../../../docs/findings/request-queue-full.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the length of the queue was read, and is held against its limit",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "raise queued.max.requests to 500",
            setting: Some(SettingRow { path: "cluster.broker_properties.queued.max.requests", value: "500" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[
        "handlers-saturated",
        "handlers-blocked",
        "batches-too-small",
        "device-saturated",
        "device-throttled",
        "dirty-page-throttling",
        "partition-lock",
        "cpu-quota",
        "process-stopped",
        "noisy-neighbour",
        "gc-pauses",
        "flush-forced",
        "journal-commits",
    ],
    rivals: &["network-threads-saturated", "handlers-saturated"],
    advice: &[
        "Help the handlers: the queue is full because they do not take requests as fast as they come.",
        "Set queued.max.requests back to its default of 500 if it is lower.",
    ],
    check,
};

/// Use of the queue from which it is full (ours).
const FULL: f64 = 0.9;
/// The default of queued.max.requests in Apache Kafka.
const DEFAULT_MAX: f64 = 500.0;

/// A queue that is shorter is full and empty many times between two looks at it (ours).
const SHORT: f64 = 50.0;
/// Time for which a network thread neither waits for its sockets nor runs from which it waits for the queue (ours).
const WAITING_MIN: f64 = 0.4;

fn check(case: &Case) -> Option<Claim> {
    let limit = case.broker_number("queued.max.requests").filter(|limit| *limit > 0.0);
    let size = case.broker_most(|broker| broker.request_queue_size);
    let used = ratio(size, Some(limit.unwrap_or(DEFAULT_MAX)));
    let waiting = network_waits(case).filter(|_| limit.is_some_and(|limit| limit <= SHORT));
    let is_full = used.is_some_and(|used| used >= FULL);
    let is_waited_for = waiting.is_some_and(|waiting| waiting >= WAITING_MIN);
    let stages = [Stage::RequestQueue, Stage::Unexplained];
    if !(is_full || is_waited_for) || !case.is_kafka() || !case.any_matters(&stages) {
        return None;
    }
    let blocked = case.network_busy() || case.matters(Stage::RequestQueue);
    let places = significant(limit.unwrap_or(DEFAULT_MAX), 3);
    Some(
        Claim::new(limit.is_some() && blocked, case.share(&stages), format!("The request queue of {places} is full: network threads wait to put requests into it, and clients wait in their sockets"))
            .seen("requests in the queue at the end", size, short, "near 0")
            .seen("queued.max.requests", limit, short, "500")
            .seen("use of the queue", used, percent, "below 90 %")
            .seen("time in which a network thread waits for neither socket nor processor", waiting, percent, "near 0 %")
            .seen("idle of the busiest network thread", case.network_idle(), percent, "above 30 %")
            .seen("idle of request handlers", case.handler_idle(), percent, "above 30 %"),
    )
}

/// Share of the time in which the busiest network thread, by the broker's own count, is not idle and yet neither runs nor waits for a processor:
/// all that it waits for then is a place in the queue.
fn network_waits(case: &Case) -> Option<f64> {
    let not_idle = 1.0 - case.network_idle()?;
    let runs = case.threads(ThreadClass::Network, |threads| threads.busiest)?;
    let delayed = case.threads(ThreadClass::Network, |threads| threads.delayed()).unwrap_or(0.0).min(0.9);
    let is_in_lock =
        case.threads(ThreadClass::Network, |threads| threads.lock).is_some_and(|lock| lock > 0.0);
    is_in_lock.then_some((not_idle - runs / (1.0 - delayed)).max(0.0))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    broker_setting(path, "queued.max.requests", "1");
    brokers(path, |broker| broker.request_queue_size = Some(1.0));
    idle(path, 0.15, 0.5);
    wait(path, |waits| waits.unexplained = 20.0);
}
