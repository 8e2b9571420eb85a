//! Latency that is librdkafka's own queue: an idempotent producer that holds messages back and polls meanwhile.
//!
//! Kafka lets an idempotent producer have five requests of a partition under way. librdkafka (2.12.1, `rdkafka_broker.c`,
//! `rd_kafka_toppar_producer_serve`) subtracts from these five the messages that are under way, not the requests, and while nothing may
//! go it wakes up at once again and again, because the oldest message is past its linger. Its statistics count these wake-ups.

use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{percent, significant, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::plan::Driver;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "client-queue",
        summary: "An idempotent librdkafka held messages back in its own queue, which linger.ms does not explain.",
        page: include_str!("../../../../docs/findings/client-queue.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Supported,
        because: "the client's own statistics time the queue; that idempotence causes it follows from what else is ruled out",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "switch idempotence off in an arm of a trial",
            setting: Some(SettingRow { path: "producer.enable.idempotence", value: "false" }),
            observe: "acknowledge.mean",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Step(finding),
};

/// Share of the mean acknowledge latency that the wait beyond linger.ms must be (ours: where one request at a time is under way, a
/// message waits half a round trip in the mean, which is a third of the whole).
const WAIT_SHARE_MIN: f64 = 0.20;

/// Wake-ups of the client's threads a message (ours: a message that goes alone takes three, for itself, its request and its answer,
/// and one that shares its batch fewer; a client that polled had 24 and more).
const WAKEUPS_MIN: f64 = 10.0;

fn finding(setup: &Setup) -> Option<Finding> {
    let idempotent = setup.result.durability.idempotence == Some(true);
    // As fast as possible the queue is meant to be full.
    if setup.driver() != Driver::Librdkafka || !idempotent || setup.saturates() {
        return None;
    }
    let statistics = &setup.result.producer_statistics;
    let linger_ms = setup.linger_ms()?;
    let queue_ns = statistics.queue_mean_ns?;
    let acknowledge_ns = setup.result.latency.acknowledge.mean_ns?;
    let wait_ns = queue_ns - linger_ms * 1e6;
    let wakeups = statistics.wakeups? as f64 / statistics.queue_samples.max(1) as f64;
    let (share, polls) = (wait_ns / acknowledge_ns, wakeups >= WAKEUPS_MIN);
    if !polls || !share.is_finite() || share < WAIT_SHARE_MIN {
        return None;
    }
    let claim = format!(
        "{} of the {} mean to an acknowledgement are librdkafka's own queue and not linger.ms={linger_ms}: with \
         enable.idempotence=true it held messages back while five of a partition were under way, and polled meanwhile",
        time(wait_ns),
        time(acknowledge_ns)
    );
    let mut finding = about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
        .seen_against(
            "mean wait in the client's queue",
            format!("{}, {} of the mean beyond linger.ms", time(queue_ns), percent(share)),
            format!("about {linger_ms} ms"),
        )
        .seen_against(
            "wake-ups of the client's threads, per message",
            significant(wakeups, 3),
            format!("about 3, below {WAKEUPS_MIN}"),
        );
    if let Some(rtt_ns) = statistics.rtt_mean_ns {
        finding = finding.seen("mean round trip", time(rtt_ns));
    }
    if let Some(busiest) = setup.result.instrument.threads.iter().max_by(|a, b| a.share.total_cmp(&b.share)) {
        finding =
            finding.seen(format!("CPU of the busiest thread, {}", busiest.thread), percent(busiest.share));
    }
    Some(
        finding
            .advise(
                "--driver wire sends the same load with five batches of a partition under way, as Kafka's own client does: its \
                 figures are the path's.",
            )
            .advise(
                "An application that keeps librdkafka: set linger.ms to a round trip or more, so that messages share batches.",
            )
            .advise(
                "enable.idempotence=false takes the wait away, and with it the guard against duplicates and another order after a \
                 retry: a test of the cause, no remedy.",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::document::RunDocument;

    /// 1,000 messages of 1 KiB a second, acks=all, idempotent, one broker, as librdkafka 2.12.1 was measured.
    fn polling(document: &mut RunDocument) {
        let step = &mut document.steps[0];
        step.durability.idempotence = Some(true);
        step.latency.acknowledge.mean_ns = Some(1_030_000.0);
        let statistics = &mut step.producer_statistics;
        (statistics.queue_mean_ns, statistics.queue_samples) = (Some(550_000.0), 10_000);
        (statistics.rtt_mean_ns, statistics.wakeups) = (Some(340_000.0), Some(245_000));
    }

    #[test]
    fn an_idempotent_client_that_polls_while_messages_wait_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, polling);
        assert!(
            finding.claim.starts_with("550 µs of the 1.03 ms mean to an acknowledgement"),
            "{}",
            finding.claim
        );
        assert_eq!(finding.evidence[1].value, "24.5");
    }

    #[test]
    fn a_wait_that_linger_explains_a_client_that_does_not_poll_and_what_is_not_known_are_silent() {
        let with = |change: fn(&mut RunDocument)| {
            let mut document = healthy();
            polling(&mut document);
            change(&mut document);
            found(&document, RULE.row.id)
        };
        assert_eq!(with(|document| document.steps[0].producer_statistics.wakeups = Some(30_000)), []);
        assert_eq!(with(|document| document.steps[0].producer_statistics.wakeups = None), []);
        assert_eq!(
            with(|document| document.steps[0].producer_statistics.queue_mean_ns = Some(100_000.0)),
            []
        );
        assert_eq!(with(|document| document.steps[0].durability.idempotence = Some(false)), []);
        assert_eq!(with(|document| document.plan.steps[0].driver = Driver::Wire), []);
        let lingers = with(|document| {
            document.steps[0].effective.producer = [("linger.ms".to_owned(), "5".to_owned())].into();
        });
        assert_eq!(lingers, []);
    }
}
