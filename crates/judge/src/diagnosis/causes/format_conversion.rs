//! The brokers convert messages for clients of an old version.

use super::super::case::{CPU_BUSY, Case};
use super::super::cause::{CauseRow, Claim};
use super::super::measure::ratio;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{per_s, percent, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "format-conversion",
        summary: "The brokers convert messages for clients of an old version.",
        page: include_str!("../../../../../docs/findings/format-conversion.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the brokers counted the converted messages",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "upgrade one of the old clients",
            setting: None,
            observe: "converted messages a second",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["handlers-saturated", "cold-reads"],
    advice: &[
        "Upgrade the clients of the old version: the broker's requests by version name it.",
        "Messages that are converted lose zero-copy: until then expect more processor time and memory for each byte read.",
    ],
    check,
};

/// Share of the messages from which conversion is worth a look (ours; 0 is usual).
const SHARE_SEEN: f64 = 0.01;
/// From which it is a cause (ours).
const SHARE_MIN: f64 = 0.1;

fn check(case: &Case) -> Option<Claim> {
    let converted = case.broker_sum(|broker| broker.conversions_per_s);
    let messages = case.broker_sum(|broker| broker.messages_in_per_s);
    let share = ratio(converted, messages).filter(|share| *share >= SHARE_SEEN)?;
    let fetch_ns = case.request_mean_ns("FetchConsumer", |kind| kind.stages.local);
    let waits = case.any_matters(&[Stage::Local, Stage::RequestQueue])
        || fetch_ns.is_some_and(|fetch_ns| fetch_ns >= 5e6);
    let cost = case.handlers_busy() || case.cpu_busy().is_some_and(|busy| busy >= CPU_BUSY);
    Some(
        Claim::new(
            share >= SHARE_MIN && waits && cost,
            case.share(&[Stage::Local, Stage::RequestQueue]),
            format!("The brokers convert {} of the messages to another format", percent(share.min(1.0))),
        )
        .seen("messages converted", converted, per_s, "0/s")
        .seen("messages in", messages, per_s, "")
        .seen("time of a consumer's fetch in the log", fetch_ns, time, "")
        .seen("idle of request handlers", case.handler_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    brokers(path, |broker| broker.conversions_per_s = Some(8_000.0));
    idle(path, 0.7, 0.15);
    cpu_busy(path, 0.8);
    states(path, ThreadClass::Handler, [0.8, 0.03, 0.0, 0.15]);
    wait(path, |waits| (waits.local, waits.request_queue) = (16.0, 4.0));
}
