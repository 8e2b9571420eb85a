//! The busiest topic has fewer partitions than there are brokers or consumers to share its work.

use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::most;
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::prose::quoted;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "few-partitions",
        summary: "The busiest topic has fewer partitions than there are brokers or consumers to share its work.",
        page: include_str!("../../../../../docs/findings/few-partitions.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the topic's partitions were read, and the brokers that lead none of it are idle",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "send the same load to a topic with twice as many partitions",
            setting: None,
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[],
    rivals: &["handlers-saturated", "hot-partition", "leader-skew"],
    advice: &[
        "Add partitions: at least as many as brokers, and as consumers of the largest group. Messages with keys change their partition then, so that their order is kept only from there on.",
    ],
    check,
};

/// Share of the bytes from which a topic is the load (ours).
const TOPIC_MIN: f64 = 0.5;
/// Idle time of brokers that have nothing to do with it (ours).
const OTHERS_IDLE: f64 = 0.5;

fn check(case: &Case) -> Option<Claim> {
    let (topic, share_of_bytes) = case.busiest_topic().filter(|(_, share)| *share >= TOPIC_MIN)?;
    let partitions = f64::from(case.path.settings.topics.get(topic)?.partitions);
    let brokers = case.brokers().len() as f64;
    let consumers = case.consumers().count() as f64;
    let few_for_brokers = partitions > 0.0 && partitions < brokers;
    let few_for_consumers = partitions > 0.0 && partitions < consumers && case.lag_grows();
    let waits =
        case.any_matters(&[Stage::Local, Stage::RequestQueue, Stage::Unexplained, Stage::ResponseQueue])
            || case.queue_matters();
    // More partitions help only where the brokers that lead them, or the connections to these, have no time left.
    let for_brokers = few_for_brokers && waits && (case.threads_busy() || case.connection_is_full());
    if !few_for_consumers && !for_brokers {
        return None;
    }
    // A full connection alone is a cause of its own; that its requests go to few brokers is one way out of it.
    let leaders_are_busy = for_brokers && case.threads_busy();
    let idle = most(case.brokers().iter().map(|broker| broker.handlers.idle_share));
    let stages =
        [Stage::ClientQueue, Stage::Local, Stage::RequestQueue, Stage::Unexplained, Stage::ResponseQueue];
    Some(
        Claim::new(
            few_for_consumers || leaders_are_busy && idle.is_some_and(|idle| idle >= OTHERS_IDLE),
            case.share(&stages),
            format!(
                "Topic {} carries {} of the bytes on {}",
                quoted(topic),
                percent(share_of_bytes),
                plumb_model::figure::counted(partitions as u64, "partition")
            ),
        )
        .seen("partitions", Some(partitions), short, "at least as many as brokers and consumers")
        .seen("brokers", Some(brokers), short, "")
        .seen("consumers whose statistics were read", Some(consumers), short, "")
        .seen("idle of handlers of the least busy broker", idle, percent, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    path.settings.topics.get_mut("orders").unwrap().partitions = 1;
    path.brokers[0].bytes_in_per_s = Some(30e6);
    path.brokers[1].bytes_in_per_s = Some(0.0);
    path.brokers[2].bytes_in_per_s = Some(0.0);
    set_idle(&mut path.brokers[0], 0.5, 0.2);
    wait(path, |waits| (waits.client_queue, waits.local) = (22.0, 9.0));
}
