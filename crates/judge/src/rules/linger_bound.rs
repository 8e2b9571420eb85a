//! Latency that is the producer's own wait for more messages.

use crate::linger::Linger;
use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{significant, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "linger-bound",
        summary: "Most of the latency is the client waiting for a batch to fill (linger.ms).",
        page: include_str!("../../../../docs/findings/linger-bound.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the wait follows from the batches that were sent and the linger that was read back",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "send without lingering",
            setting: Some(SettingRow { path: "producer.linger.ms", value: "0" }),
            observe: "end_to_end.mean",
            expect: Expect::Falls,
        }),
    },
    about: About::System,
    check: Check::Step(finding),
};

/// The wait must be at least this share of the mean to be what bounds it (ours).
const MEAN_SHARE_MIN: f64 = 0.30;

fn finding(setup: &Setup) -> Option<Finding> {
    let linger = Linger::of(setup)?;
    // Means add up; a mean wait says nothing of the median message, which may be the one that waits the whole linger.
    let mean_ns = setup.mean_ns()?;
    if linger.wait_ns < MEAN_SHARE_MIN * mean_ns || linger.wait_ns > mean_ns {
        return None;
    }
    let without = time(mean_ns - linger.wait_ns);
    let claim = format!(
        "{} of the {} mean come from linger.ms={}; {} without it would be about {without}",
        time(linger.wait_ns),
        time(mean_ns),
        linger.setting_ms,
        if setup.consumes() { "end to end" } else { "an acknowledgement" }
    );
    let statistics = &setup.result.producer_statistics;
    let mut finding = about_step(RULE.row.id, Severity::Note, setup.name(), claim)
        .seen("linger.ms in force", linger.setting_ms.to_string())
        .seen_against(
            "mean wait in the client's queue",
            time(linger.queue_mean_ns),
            format!("about {} ms", linger.setting_ms),
        );
    if let Some(rtt_ns) = statistics.rtt_mean_ns.filter(|_| !setup.unconfirmed()) {
        finding = finding.seen("mean round trip", time(rtt_ns));
    }
    if let Some(acknowledge_ns) = setup.result.latency.acknowledge.p50_ns {
        finding = finding.seen("acknowledge p50", time(acknowledge_ns as f64));
    }
    if let Some(messages) = statistics.batch_messages_mean {
        finding = finding.seen("messages per batch", significant(messages, 3));
    }
    Some(
        finding
            .advise("Set linger.ms=0 if latency matters more than requests: each message then goes as its own batch at this rate.")
            .advise("At rates that fill batches sooner, linger.ms costs nothing and saves requests."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{DEFAULT, found, healthy, one};

    #[test]
    fn the_five_milliseconds_of_the_default_are_named() {
        let finding = one(&healthy(), RULE.row.id);
        assert_eq!(finding.step.as_deref(), Some(DEFAULT));
        assert!(
            finding.claim.starts_with("5.00 ms of the 5.66 ms mean come from linger.ms=5"),
            "{}",
            finding.claim
        );
    }

    #[test]
    fn it_is_found_without_a_round_trip_and_under_either_name() {
        let mut document = healthy();
        let step = &mut document.steps[1];
        step.durability.acks = Some("0".to_owned());
        step.producer_statistics.rtt_mean_ns = None;
        step.effective.producer = [("linger.ms".to_owned(), "5".to_owned())].into();
        assert_eq!(one(&document, RULE.row.id).step.as_deref(), Some(DEFAULT));
    }

    #[test]
    fn full_batches_and_long_queues_are_not_linger() {
        let mut full = healthy();
        full.steps[1].producer_statistics.batch_messages_mean = Some(9_000.0);
        assert_eq!(found(&full, RULE.row.id), []);
        let mut queued = healthy();
        queued.steps[1].producer_statistics.queue_mean_ns = Some(50e6);
        assert_eq!(found(&queued, RULE.row.id), []);
    }

    #[test]
    fn with_two_messages_a_batch_the_mean_wait_is_held_against_the_mean_and_not_the_median() {
        // 300/s and 5 ms: every second message waits the whole linger, the other one 1.7 ms.
        let mut document = healthy();
        let step = &mut document.steps[1];
        step.producer_statistics.queue_mean_ns = Some(3_350_000.0);
        step.latency.end_to_end.mean_ns = Some(3_900_000.0);
        step.latency.end_to_end.p50_ns = Some(5_600_000);
        let finding = one(&document, RULE.row.id);
        assert!(finding.claim.starts_with("3.35 ms of the 3.90 ms mean come from"), "{}", finding.claim);
        assert!(finding.claim.contains("about 550 µs"), "{}", finding.claim);
    }

    #[test]
    fn a_linger_that_is_a_small_part_of_the_latency_bounds_nothing() {
        let mut document = healthy();
        document.steps[1].latency.end_to_end.mean_ns = Some(50e6);
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
