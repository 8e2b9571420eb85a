//! The broker flushes its log to the disk for nearly every request.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{number, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{per_s, significant, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "flush-forced",
        summary: "The broker flushes its log to the disk for nearly every request.",
        page: include_str!("../../../../../docs/findings/flush-forced.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "flushes are nearly as many as requests, and as long as the append",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "let the kernel flush",
            setting: Some(SettingRow { path: "topic.configs.flush.messages", value: "9223372036854775807" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["device-saturated", "journal-commits", "dirty-page-throttling"],
    advice: &[
        "Unset log.flush.interval.messages and log.flush.interval.ms (flush.messages, flush.ms of topics), if replication is durable enough for you: Kafka's documentation recommends it.",
        "If each message must be on the disk, use a device with power-loss protection, and larger batches: one flush then covers more.",
    ],
    check,
};

/// Flushes over Produce requests from which requests pay for them (ours).
const RATIO_MIN: f64 = 0.3;
/// Flushes a second that a broker which is a controller as well makes for the cluster's metadata: a record every
/// `metadata.max.idle.interval.ms` (500), and some more (ours).
const METADATA_PER_S: f64 = 3.0;
/// Part of the append that a flush's time makes from which it is the cause (ours).
const PART_MIN: f64 = 0.3;

fn check(case: &Case) -> Option<Claim> {
    if !case.matters(Stage::Local) {
        return None;
    }
    let flushes = case.broker_sum(|broker| broker.log_flushes_per_s);
    let of_metadata = METADATA_PER_S * case.brokers().len() as f64;
    let of_topics = flushes.map(|flushes| (flushes - of_metadata).max(0.0));
    let each = ratio(of_topics, case.requests_per_s("Produce")).filter(|each| *each >= RATIO_MIN)?;
    let flush_ns = case.broker_most(|broker| broker.log_flush_mean_ns);
    let part = ratio(flush_ns, case.stages.mean_ns(Stage::Local));
    let set = case
        .topic_settings("flush.messages")
        .chain(case.broker_setting("log.flush.interval.messages"))
        .find(|value| number(value).is_some_and(|value| value < 1e9));
    // Where the settings were read and none forces a flush, something else flushes.
    let settings = &case.path.settings;
    let is_possible = set.is_some() || settings.topics.is_empty() || settings.brokers.is_empty();
    Some(
        Claim::new(
            is_possible && part.is_some_and(|part| part >= PART_MIN),
            case.share(&[Stage::Local, Stage::RequestQueue]),
            format!(
                "The log is flushed {} times for each Produce request, and requests wait for it",
                significant(each, 3)
            ),
        )
        .seen("log flushes", flushes, per_s, "far fewer than requests")
        .seen("mean time of a flush", flush_ns, time, "")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, "")
        .told(
            "flush.messages or log.flush.interval.messages",
            set.unwrap_or("not set, or not read"),
            "not set",
        ),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    topic_setting(path, "flush.messages", "1");
    brokers(path, |broker| (broker.log_flushes_per_s, broker.log_flush_mean_ns) = (Some(300.0), Some(11e6)));
    idle(path, 0.85, 0.5);
    states(path, ThreadClass::Handler, [0.1, 0.01, 0.35, 0.5]);
    wait(path, |waits| waits.local = 14.0);
}
