//! Healthy paths have no cause that evidence supports, however hard they work.

use super::build::*;
use super::{diagnose, supported};
use plumb_model::diagnosis::{Diagnosis, DiagnosisVerdict};
use plumb_model::facts::WindowMean;
use plumb_model::observed::{ClientKind, ObservedPath, ThreadClass, Unseen};

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

/// The path with a change, which must not be called healthy; and what is said of it.
fn not_healthy(change: impl FnOnce(&mut ObservedPath)) -> Diagnosis {
    let mut path = healthy_path();
    change(&mut path);
    let diagnosis = diagnose(&path);
    assert_eq!(diagnosis.verdict, DiagnosisVerdict::NotEnoughEvidence, "{}", diagnosis.summary);
    diagnosis
}

#[test]
fn one_slow_producer_among_many_fast_ones_is_no_healthy_path_and_is_named() {
    let told = not_healthy(|path| {
        let slow = path.clients.iter_mut().find(|client| client.is_producer).unwrap();
        (slow.name, slow.messages_per_s) = ("orders".to_owned(), Some(20.0));
        slow.queue_mean_ns = Some(162e6);
    });
    assert!(told.summary.contains("Producers differ: \"orders\" waits 16"), "{}", told.summary);
}

#[test]
fn partitions_without_all_replicas_and_a_client_that_tells_nothing_are_no_healthy_path() {
    not_healthy(|path| consumers(path, |client| client.rebalances = Some(5)));
    let told = not_healthy(|path| path.brokers[0].under_replicated = Some(24.0));
    assert!(told.summary.contains("Of 24 partitions not all replicas are in sync."), "{}", told.summary);
    not_healthy(|path| {
        path.unseen.push(Unseen {
            what: Unseen::client_statistics("billing.log"),
            reason: "no line came within the window".to_owned(),
            hint: None,
        });
    });
}

#[test]
fn fetches_that_wait_while_messages_come_are_suspected_though_nobody_told_the_setting() {
    let told = not_healthy(|path| {
        path.clients.iter_mut().for_each(|client| client.end_to_end_mean_ns = None);
        for broker in &mut path.brokers {
            let fetch = broker.requests.get_mut("FetchConsumer").unwrap();
            fetch.per_s = Some(0.3);
            fetch.stages.remote = Some(WindowMean { mean_ns: 3e9, low_ns: 3e9, high_ns: 3e9, samples: 9 });
        }
    });
    let ids: Vec<&str> = told.findings.iter().map(|cause| cause.finding.id.as_str()).collect();
    assert_eq!(ids, ["fetch-wait"]);
}

#[test]
fn threads_that_want_a_processor_seldom_are_not_held_up_by_others_however_busy_the_host_is() {
    let mut path = healthy_path();
    cpu_busy(&mut path, 0.99);
    // Ready for three times as long as they run, and idle for 98 % of the time.
    states(&mut path, ThreadClass::Handler, [0.005, 0.015, 0.0, 0.97]);
    states(&mut path, ThreadClass::Network, [0.005, 0.015, 0.0, 0.0]);
    producers(&mut path, |client| (client.throttled, client.throttle_mean_ns) = (Some(13_000), Some(80e6)));
    wait(&mut path, |waits| (waits.throttle, waits.unexplained) = (76.0, 900.0));
    let named = supported(&diagnose(&path)).into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(named, ["quota-throttling"]);
}

#[test]
fn a_backlog_is_the_mean_age_of_what_is_read_and_not_the_wait_of_what_comes_last() {
    let mut path = healthy_path();
    path.clients.iter_mut().for_each(|client| client.end_to_end_mean_ns = None);
    consumers(&mut path, |client| {
        client.window_ns = 10_000_000_000;
        (client.lag, client.lag_growth_per_s) = (Some(440.0), Some(25.0));
        (client.taken_per_s, client.messages_per_s) = (Some(25.0), Some(50.0));
    });
    let age = |path: &ObservedPath| {
        let stages = diagnose(path).stages;
        stages.into_iter().find(|stage| stage.name == "fetch").unwrap().mean_ns
    };
    // On average 315 messages behind a producer of 50 a second.
    assert_eq!(age(&path), Some(6.3e9));
    // One that catches up from far behind is behind all the same.
    consumers(&mut path, |client| {
        (client.lag, client.lag_growth_per_s, client.taken_per_s) =
            (Some(19_716.0), Some(-247.0), Some(297.0));
    });
    assert!(age(&path).is_some_and(|age_ns| age_ns > 300e9), "{:?}", age(&path));
}

#[test]
fn the_flushes_of_a_controllers_metadata_beside_few_requests_are_not_forced_by_a_topic() {
    let mut path = healthy_path();
    brokers(&mut path, |broker| {
        (broker.log_flushes_per_s, broker.log_flush_mean_ns) = (Some(2.0), Some(12e6));
        broker.requests.get_mut("Produce").unwrap().per_s = Some(4.0);
    });
    wait(&mut path, |waits| waits.local = 40.0);
    assert!(diagnose(&path).findings.iter().all(|cause| cause.finding.id != "flush-forced"));
    // Many flushes, and settings that force none: something else flushes.
    brokers(&mut path, |broker| broker.log_flushes_per_s = Some(20.0));
    assert_eq!(supported(&diagnose(&path)), Vec::<&str>::new());
}

#[test]
fn a_consumer_that_is_seconds_behind_is_healthy_only_where_its_lag_is_known_not_to_grow() {
    let verdict = |lag: f64, growth: Option<f64>| {
        let mut path = healthy_path();
        consumers(&mut path, |client| {
            (client.messages_per_s, client.lag, client.lag_growth_per_s) = (Some(500.0), Some(lag), growth);
        });
        diagnose(&path).verdict
    };
    assert_eq!(verdict(3_600.0, None), DiagnosisVerdict::NotEnoughEvidence);
    assert_eq!(verdict(3_600.0, Some(0.0)), DiagnosisVerdict::Healthy);
    assert_eq!(verdict(100.0, None), DiagnosisVerdict::Healthy);
}

#[test]
fn a_path_whose_requests_are_refused_or_whose_client_tells_a_part_only_is_not_healthy_and_says_so() {
    let of = |change: fn(&mut ObservedPath)| {
        let mut path = healthy_path();
        change(&mut path);
        let diagnosis = diagnose(&path);
        (diagnosis.verdict, diagnosis.summary)
    };
    let (verdict, summary) = of(|path| {
        path.brokers[0].failed_requests_per_s = Some(58.5);
        path.brokers[0].errors_per_s = [("INVALID_TIMESTAMP".to_owned(), 58.3)].into();
    });
    assert_eq!(verdict, DiagnosisVerdict::NotEnoughEvidence);
    assert!(
        summary.starts_with("Brokers refuse 58.5/s") && summary.contains("INVALID_TIMESTAMP"),
        "{summary}"
    );
    let (verdict, summary) = of(|path| {
        consumers(path, |client| (client.kind, client.window_ns) = (ClientKind::Librdkafka, WINDOW_NS / 4));
    });
    assert_eq!(verdict, DiagnosisVerdict::NotEnoughEvidence);
    assert!(summary.contains("cover 15.0 s of the window"), "{summary}");
    // One of a thousand that fails is a leader that moved.
    assert_eq!(of(|path| path.brokers[0].failed_requests_per_s = Some(0.5)).0, DiagnosisVerdict::Healthy);
}
