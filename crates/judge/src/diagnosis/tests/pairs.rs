//! Two causes in one path are both named, the one with the larger share first, and a root before what follows from it.

use super::build::*;
use super::{INJECTIONS, diagnose, supported};
use plumb_model::diagnosis::{Cause, Diagnosis};
use plumb_model::observed::{CpuClass, ObservedPath};

/// A path with several causes; the last word on its waits is `waits`.
fn with(ids: &[&str], waits: impl FnOnce(&mut Waits)) -> Diagnosis {
    let mut path = healthy_path();
    for id in ids {
        INJECTIONS.iter().find(|(injected, _)| injected == id).unwrap().1(&mut path);
    }
    wait(&mut path, waits);
    diagnose(&path)
}

fn named<'a>(diagnosis: &'a Diagnosis, id: &str) -> &'a Cause {
    diagnosis.findings.iter().find(|cause| cause.finding.id == id).unwrap()
}

#[test]
fn two_causes_are_named_in_the_order_of_their_shares() {
    let ids = ["slow-follower", "packet-loss"];
    let loss = with(&ids, |waits| (waits.remote, waits.unexplained) = (30.0, 70.0));
    assert_eq!(supported(&loss)[..2], ["packet-loss", "slow-follower"]);
    let independent = ["linger-too-long", "fetch-wait"];
    let linger = with(&independent, |waits| (waits.client_queue, waits.fetch) = (160.0, 120.0));
    assert_eq!(supported(&linger), ["linger-too-long", "fetch-wait"]);
    let throttled =
        with(&["quota-throttling", "fetch-wait"], |waits| (waits.throttle, waits.fetch) = (80.0, 200.0));
    assert_eq!(supported(&throttled), ["fetch-wait", "quota-throttling"]);
    assert!(throttled.summary.contains("Beside it: A quota holds"), "{}", throttled.summary);
}

#[test]
fn encryption_in_software_is_the_root_of_busy_network_threads_and_of_what_tls_takes() {
    let diagnosis =
        with(&["aes-not-accelerated"], |waits| (waits.unexplained, waits.response_queue) = (30.0, 14.0));
    assert_eq!(supported(&diagnosis), ["aes-not-accelerated", "tls-cpu", "network-threads-saturated"]);
    assert_eq!(named(&diagnosis, "tls-cpu").consequence_of, ["aes-not-accelerated"]);
    assert_eq!(
        named(&diagnosis, "network-threads-saturated").consequence_of,
        ["aes-not-accelerated", "tls-cpu"]
    );
    assert!(
        diagnosis.summary.contains("`tls-cpu` and `network-threads-saturated` are consequences"),
        "{}",
        diagnosis.summary
    );
}

#[test]
fn encryption_between_brokers_in_software_explains_the_wait_for_followers_and_not_that_of_clients() {
    let mut path = healthy_path();
    profile(&mut path, &[(CpuClass::Aes, 0.6), (CpuClass::Tls, 0.1)]);
    jvm_flag(&mut path, "UseAES", "false");
    wait(&mut path, |waits| (waits.remote, waits.unexplained) = (30.0, 10.0));
    for client in &mut path.clients {
        client.settings.insert("security.protocol".to_owned(), "PLAINTEXT".to_owned());
    }
    assert!(!supported(&diagnose(&path)).contains(&"aes-not-accelerated"), "nobody is known to encrypt");
    for settings in path.settings.brokers.values_mut() {
        settings.insert("inter.broker.listener.name".to_owned(), "REPLICATION".to_owned());
        let protocols = "CLIENT:PLAINTEXT,REPLICATION:SSL".to_owned();
        settings.insert("listener.security.protocol.map".to_owned(), protocols);
    }
    let encrypted = diagnose(&path);
    let aes = named(&encrypted, "aes-not-accelerated");
    let of_remote = encrypted.stages.iter().find(|stage| stage.name == "remote").unwrap().share.unwrap();
    assert!((aes.share_of_gap.unwrap() - of_remote).abs() < 1e-9, "{aes:?}");
    let shown = aes.finding.evidence.iter().map(|evidence| evidence.what.as_str());
    assert!(shown.clone().any(|what| what.ends_with("between brokers")), "{:?}", shown.collect::<Vec<_>>());
}

#[test]
fn a_full_connection_to_one_of_three_brokers_is_full_though_the_others_take_nothing() {
    let mut path = healthy_path();
    path.clients.truncate(1);
    // 735 requests a second of 1.43 ms each, one at a time: 105 % with rounding.
    producers(&mut path, |client| {
        client.messages_per_s = Some(5_145.0);
        client.bytes_per_s = Some(5.2e6);
        client.batch_messages_mean = Some(7.0);
        client.batch_bytes_mean = Some(7_124.0);
    });
    wait(&mut path, |waits| (waits.client_queue, waits.unexplained) = (900.0, 5.4));
    for (at, broker) in path.brokers.iter_mut().enumerate() {
        let produce = broker.requests.get_mut("Produce").unwrap();
        produce.per_s = (at == 1).then_some(735.0);
        if let Some(total) = &mut produce.stages.total {
            total.mean_ns = 1.43e6;
        }
    }
    let used = |path: &ObservedPath| {
        let bounds = diagnose(path).bounds;
        bounds.iter().find(|bound| bound.name == "connection").map(|bound| bound.measured)
    };
    assert!(used(&path).is_some_and(|used| (1.0..1.1).contains(&used)), "{:?}", used(&path));
}

#[test]
fn a_wait_on_a_topic_of_one_partition_is_none_for_more_partitions_while_its_leader_has_time() {
    let mut path = healthy_path();
    path.settings.topics.get_mut("orders").unwrap().partitions = 1;
    wait(&mut path, |waits| waits.unexplained = 840.0);
    assert_eq!(supported(&diagnose(&path)), Vec::<&str>::new());
}

#[test]
fn a_commit_for_each_message_is_the_root_of_a_slow_application_though_its_time_is_not_told() {
    let mut path = healthy_path();
    consumers(&mut path, |client| {
        client.messages_per_s = Some(1_500.0);
        client.lag_growth_per_s = Some(1_208.0);
        (client.lag, client.fetch_queue, client.poll_idle_share) = (Some(18_345.0), Some(18_345.0), None);
        (client.commits_per_s, client.commit_mean_ns) = (Some(318.0), None);
    });
    let diagnosis = diagnose(&path);
    assert_eq!(supported(&diagnosis), ["commits-frequent", "consumer-slow"]);
    assert_eq!(named(&diagnosis, "consumer-slow").consequence_of, ["commits-frequent"]);
    consumers(&mut path, |client| client.commits_per_s = Some(0.2));
    assert_eq!(supported(&diagnose(&path)), ["consumer-slow"]);
}

#[test]
fn batches_of_one_message_are_the_root_of_busy_handlers() {
    let diagnosis =
        with(&["batches-too-small"], |waits| (waits.client_queue, waits.request_queue) = (1.0, 14.0));
    assert_eq!(supported(&diagnosis), ["batches-too-small", "handlers-saturated"]);
    assert_eq!(named(&diagnosis, "handlers-saturated").consequence_of, ["batches-too-small"]);
}

#[test]
fn a_throttled_device_is_the_root_of_dirty_pages_and_blocked_handlers() {
    let diagnosis = with(&["device-throttled"], |waits| (waits.local, waits.request_queue) = (60.0, 50.0));
    assert_eq!(supported(&diagnosis), ["device-throttled", "dirty-page-throttling", "handlers-blocked"]);
    assert_eq!(
        named(&diagnosis, "handlers-blocked").consequence_of,
        ["dirty-page-throttling", "device-throttled"]
    );
}

#[test]
fn a_cause_that_is_only_suspected_does_not_come_before_one_that_is_supported() {
    let mut path = healthy_path();
    tls(&mut path);
    jvm_flag(&mut path, "UseAES", "false");
    INJECTIONS.iter().find(|(id, _)| *id == "slow-follower").unwrap().1(&mut path);
    let diagnosis = diagnose(&path);
    let ids: Vec<&str> = diagnosis.findings.iter().map(|cause| cause.finding.id.as_str()).collect();
    assert_eq!(ids, ["slow-follower", "aes-not-accelerated"]);
}

#[test]
fn the_summary_says_where_the_time_goes_what_bounds_it_how_near_and_what_to_do() {
    let mut path: ObservedPath = healthy_path();
    INJECTIONS.iter().find(|(id, _)| *id == "handlers-saturated").unwrap().1(&mut path);
    assert_eq!(
        diagnose(&path).summary,
        "A message waits 27.7 ms on average: 20.0 ms (72.2 %) in the broker's request queue and 3.00 ms (10.8 %) in the producers' queue. The request handlers have 5 % idle time and spend the rest on processors. The nearest limit is the request handlers: 95 % of it is in use. First: send fewer, larger requests first (linger.ms, batch.size, fetch.min.bytes); a handler's work is for requests more than for bytes."
    );
}

#[test]
fn limits_are_sorted_by_how_much_of_them_is_in_use() {
    let bounds = diagnose(&healthy_path()).bounds;
    let used: Vec<f64> = bounds.iter().map(|bound| bound.measured / bound.limit).collect();
    assert!(used.is_sorted_by(|a, b| a >= b), "{used:?}");
    let names: Vec<&str> = bounds.iter().map(|bound| bound.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "cpu",
            "connection",
            "network_threads",
            "cpu_per_byte",
            "handlers",
            "device_write",
            "network",
            "memory",
            "fsync"
        ],
        "without TLS there is no limit of AES"
    );
    let mut path = healthy_path();
    tls(&mut path);
    let of_tls = diagnose(&path).bounds;
    let aes = of_tls.iter().find(|bound| bound.name == "aes").unwrap();
    assert_eq!((aes.limit, aes.measured), (24e9, 20e6));
}

#[test]
fn a_linger_and_a_wait_for_bytes_that_were_told_are_named_beside_a_longer_wait() {
    let told = |linger_ms: &str, fetch_ms: f64| {
        let mut path = super::path_with_cause("slow-follower");
        producers(&mut path, |client| {
            (client.in_flight_max, client.batch_bytes_mean) = (Some(2.0), Some(5_000.0));
            client.settings.insert("linger.ms".into(), linger_ms.into());
        });
        consumers(&mut path, |client| {
            client.settings.insert("fetch.min.bytes".into(), "1000000".into());
        });
        wait(&mut path, |waits| {
            (waits.client_queue, waits.remote, waits.fetch) = (40.0, 200.0, fetch_ms);
        });
        diagnose(&path)
    };
    assert_eq!(supported(&told("60", 50.0)), ["slow-follower", "fetch-wait", "linger-too-long"]);
    // A wait that is not as long as the linger that was told, and one of 2 ms.
    assert_eq!(supported(&told("500", 2.0)), ["slow-follower"]);
}
