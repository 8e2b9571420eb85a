//! A producer and a consumer with known truths, by each set of names.

use super::*;
use crate::MetricsPage;
use proptest::prelude::*;
use std::time::{Duration, Instant};

const TEN: Duration = Duration::from_secs(10);

fn seen(before: &str, after: &str) -> ClientsSeen {
    let start = Instant::now();
    let page = |text: &str| MetricsPage::parse(text).unwrap();
    java_clients(&Scrape::at(start, page(before)), &Scrape::at(start + TEN, page(after)), "app")
}

/// What the names of the three groups begin with, whether counters end in `_total`, and the label of the client.
struct Names {
    producer: &'static str,
    node: &'static str,
    topic: &'static str,
    total: &'static str,
    client: &'static str,
}

const NAMINGS: [Names; 4] = [
    Names {
        producer: "kafka_producer_producer_metrics_",
        node: "kafka_producer_producer_node_metrics_",
        topic: "kafka_producer_producer_topic_metrics_",
        total: "",
        client: "client_id",
    },
    Names {
        producer: "kafka_producer_producer_metrics_",
        node: "kafka_producer_producer_node_metrics_",
        topic: "kafka_producer_producer_topic_metrics_",
        total: "_total",
        client: "client-id",
    },
    Names {
        producer: "kafka_producer_metrics_",
        node: "kafka_producer_node_metrics_",
        topic: "kafka_producer_topic_metrics_",
        total: "_total",
        client: "clientId",
    },
    Names {
        producer: "kafka_producer_",
        node: "kafka_producer_node_",
        topic: "kafka_producer_topic_",
        total: "_total",
        client: "client_id",
    },
];

/// A producer after so many records of which each takes 110 bytes, in batches of 20.
fn producer(names: &Names, records: u64) -> String {
    let Names { producer, node, topic, total, client } = names;
    let client = client.replace('-', "_");
    let of = format!("{client}=\"orders\",kafka_version=\"4.3.0\"");
    [
        format!("{producer}record_send{total}{{{of}}} {records}"),
        format!("{topic}byte{total}{{{of},topic=\"a\"}} {}", records * 80),
        format!("{topic}byte{total}{{{of},topic=\"b\"}} {}", records * 30),
        format!("{topic}record_send{total}{{{of},topic=\"a\"}} {records}"),
        format!("{producer}batch_size_avg{{{of}}} 2200"),
        format!("{producer}compression_rate_avg{{{of}}} 1.0"),
        format!("{producer}record_queue_time_avg{{{of}}} 98.5"),
        format!("{producer}request_latency_avg{{{of}}} 3.5"),
        format!("{producer}request_latency_max{{{of}}} 40"),
        format!("{producer}produce_throttle_time_avg{{{of}}} 0"),
        format!("{producer}records_per_request_avg{{{of}}} 40"),
        format!("{producer}record_retry{total}{{{of}}} {}", records / 10),
        format!("{producer}record_error{total}{{{of}}} {}", records / 100),
        format!("{producer}connection_creation{total}{{{of}}} {}", 2 + records / 1_000),
        format!("{producer}bufferpool_wait_time_ns{total}{{{of}}} {}", records * 1_000_000),
        format!("{producer}buffer_total_bytes{{{of}}} 1000"),
        format!("{producer}buffer_available_bytes{{{of}}} 250"),
        format!("{producer}requests_in_flight{{{of}}} 5"),
        format!("{producer}flush_time_ns{{{of}}} NaN"),
        format!("{node}request{total}{{{of},node_id=\"node--1\"}} 3"),
        format!("{node}request{total}{{{of},node_id=\"node-1\"}} {}", records / 20),
        format!("{node}request_latency_avg{{{of},node_id=\"node-1\"}} 777"),
    ]
    .join("\n")
}

#[test]
fn a_producers_counters_are_exact_and_its_means_are_marked_as_gauges_in_every_naming() {
    for names in &NAMINGS {
        let seen = seen(&producer(names, 1_000), &producer(names, 3_000));
        assert_eq!((seen.clients.len(), &seen.unseen[..]), (1, &[][..]), "{}", names.producer);
        let client = &seen.clients[0];
        assert_eq!(
            (client.name.as_str(), client.kind, client.is_producer),
            ("orders", ClientKind::Java, true)
        );
        assert!(client.means_from_gauge);
        assert_eq!(
            (client.messages_per_s, client.bytes_per_s),
            (Some(200.0), Some(22_000.0)),
            "{}",
            names.producer
        );
        assert_eq!(
            (client.queue_mean_ns, client.rtt_mean_ns, client.rtt_max_ns),
            (Some(98.5e6), Some(3.5e6), Some(40e6))
        );
        assert_eq!((client.batch_bytes_mean, client.batch_messages_mean), (Some(2_200.0), Some(20.0)));
        assert_eq!(client.record_bytes_mean, Some((2_200.0 - 61.0) / 20.0));
        assert_eq!((client.retries_per_s, client.errors_per_s), (Some(20.0 / 40.0), Some(2.0)));
        assert_eq!((client.connects_per_s, client.timeouts_per_s), (Some(0.2), None));
        assert_eq!((client.buffer_wait_share, client.queue_share_max), (Some(0.2), Some(0.75)));
        assert_eq!((client.in_flight_max, client.compression_ratio), (Some(5.0), Some(1.0)));
        assert_eq!((client.throttle_mean_ns, client.throttled), (Some(0.0), None));
    }
}

#[test]
fn requests_in_flight_to_several_brokers_are_not_those_to_one() {
    let names = &NAMINGS[0];
    let two = |records| {
        format!(
            "{}\n{}request{{client_id=\"orders\",node_id=\"node-2\"}} 9",
            producer(names, records),
            names.node
        )
    };
    assert_eq!(seen(&two(0), &two(10)).clients[0].in_flight_max, None);
}

#[test]
fn a_page_that_has_a_client_by_two_names_has_it_once() {
    let both = |records| format!("{}\n{}", producer(&NAMINGS[0], records), producer(&NAMINGS[3], records));
    let seen = seen(&both(1_000), &both(3_000));
    assert_eq!((seen.clients.len(), seen.clients[0].bytes_per_s), (1, Some(22_000.0)));
}

/// A consumer after so many records; lag of its partitions.
fn consumer(records: u64, lags: &[(u32, u64)]) -> String {
    let fetch = "kafka_consumer_consumer_fetch_manager_metrics_";
    let group = "kafka_consumer_consumer_coordinator_metrics_";
    let of = "client_id=\"billing\"";
    let mut lines = vec![
        format!("{fetch}records_consumed{{{of}}} {records}"),
        format!("{fetch}records_consumed{{{of},topic=\"a\"}} {records}"),
        format!("{fetch}bytes_consumed{{{of}}} {}", records * 50),
        format!("{fetch}fetch_throttle_time_avg{{{of}}} 2.5"),
        format!("{fetch}fetch_latency_avg{{{of}}} 480"),
        format!("{group}commit{{{of}}} {}", records / 100),
        format!("{group}commit_latency_avg{{{of}}} 7"),
        format!("{group}rebalance{{{of}}} {}", records / 1_000),
        format!("kafka_consumer_consumer_metrics_poll_idle_ratio_avg{{{of}}} 0.25"),
    ];
    lines.extend(lags.iter().map(|(partition, lag)| {
        format!("{fetch}records_lag{{{of},topic=\"a\",partition=\"{partition}\"}} {lag}")
    }));
    lines.join("\n")
}

#[test]
fn a_consumer_has_the_lag_of_its_partitions_and_no_round_trip() {
    let seen = seen(&consumer(1_000, &[(0, 10), (1, 20)]), &consumer(3_000, &[(0, 60), (1, 20), (2, 900)]));
    let client = &seen.clients[0];
    assert!(!client.is_producer);
    assert_eq!((client.messages_per_s, client.bytes_per_s), (Some(200.0), Some(10_000.0)));
    assert_eq!(
        (client.lag, client.lag_growth_per_s),
        (Some(980.0), Some(5.0)),
        "a partition that came is no growth"
    );
    assert_eq!(
        (client.commits_per_s, client.commit_mean_ns, client.rebalances),
        (Some(2.0), Some(7e6), Some(2))
    );
    assert_eq!((client.poll_idle_share, client.throttle_mean_ns), (Some(0.25), Some(2.5e6)));
    assert_eq!((client.rtt_mean_ns, client.queue_mean_ns), (None, None));
}

#[test]
fn a_client_that_came_went_or_started_anew_says_so() {
    let names = &NAMINGS[0];
    let reason = |before: &str, after: &str| {
        let seen = seen(before, after);
        assert!(seen.clients.iter().all(|client| client.messages_per_s.is_none()));
        seen.unseen[0].reason.clone()
    };
    assert!(reason(&producer(names, 3_000), &producer(names, 10)).contains("started anew"));
    assert!(reason("a 1", &producer(names, 10)).contains("was not there"));
    assert!(reason(&producer(names, 10), "a 1").contains("ended within the window"));
    assert!(reason("a 1", "a 1").contains("no metrics of a Java producer"));
}

#[test]
fn metrics_of_others_are_not_kept() {
    assert!(is_known("kafka_producer_producer_metrics_record_send_total"));
    assert!(is_known("Kafka_Consumer_fetch_manager_records_lag"));
    for other in [
        "kafka_producer_producer_metrics_select_rate",
        "kafka_server_BrokerTopicMetrics_Count",
        "jvm_threads",
        "kafka_producer_",
    ] {
        assert!(!is_known(other), "{other}");
    }
}

proptest! {
    #[test]
    fn any_values_give_figures_from_zero_up(values in proptest::collection::vec(-1e18..1e18_f64, 8), client in "(?s).{0,300}") {
        let client = client.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let page = |values: &[f64]| {
            let figures = ["record_send", "batch_size_avg", "buffer_available_bytes", "compression_rate_avg"];
            let lines: Vec<String> = figures.iter().zip(values)
                .map(|(name, value)| format!("kafka_producer_producer_metrics_{name}{{client_id=\"{client}\"}} {value}"))
                .collect();
            lines.join("\n")
        };
        for client in seen(&page(&values[..4]), &page(&values[4..])).clients {
            for figure in [client.messages_per_s, client.batch_bytes_mean, client.queue_share_max, client.record_bytes_mean] {
                prop_assert!(figure.is_none_or(|figure| figure >= 0.0 && figure.is_finite()));
            }
        }
    }
}
