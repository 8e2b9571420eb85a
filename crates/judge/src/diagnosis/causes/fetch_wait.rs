//! Consumers wait for more bytes than come (fetch.min.bytes).

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::ratio;
use super::super::stages::{Stage, appends_of_fetch, fetch_held_ns};
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, ratio_digits, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "fetch-wait",
        summary: "Consumers wait for more bytes than come (fetch.min.bytes).",
        page: include_str!("../../../../../docs/findings/fetch-wait.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the time from acknowledgement to consumer fits the settings that were read",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "let fetches return at once",
            setting: Some(SettingRow { path: "consumer.fetch.min.bytes", value: "1" }),
            observe: "end_to_end.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["consumer-slow", "slow-follower", "open-transactions"],
    advice: &[
        "Set fetch.min.bytes to 1, or lower fetch.max.wait.ms (fetch.wait.max.ms of librdkafka) to what you can bear.",
        "For throughput keep it: Amazon MSK's guide names 32 to 128 KB.",
    ],
    check,
};

/// The default of fetch.max.wait.ms.
const WAIT_NS: f64 = 500e6;
/// A wait of a consumer that is long in itself, however long the producers wait (ours).
const LONG_NS: f64 = 20e6;
/// The time from acknowledgement to consumer over the longest wait of a fetch: a message comes at any moment of it (ours).
const PART: std::ops::RangeInclusive<f64> = 0.1..=1.2;

fn check(case: &Case) -> Option<Claim> {
    if case.lag_grows() {
        return None;
    }
    // Nobody told the setting or the time to the consumers: that fetches wait while messages come is a sign all the same.
    if case.stages.mean_ns(Stage::Fetch).is_none() && case.fetches_wait() {
        let claim = format!(
            "Fetches of consumers wait {} in the broker while messages come: some consumer may want more bytes than one message has",
            time(fetch_held_ns(case.path)?)
        );
        return Some(
            Claim::new(false, None, claim)
                .seen(
                    "wait of a consumer's fetch in the broker",
                    fetch_held_ns(case.path),
                    time,
                    "until the next message",
                )
                .seen(
                    "appends for each fetch of a consumer",
                    appends_of_fetch(case.path),
                    ratio_digits,
                    "1 where a fetch returns at the first",
                )
                .told("fetch.min.bytes", "not told", "1"),
        );
    }
    let least_bytes = case.consumer_number(&["fetch.min.bytes"]);
    let fetch_ns = case.stages.mean_ns(Stage::Fetch)?;
    let is_told_and_long = least_bytes.is_some() && fetch_ns >= LONG_NS;
    if !case.matters(Stage::Fetch) && !is_told_and_long {
        return None;
    }
    let set = least_bytes.is_some_and(|bytes| bytes > 1.0);
    if least_bytes.is_some() && !set {
        return None;
    }
    let wait_ns = case
        .consumer_number(&["fetch.max.wait.ms", "fetch.wait.max.ms"])
        .map_or(WAIT_NS, |wait_ms| wait_ms * 1e6);
    if !ratio(Some(fetch_ns), Some(wait_ns)).is_some_and(|part| PART.contains(&part)) {
        return None;
    }
    let open = case.consumers_most(|client| client.stable_offset_lag).is_some_and(|lag| lag > 0.0);
    Some(
        Claim::new(
            set && !open,
            case.share(&[Stage::Fetch]),
            format!(
                "Consumers wait for fetch.min.bytes: a message lies in the broker for {} after its acknowledgement",
                time(fetch_ns)
            ),
        )
        .seen("time from acknowledgement to consumer", Some(fetch_ns), time, "")
        .seen("wait of a consumer's fetch in the broker", fetch_held_ns(case.path), time, "until the next message")
        .seen("appends for each fetch of a consumer", appends_of_fetch(case.path), ratio_digits, "1 where a fetch returns at the first")
        .seen("fetch.min.bytes", least_bytes, short, "1")
        .seen("longest wait of a fetch", Some(wait_ns), time, "")
        .seen("lag growth, of the messages", case.lag_growth(), percent, "0 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    consumers(path, |client| {
        client.settings.insert("fetch.min.bytes".into(), "1000000".into());
    });
    wait(path, |waits| waits.fetch = 240.0);
}
