//! One partition takes most of the messages.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::most;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, ratio_digits, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::prose::quoted;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "hot-partition",
        summary: "One partition takes most of the messages.",
        page: include_str!("../../../../../docs/findings/hot-partition.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the clients' messages by partition are held against each other, and somebody waits for the busiest",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "send the same messages without keys",
            setting: None,
            observe: "largest partition over the mean",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["leader-skew", "few-partitions", "handlers-saturated"],
    advice: &[
        "Choose a key with more values, or add something to the hot ones; more partitions do not help a hot key.",
        "Send without keys where order does not matter.",
    ],
    check,
};

/// The largest partition over the mean from which it is hot (ours).
const SKEW_MIN: f64 = 3.0;

fn check(case: &Case) -> Option<Claim> {
    let skew = most(case.path.clients.iter().map(|client| client.partition_skew))
        .filter(|skew| *skew >= SKEW_MIN)?;
    let stages =
        [Stage::Local, Stage::RequestQueue, Stage::ClientQueue, Stage::Unexplained, Stage::ResponseQueue];
    let at_broker =
        case.any_matters(&[Stage::Local, Stage::RequestQueue, Stage::Unexplained, Stage::ResponseQueue]);
    let at_client = case.queue_matters();
    if !at_broker && !at_client && !case.lag_grows() {
        return None;
    }
    let topic = case.busiest_topic().map_or_else(String::new, |(topic, _)| format!(" of {}", quoted(topic)));
    Some(
        Claim::new(
            true,
            case.share(&stages),
            format!("One partition{topic} takes {} times the mean of all", ratio_digits(skew)),
        )
        .seen("largest partition over the mean", Some(skew), ratio_digits, "about 1")
        .seen("lag growth, of the messages", case.lag_growth(), percent, "0 %")
        .seen("time of an append", case.stages.mean_ns(Stage::Local), time, "")
        .seen("time in the producers' queue", case.stages.mean_ns(Stage::ClientQueue), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| client.partition_skew = Some(10.5));
    set_idle(&mut path.brokers[0], 0.5, 0.3);
    wait(path, |waits| (waits.client_queue, waits.local) = (18.0, 9.0));
}
