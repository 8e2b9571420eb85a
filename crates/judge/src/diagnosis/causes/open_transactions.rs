//! Consumers of committed messages wait for transactions that are open.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::client::setting;
use super::super::measure::{most, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "open-transactions",
        summary: "Consumers of committed messages wait for transactions that are open.",
        page: include_str!("../../../../../docs/findings/open-transactions.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the last stable offset stands behind, and consumers read only up to it",
        stage: Some(PathStage::Fetch),
        flip: Some(FlipRow {
            change: "read without waiting for commits, in a test",
            setting: Some(SettingRow { path: "consumer.isolation.level", value: "read_uncommitted" }),
            observe: "end_to_end.mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["fetch-wait", "slow-follower", "consumer-slow"],
    advice: &[
        "Make transactions shorter: one for each batch of work, and with transaction.timeout.ms of what a failed producer may cost.",
        "Abort transactions that hang (kafka-transactions --abort).",
    ],
    check,
};

/// The time of the messages that wait, over the time from acknowledgement to consumer, from which they explain it (ours).
const PART_MIN: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let lag = case.consumers_most(|client| client.stable_offset_lag).filter(|lag| *lag > 0.0);
    let late = case.broker_sum(|broker| broker.late_transactions).filter(|late| *late > 0.0);
    let held_ns = most(
        case.consumers().map(|client| Some(ratio(client.stable_offset_lag, client.messages_per_s)? * 1e9)),
    );
    let isolation = case.consumers().find_map(|client| setting(client, &["isolation.level"]));
    if lag.or(late).is_none() || isolation == Some("read_uncommitted") && lag.is_none() {
        return None;
    }
    let fetch_ns = case.stages.mean_ns(Stage::Fetch);
    let explains = ratio(held_ns, fetch_ns).is_some_and(|part| part >= PART_MIN);
    let waits = case.matters(Stage::Fetch);
    // Who receives nothing while messages lie behind the stable offset waits for it, however long that is.
    let stuck = lag.is_some() && case.consumers().all(|client| client.messages_per_s == Some(0.0));
    if !waits && late.is_none() && !stuck {
        return None;
    }
    Some(
        Claim::new(
            lag.is_some() && (stuck || waits && (explains || late.is_some())),
            case.share(&[Stage::Fetch]).filter(|_| waits),
            "Consumers wait for open transactions: the last stable offset is behind",
        )
        .seen("messages behind which the last stable offset stands", lag, short, "0")
        .seen("their time at this rate", held_ns, time, "")
        .seen("transactions open for too long", late, short, "0")
        .told("isolation.level", isolation.unwrap_or("not told"), "")
        .seen("time from acknowledgement to consumer", fetch_ns, time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    consumers(path, |client| {
        client.settings.insert("isolation.level".into(), "read_committed".into());
        client.stable_offset_lag = Some(15_000.0);
    });
    wait(path, |waits| waits.fetch = 450.0);
}
