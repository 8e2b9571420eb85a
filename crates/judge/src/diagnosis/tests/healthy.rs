//! Healthy paths have no cause that evidence supports, however hard they work.

use super::build::*;
use super::{diagnose, supported};
use plumb_model::diagnosis::DiagnosisVerdict;
use plumb_model::observed::ObservedPath;

fn assert_healthy(name: &str, change: impl FnOnce(&mut ObservedPath)) {
    let mut path = healthy_path();
    change(&mut path);
    let diagnosis = diagnose(&path);
    assert_eq!(supported(&diagnosis), Vec::<&str>::new(), "{name}");
    assert_eq!(diagnosis.verdict, DiagnosisVerdict::Healthy, "{name}: {}", diagnosis.summary);
    assert!(diagnosis.collect.is_empty());
}

#[test]
fn a_healthy_path_has_no_cause_and_says_where_its_time_goes_and_its_nearest_limit() {
    assert_healthy("as it is", |_| {});
    let diagnosis = diagnose(&healthy_path());
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
    assert_eq!(
        diagnosis.summary,
        "Nothing that was seen holds this path back at this load. It takes 30,000 messages/s; the handlers are on a processor for 10 % of the time. A message waits 7.80 ms on average: 3.00 ms (38.5 %) in the producers' queue, 1.50 ms (19.2 %) between acknowledgement and consumer and 1.40 ms (17.9 %) waiting for followers. The nearest limit is the processors: 25 % of it is in use."
    );
}

#[test]
fn tls_with_instructions_and_threads_to_spare_is_healthy() {
    assert_healthy("TLS", |path| {
        tls(path);
        profile(path, &[(CpuClass::Aes, 0.12), (CpuClass::Tls, 0.2), (CpuClass::Copy, 0.2)]);
        idle(path, 0.6, 0.85);
        wait(path, |waits| waits.unexplained = 1.8);
    });
}

#[test]
fn acks_of_all_replicas_cost_a_round_trip_and_are_healthy() {
    assert_healthy("replication", |path| wait(path, |waits| waits.remote = 6.0));
}

#[test]
fn large_messages_at_ease_are_healthy() {
    assert_healthy("large messages", |path| {
        producers(path, |client| {
            client.messages_per_s = Some(15.0);
            client.record_bytes_mean = Some(500_000.0);
            client.batch_messages_mean = Some(1.0);
            client.batch_bytes_mean = Some(500_000.0);
        });
        wait(path, |waits| (waits.unexplained, waits.local, waits.remote) = (3.0, 2.0, 5.0));
    });
}

#[test]
fn a_high_rate_with_busy_processors_and_waits_for_them_is_healthy_while_nobody_waits_long() {
    assert_healthy("high rate", |path| {
        idle(path, 0.35, 0.4);
        cpu_busy(path, 0.85);
        states(path, ThreadClass::Handler, [0.5, 0.3, 0.01, 0.15]);
        states(path, ThreadClass::Network, [0.6, 0.3, 0.0, 0.0]);
        wait(path, |waits| {
            (waits.request_queue, waits.local, waits.remote, waits.unexplained) = (1.5, 1.5, 3.0, 2.0);
        });
    });
}

#[test]
fn single_messages_at_a_low_rate_are_healthy() {
    assert_healthy("low rate", |path| {
        producers(path, |client| {
            client.messages_per_s = Some(20.0);
            client.bytes_per_s = Some(4_000.0);
            client.batch_messages_mean = Some(1.0);
            client.batch_bytes_mean = Some(220.0);
        });
        brokers(path, |broker| broker.requests.get_mut("Produce").unwrap().per_s = Some(27.0));
        wait(path, |waits| waits.client_queue = 5.1);
    });
}

#[test]
fn counts_without_waits_are_healthy() {
    assert_healthy("counts", |path| {
        host(path).softnet[0].dropped = 3;
        host(path).tcp.retransmitted = Some(900);
        host(path).nic_drops.insert("eth0 rx_dropped".into(), 4);
        brokers(path, |broker| {
            broker.isr_shrinks_per_s = Some(0.01);
            broker.connections_per_s = Some(8.0);
        });
        consumers(path, |client| (client.rebalances, client.negative_latencies) = (Some(1), Some(1)));
        producers(path, |client| client.retries_per_s = Some(0.05));
    });
}

#[test]
fn brokers_whose_means_are_short_are_not_called_healthy_where_no_client_was_seen() {
    // A follower stood still for 4 of 14 s: one request waited, the others behind it on their connections, and the mean was 9 ms.
    let mut path = healthy_path();
    path.clients.clear();
    wait(&mut path, |waits| waits.remote = 7.6);
    let diagnosis = diagnose(&path);
    assert_eq!(diagnosis.verdict, DiagnosisVerdict::NotEnoughEvidence, "{}", diagnosis.summary);
    assert!(diagnosis.collect.iter().any(|what| what.contains("--probe-load")), "{:?}", diagnosis.collect);
}

#[test]
fn a_path_of_which_nothing_was_seen_says_what_to_collect() {
    let diagnosis = diagnose(&ObservedPath::default());
    assert_eq!(diagnosis.verdict, DiagnosisVerdict::NotEnoughEvidence);
    assert!(diagnosis.collect[0].contains("--broker-metrics"), "{:?}", diagnosis.collect);
    assert!(diagnosis.summary.contains("First: collect the brokers' metrics"), "{}", diagnosis.summary);
    assert!(
        diagnosis.stages.iter().all(|stage| stage.mean_ns.is_none() && stage.source.starts_with("absent"))
    );
}

#[test]
fn a_slow_path_without_evidence_says_so() {
    let mut path = healthy_path();
    path.processes.clear();
    wait(&mut path, |waits| waits.unexplained = 60.0);
    let diagnosis = diagnose(&path);
    assert_eq!(supported(&diagnosis), Vec::<&str>::new());
    assert_eq!(diagnosis.verdict, DiagnosisVerdict::NotEnoughEvidence);
    assert!(
        diagnosis.summary.contains("It is slow, and what was seen does not show why."),
        "{}",
        diagnosis.summary
    );
    assert!(diagnosis.collect[0].contains("--pid"), "{:?}", diagnosis.collect);
}
