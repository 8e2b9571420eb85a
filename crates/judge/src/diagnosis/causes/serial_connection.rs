//! One connection is full: Apache Kafka serves one request of a connection at a time.

use super::super::case::{CONNECTION_FULL, Case};
use super::super::cause::{CauseRow, Claim};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "serial-connection",
        summary: "One connection is full: Apache Kafka serves one request of a connection at a time.",
        page: include_str!("../../../../../docs/findings/serial-connection.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "requests of a connection times the broker's time of one are the whole time, and the broker's threads have time left",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "spread the same load over twice as many producers",
            setting: None,
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[
        "slow-follower",
        "few-replica-fetchers",
        "device-saturated",
        "device-throttled",
        "dirty-page-throttling",
        "flush-forced",
        "journal-commits",
        "handlers-saturated",
        "handlers-blocked",
        "partition-lock",
        "batches-too-small",
        "broker-recompression",
        "gc-pauses",
        "cold-reads",
        "cpu-quota",
        "process-stopped",
        "noisy-neighbour",
        "processors-saturated",
        "request-queue-full",
        "network-saturated",
        "network-threads-saturated",
        "tls-cpu",
        "aes-not-accelerated",
        "connection-storm",
        "packet-loss",
        "nic-drops",
        "receive-backlog-drops",
        "cpu-stolen",
        "format-conversion",
    ],
    rivals: &["in-flight-limit", "network-threads-saturated", "linger-too-long"],
    advice: &[
        "Spread the load over more producers (connections), or make requests larger.",
        "Shorten the broker's time of a request: with acks=all the wait for followers is part of it.",
        "More requests in flight do not help: they only wait in the broker's socket.",
    ],
    check,
};

fn check(case: &Case) -> Option<Claim> {
    let used = case.serial_use().filter(|used| *used >= CONNECTION_FULL)?;
    let stages = [Stage::ClientQueue, Stage::Unexplained];
    if !case.matters(Stage::Unexplained) && !case.queue_matters() {
        return None;
    }
    let total_ns = case.stages.broker_ns?;
    let total_is_known = total_ns >= 2e6;
    Some(
        Claim::new(case.threads_idle() && total_is_known, case.share(&stages), format!("A producer's connection is full: the broker takes {} for each request and serves one of a connection at a time", time(total_ns)))
            .seen("share of the time for which a connection's requests are in the broker", Some(used), percent, "below 80 %")
            .seen("broker's time of a Produce request", Some(total_ns), time, "")
            .seen("bytes of a request", case.produce_bytes(), short, "")
            .seen("idle of the busiest network thread", case.network_idle(), percent, "above 30 %")
            .seen("idle of request handlers", case.handler_idle(), percent, "above 30 %"),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.batch_messages_mean = Some(33.0);
        client.batch_bytes_mean = Some(33_000.0);
        client.messages_per_s = Some(7_500.0);
        client.bytes_per_s = Some(7.5e6);
        client.in_flight_max = Some(5.0);
    });
    wait(path, |waits| {
        (waits.client_queue, waits.unexplained) = (60.0, 40.0);
        (waits.local, waits.remote) = (1.5, 10.0);
    });
}
