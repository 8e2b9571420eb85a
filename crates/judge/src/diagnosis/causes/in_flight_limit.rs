//! The producers have as many requests under way as they may, and wait for the network before they send the next.

use super::super::case::{Case, IDLE_MIN};
use super::super::cause::{CauseRow, Claim};
use super::super::client::{in_flight_limit, requests_per_s};
use super::super::measure::{most, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{percent, short, time};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
use plumb_model::observed::ClientWindow;
#[cfg(test)]
use plumb_model::observed::ObservedPath;

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "in-flight-limit",
        summary: "The producers have as many requests under way as they may, and wait for the network before they send the next.",
        page: include_str!("../../../../../docs/findings/in-flight-limit.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "requests a second times their round trip are the limit that is in force (Little's law)",
        stage: Some(PathStage::ClientQueue),
        flip: Some(FlipRow {
            change: "let batches be twice as large",
            setting: Some(SettingRow { path: "producer.batch.size", value: "131072" }),
            observe: "messages a second",
            expect: Expect::Rises,
        }),
    },
    consequence_of: &[
        "nagle-delayed-ack",
        "packet-loss",
        "handlers-saturated",
        "handlers-blocked",
        "network-threads-saturated",
        "slow-follower",
        "device-saturated",
        "device-throttled",
        "dirty-page-throttling",
        "quota-throttling",
        "batches-too-small",
        "aes-not-accelerated",
        "tls-cpu",
    ],
    rivals: &["linger-too-long", "serial-connection", "client-cpu-bound"],
    advice: &[
        "Make batches larger (batch.size, linger.ms): the rate of one connection is requests in flight times bytes of a batch over the round trip.",
        "Spread the load over more producers.",
        "More requests in flight help only while most of the round trip is network: the broker serves one request of a connection at a time.",
    ],
    check,
};

/// Use of the limit from which it binds (ours: what is measured are means).
const USE_MIN: f64 = 0.8;

fn check(case: &Case) -> Option<Claim> {
    if !case.queue_matters() {
        return None;
    }
    let rtt_ns = case.stages.rtt_ns?;
    let brokers = case.taking_brokers();
    let used = |client: &ClientWindow| {
        ratio(Some(requests_per_s(client)? / brokers * rtt_ns / 1e9), in_flight_limit(client))
    };
    let reached = |client: &ClientWindow| ratio(client.in_flight_max, in_flight_limit(client));
    let little = most(case.producers().map(used));
    let at_limit = most(case.producers().map(reached)).is_some_and(|reached| reached >= 1.0);
    let binds = little.is_some_and(|used| used >= USE_MIN);
    // The broker itself is what the connection waits for.
    let serial = case.serial_use().is_some_and(|used| used >= USE_MIN);
    if !at_limit || serial {
        return None;
    }
    let limit = case.producers().find_map(in_flight_limit);
    let idle = case.network_idle().is_some_and(|idle| idle >= IDLE_MIN);
    Some(
        Claim::new(binds && idle, case.share(&[Stage::ClientQueue]), format!("The producers wait in their own queue: they have as many requests in flight as they may, and each takes {}", time(rtt_ns)))
            .seen("requests in flight at most", case.producers_most(|client| client.in_flight_max), short, "below the limit")
            .seen("limit of requests in flight", limit, short, "")
            .seen("requests a second times round trip, of the limit", little, percent, "below 80 %")
            .seen("mean round trip", Some(rtt_ns), time, ""),
    )
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    producers(path, |client| {
        client.in_flight_max = Some(1.0);
        client.settings.insert("max.in.flight.requests.per.connection".into(), "1".into());
        client.batch_messages_mean = Some(165.0);
        client.batch_bytes_mean = Some(165_000.0);
        client.queue_share_max = Some(0.7);
    });
    wait(path, |waits| (waits.client_queue, waits.unexplained) = (90.0, 60.0));
    path.clients.iter_mut().for_each(|client| client.rtt_min_ns = Some(60e6));
}
