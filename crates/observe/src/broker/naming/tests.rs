//! One broker's figures in each set of names: whatever the names, the window is the same.

use super::*;
use crate::Scrape;
use crate::broker::broker_window;
use plumb_model::observed::{BrokerKind, BrokerWindow};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const TEN: Duration = Duration::from_secs(10);

/// A line of a page: a metric with its value at both ends of the window.
type Line = (&'static str, [f64; 2]);

fn window(lines: &[Line]) -> BrokerWindow {
    let start = Instant::now();
    let scrape = |end: usize, after| {
        let text: Vec<String> =
            lines.iter().map(|(metric, values)| format!("{metric} {}", values[end])).collect();
        let mut page = MetricsPage::parse(&text.join("\n")).unwrap();
        // As it is read.
        page.samples.retain(|sample| is_known(&sample.name));
        Scrape::at(start + after, page)
    };
    broker_window(&scrape(0, Duration::ZERO), &scrape(1, TEN), "test")
}

fn naming(lines: &[Line]) -> String {
    window(lines).naming.unwrap_or_default()
}

const EXAMPLE: &[Line] = &[
    ("kafka_server_brokertopicmetrics_bytesin_total", [1_000.0, 11_000.0]),
    ("kafka_server_brokertopicmetrics_bytesin_total{topic=\"a\",}", [500.0, 5_500.0]),
    ("kafka_network_requestmetrics_requests_total{request=\"Produce\",version=\"11\"}", [7.0, 107.0]),
    (
        "kafka_network_requestmetrics_errors_total{request=\"Produce\",error=\"NOT_LEADER_OR_FOLLOWER\"}",
        [0.0, 20.0],
    ),
    ("kafka_network_requestmetrics_totaltimems_count{request=\"Produce\"}", [7.0, 107.0]),
    ("kafka_network_requestmetrics_totaltimems{request=\"Produce\",quantile=\"0.99\"}", [9.0, 9.0]),
    ("kafka_server_replicamanager_underreplicatedpartitions", [0.0, 3.0]),
    ("kafka_server_replicamanager_isrshrinks_total", [1.0, 2.0]),
    ("kafka_server_replicafetchermanager_maxlag{clientid=\"Replica\"}", [0.0, 40.0]),
    ("kafka_server_delayedoperationpurgatory_purgatorysize{delayedoperation=\"Produce\"}", [0.0, 12.0]),
    ("kafka_server_delayedoperationpurgatory_purgatorysize{delayedoperation=\"Fetch\"}", [0.0, 99.0]),
    ("kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_count", [0.0, 4e9]),
    // The rule takes the mean since the start: the share of the window is another.
    ("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", [0.9, 0.9]),
    ("kafka_network_requestchannel_requestqueuesize", [0.0, 5.0]),
    ("kafka_log_logflushstats_logflushrateandtimems_count", [0.0, 30.0]),
    ("kafka_network_acceptor_acceptorblockedpercent_count{listener=\"PLAIN-9092\"}", [0.0, 1e9]),
];

const CONFLUENT: &[Line] = &[
    ("kafka_server_brokertopicmetrics_bytesinpersec", [1_000.0, 11_000.0]),
    ("kafka_server_brokertopicmetrics_bytesinpersec{topic=\"a\"}", [500.0, 5_500.0]),
    ("kafka_network_requestmetrics_requestspersec{request=\"Produce\",version=\"11\"}", [7.0, 107.0]),
    (
        "kafka_network_requestmetrics_errorspersec{request=\"Produce\",error=\"NOT_LEADER_OR_FOLLOWER\"}",
        [0.0, 20.0],
    ),
    ("kafka_network_requestmetrics_totaltimems{request=\"Produce\"}", [7.0, 107.0]),
    ("kafka_network_requestmetrics_totaltimems{request=\"Produce\",quantile=\"0.99\"}", [9.0, 9.0]),
    ("kafka_server_replicamanager_underreplicatedpartitions", [0.0, 3.0]),
    ("kafka_server_replicamanager_isrshrinkspersec", [1.0, 2.0]),
    ("kafka_server_replicafetchermanager_maxlag{clientid=\"Replica\"}", [0.0, 40.0]),
    ("kafka_server_delayedoperationpurgatory_purgatorysize{delayedoperation=\"Produce\"}", [0.0, 12.0]),
    ("kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent", [0.0, 4e9]),
    // The rate of the last minute, and no count.
    ("kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_total", [0.9, 0.9]),
    ("kafka_network_requestchannel_requestqueuesize", [0.0, 5.0]),
    ("kafka_log_logflushstats_logflushrateandtimems", [0.0, 30.0]),
    ("kafka_network_acceptor_acceptorblockedpercent{listener=\"PLAIN\"}", [0.0, 1e9]),
    (
        "kafka_server_socketservermetrics_connection_creation_total{listener=\"PLAIN\",network_processor=\"0\"}",
        [5.0, 25.0],
    ),
    (
        "kafka_server_socketservermetrics_connection_creation_total{listener=\"PLAIN\",network_processor=\"1\"}",
        [5.0, 15.0],
    ),
];

const BITNAMI: &[Line] = &[
    ("kafka_server_brokertopicmetrics_total_bytesinpersec_count", [1_000.0, 11_000.0]),
    ("kafka_server_brokertopicmetrics_bytesinpersec_count{topic=\"a\"}", [500.0, 5_500.0]),
    ("kafka_network_requestmetrics_requestspersec_count{request=\"Produce, version=11\"}", [7.0, 107.0]),
    (
        "kafka_network_requestmetrics_errorspersec_count{request=\"Produce, error=NOT_LEADER_OR_FOLLOWER\"}",
        [0.0, 20.0],
    ),
    ("kafka_network_requestmetrics_totaltimems_count{request=\"Produce\"}", [7.0, 107.0]),
    ("kafka_server_replicamanager_total_underreplicatedpartitions_value", [0.0, 3.0]),
    ("kafka_server_replicamanager_total_isrshrinkspersec_count", [1.0, 2.0]),
    ("kafka_server_replicafetchermanager_maxlag_value{client_id=\"Replica\"}", [0.0, 40.0]),
    ("kafka_server_delayedoperationpurgatory_purgatorysize_produce_value", [0.0, 12.0]),
    ("kafka_server_kafkarequesthandlerpool_total_requesthandleravgidlepercent_count", [0.0, 4e9]),
    ("kafka_network_requestchannel_requestqueuesize_value", [0.0, 5.0]),
    ("kafka_log_logflushstats_logflushrateandtimems_count", [0.0, 30.0]),
    ("kafka_network_acceptor_acceptorblockedpercent_count{listener=\"PLAIN\"}", [0.0, 1e9]),
];

#[test]
fn counts_and_values_are_the_same_by_the_example_and_strimzi_confluent_and_bitnami() {
    for (lines, words) in
        [(EXAMPLE, "example for Kafka"), (CONFLUENT, "Confluent's JMX"), (BITNAMI, "Bitnami's")]
    {
        let window = window(lines);
        assert!(
            window.naming.as_ref().is_some_and(|naming| naming.contains(words)),
            "{words}: {:?}",
            window.naming
        );
        assert_eq!(window.kind, BrokerKind::Kafka);
        assert_eq!(window.bytes_in_per_s, Some(1_000.0), "{words}");
        assert_eq!(window.topics[0].bytes_in_per_s, Some(500.0), "{words}");
        let produce = &window.requests["Produce"];
        assert_eq!((produce.per_s, produce.versions["11"]), (Some(10.0), 10.0), "{words}");
        assert_eq!(window.errors_per_s["NOT_LEADER_OR_FOLLOWER"], 2.0, "{words}");
        assert_eq!((window.under_replicated, window.isr_shrinks_per_s), (Some(3.0), Some(0.1)), "{words}");
        assert_eq!((window.follower_max_lag, window.produce_purgatory), (Some(40.0), Some(12.0)), "{words}");
        assert_eq!((window.handlers.idle_share, window.handlers.from_gauge), (Some(0.4), false), "{words}");
        assert_eq!((window.request_queue_size, window.log_flushes_per_s), (Some(5.0), Some(3.0)), "{words}");
        assert_eq!(window.acceptor_blocked_share, Some(0.1), "{words}");
        // Percentiles are served and no means: no time of the window can be had.
        assert!(produce.stages.total.is_none(), "{words}");
        assert!(
            window.missing.iter().any(|what| what.starts_with("request times: counts")),
            "{:?}",
            window.missing
        );
        assert!(window.missing.contains(&"idle share of network threads".to_owned()), "{:?}", window.missing);
    }
    assert_eq!(window(CONFLUENT).connections_per_s, Some(3.0));
}

#[test]
fn a_page_with_two_sets_of_names_counts_each_figure_once() {
    let both: Vec<Line> = EXAMPLE.iter().chain(CONFLUENT).chain(BITNAMI).copied().collect();
    let window = window(&both);
    assert_eq!((window.bytes_in_per_s, window.requests["Produce"].per_s), (Some(1_000.0), Some(10.0)));
    assert_eq!(
        (window.errors_per_s["NOT_LEADER_OR_FOLLOWER"], window.acceptor_blocked_share),
        (2.0, Some(0.1))
    );
    let words = window.naming.unwrap();
    assert!(words.contains("Strimzi") && words.contains("Confluent") && words.contains("Bitnami"), "{words}");
}

#[test]
fn one_rule_for_the_mean_beside_the_others_gives_the_times_of_requests() {
    let mean = ("kafka_network_requestmetrics_mean{name=\"TotalTimeMs\",request=\"Produce\"}", [3.0, 3.0]);
    for lines in [EXAMPLE, CONFLUENT, BITNAMI] {
        let window = window(&[lines, &[mean]].concat());
        assert_eq!(window.requests["Produce"].stages.total.unwrap().mean_ns, 3e6);
        assert!(!window.missing.iter().any(|what| what.starts_with("request times")), "{:?}", window.missing);
    }
}

#[test]
fn names_without_rules_have_means_and_labels_of_the_site_say_nothing() {
    let window = window(&[
        (
            "kafka_server_BrokerTopicMetrics_Count{name=\"BytesInPerSec\",cluster=\"x\",pod=\"kafka-0\"}",
            [1_000.0, 11_000.0],
        ),
        ("kafka_network_RequestMetrics_Count{name=\"TotalTimeMs\",request=\"Produce\",}", [10.0, 30.0]),
        ("kafka_network_RequestMetrics_Mean{name=\"TotalTimeMs\",request=\"Produce\",}", [1.0, 3.0]),
        ("kafka_network_RequestMetrics_Count{name=\"RequestBytes\",request=\"Produce\",}", [10.0, 30.0]),
        ("kafka_network_RequestMetrics_Mean{name=\"RequestBytes\",request=\"Produce\",}", [100.0, 700.0]),
        (
            "kafka_server_FetcherLagMetrics_Value{name=\"ConsumerLag\",clientId=\"ReplicaFetcherThread-0-2\",topic=\"a\",partition=\"0\"}",
            [0.0, 7.0],
        ),
        (
            "kafka_server_FetcherLagMetrics_Value{name=\"ConsumerLag\",clientId=\"ReplicaFetcherThread-0-2\",topic=\"a\",partition=\"1\"}",
            [0.0, 9.0],
        ),
        (
            "kafka_server_FetcherLagMetrics_Value{name=\"ConsumerLag\",clientId=\"ReplicaFetcherThread-0-3\",topic=\"a\",partition=\"2\"}",
            [0.0, 90.0],
        ),
        ("kafka_server_ReplicaManager_Value{name=\"PartitionsWithLateTransactionsCount\"}", [0.0, 2.0]),
        ("kafka_server_DelayedProduceMetrics_Count{name=\"ExpiresPerSec\"}", [1.0, 6.0]),
        ("kafka_server_group_coordinator_metrics_group_completed_rebalance_count", [1.0, 3.0]),
        ("kafka_server_group_coordinator_metrics_consumer_group_rebalance_count", [0.0, 3.0]),
        ("kafka_server_socket_server_metrics_MemoryPoolDepletedTimeTotal", [100.0, 1_100.0]),
        (
            "kafka_server_socket_server_metrics_io_wait_time_ns{listener=\"SSL\",networkProcessor=\"1\"}",
            [0.0, 8e9],
        ),
        (
            "kafka_server_socket_server_metrics_connection_count{listener=\"SSL\",networkProcessor=\"1\"}",
            [3.0, 4.0],
        ),
        ("kafka_server_Produce_throttle_time{client_id=\"a\",user=\"\"}", [0.0, 200.0]),
        ("kafka_server_Produce_throttle_time{client_id=\"b\",user=\"\"}", [0.0, 0.0]),
        ("kafka_server_app_info_StartTimeMs{id=\"7\"}", [1e12, 1e12]),
        ("process_cpu_seconds_total", [100.0, 103.0]),
        ("java_lang_G1_Young_Generation_CollectionTime{type=\"GarbageCollector\"}", [100.0, 400.0]),
        ("java_lang_GarbageCollector_CollectionTime{name=\"ZGC Cycles\"}", [0.0, 9000.0]),
        ("java_lang_ZGC_Major_Cycles_CollectionTime{type=\"GarbageCollector\"}", [0.0, 9000.0]),
    ]);
    assert_eq!(window.naming.as_deref(), Some("JMX exporter without rules"));
    assert_eq!((window.bytes_in_per_s, window.id), (Some(1_000.0), Some(7)));
    let produce = &window.requests["Produce"];
    assert_eq!(produce.stages.total.unwrap().mean_ns, 4e6, "(3 x 30 - 1 x 10) / 20");
    assert_eq!((produce.bytes_mean, produce.per_s), (Some(1_000.0), Some(2.0)));
    let lags: Vec<(&str, f64)> =
        window.follower_lags.iter().map(|lag| (lag.fetcher.as_str(), lag.messages)).collect();
    assert_eq!(lags, [("ReplicaFetcherThread-0-3", 90.0), ("ReplicaFetcherThread-0-2", 9.0)]);
    assert_eq!((window.late_transactions, window.produce_expirations_per_s), (Some(2.0), Some(0.5)));
    assert_eq!((window.group_rebalances_per_s, window.memory_pool_depleted_share), (Some(0.5), Some(0.1)));
    let processor = &window.network_processors[0];
    assert_eq!(
        (processor.name.as_str(), processor.idle_share, processor.connections),
        ("1 of SSL", Some(0.8), Some(4.0))
    );
    assert_eq!((window.throttle_mean_ns, window.cpu_ns), (Some(200e6), Some(3_000_000_000)));
    assert_eq!(window.gc_time_share, Some(0.03));
}

#[test]
fn the_helm_charts_have_values_and_their_rates_of_a_minute_are_not_read() {
    let lines = &[
        ("cp_kafka_server_replicamanager_underreplicatedpartitions", [0.0, 3.0]),
        ("cp_kafka_server_replicamanager_isrshrinkspersec", [0.5, 0.5]),
        ("cp_kafka_server_brokertopicmetrics_bytesinpersec", [900.0, 900.0]),
        ("cp_kafka_server_replicafetchermanager_maxlag_replica", [0.0, 40.0]),
    ];
    let window = window(lines);
    assert_eq!((window.under_replicated, window.follower_max_lag), (Some(3.0), Some(40.0)));
    assert_eq!((window.bytes_in_per_s, window.isr_shrinks_per_s), (None, None));
    assert!(window.missing.contains(&"bytes in".to_owned()));
    assert_eq!(naming(lines), "Confluent's Helm charts");
}

#[test]
fn open_telemetry_has_the_mean_of_requests_and_its_total_is_their_number() {
    for (count, mean, io) in [
        (
            "kafka_request_time_total{type=\"Produce\"}",
            "kafka_request_time_avg{type=\"Produce\"}",
            "kafka_network_io_total",
        ),
        (
            "kafka_request_time_total_milliseconds_total{type=\"produce\"}",
            "kafka_request_time_avg_milliseconds{type=\"produce\"}",
            "kafka_network_io_bytes_total",
        ),
    ] {
        let bytes_in: &'static str = Box::leak(format!("{io}{{direction=\"in\"}}").into_boxed_str());
        let bytes_out: &'static str = Box::leak(format!("{io}{{state=\"out\"}}").into_boxed_str());
        let lines = [
            (count, [10.0, 30.0]),
            (mean, [1.0, 3.0]),
            (bytes_in, [1_000.0, 11_000.0]),
            (bytes_out, [0.0, 50.0]),
            ("kafka_message_count_total", [0.0, 100.0]),
            ("kafka_isr_operation_count_total{operation=\"shrink\"}", [1.0, 2.0]),
            ("kafka_partition_underReplicated", [0.0, 3.0]),
            ("kafka_request_count_total{type=\"produce\"}", [0.0, 99_999.0]),
        ];
        let window = window(&lines);
        let produce = &window.requests["Produce"];
        assert_eq!((produce.stages.total.unwrap().mean_ns, produce.per_s), (4e6, Some(2.0)), "{count}");
        assert_eq!(
            (window.bytes_in_per_s, window.bytes_out_per_s, window.messages_in_per_s),
            (Some(1_000.0), Some(5.0), Some(10.0))
        );
        assert_eq!((window.isr_shrinks_per_s, window.under_replicated), (Some(0.1), Some(3.0)));
        assert_eq!(window.naming.as_deref(), Some("OpenTelemetry"));
    }
}

#[test]
fn redpandas_shards_and_partitions_are_added_up_and_its_times_are_exact() {
    let public = window(&[
        ("redpanda_kafka_handler_latency_seconds_sum{handler=\"produce\"}", [1.0, 1.5]),
        ("redpanda_kafka_handler_latency_seconds_count{handler=\"produce\"}", [0.0, 1_000.0]),
        ("redpanda_kafka_request_latency_seconds_sum{redpanda_request=\"produce\"}", [1.0, 99.0]),
        ("redpanda_kafka_request_latency_seconds_count{redpanda_request=\"produce\"}", [0.0, 1_000.0]),
        (
            "redpanda_kafka_request_bytes_total{redpanda_namespace=\"kafka\",redpanda_request=\"produce\",redpanda_topic=\"a\"}",
            [0.0, 8_000.0],
        ),
        (
            "redpanda_kafka_request_bytes_total{redpanda_namespace=\"kafka\",redpanda_request=\"produce\",redpanda_topic=\"b\"}",
            [0.0, 2_000.0],
        ),
        (
            "redpanda_kafka_request_bytes_total{redpanda_namespace=\"kafka\",redpanda_request=\"consume\",redpanda_topic=\"b\"}",
            [0.0, 500.0],
        ),
        (
            "redpanda_kafka_under_replicated_replicas{redpanda_topic=\"a\",redpanda_partition=\"0\"}",
            [0.0, 2.0],
        ),
        (
            "redpanda_kafka_under_replicated_replicas{redpanda_topic=\"a\",redpanda_partition=\"1\"}",
            [0.0, 1.0],
        ),
        (
            "redpanda_kafka_under_replicated_replicas{redpanda_topic=\"a\",redpanda_partition=\"2\"}",
            [0.0, 0.0],
        ),
        ("redpanda_cpu_busy_seconds_total{shard=\"0\"}", [100.0, 104.0]),
        ("redpanda_cpu_busy_seconds_total{shard=\"1\"}", [100.0, 101.0]),
        ("redpanda_rpc_active_connections{redpanda_server=\"kafka\"}", [3.0, 5.0]),
        ("redpanda_rpc_active_connections{redpanda_server=\"internal\"}", [3.0, 50.0]),
    ]);
    assert_eq!(
        (public.kind, public.naming.as_deref()),
        (BrokerKind::Redpanda, Some("Redpanda /public_metrics"))
    );
    let total = public.requests["Produce"].stages.total.unwrap();
    assert_eq!(
        (total.mean_ns, total.low_ns, total.high_ns, total.samples),
        (500_000.0, 500_000.0, 500_000.0, 1_000)
    );
    assert_eq!((public.bytes_in_per_s, public.bytes_out_per_s), (Some(1_000.0), Some(50.0)));
    assert_eq!((public.topics.len(), public.topics[0].topic.as_str()), (2, "a"));
    assert_eq!(
        (public.under_replicated, public.cpu_ns, public.connections),
        (Some(2.0), Some(5_000_000_000), Some(5.0))
    );
    assert_eq!(public.missing, Vec::<String>::new());

    let internal = window(&[
        (
            "vectorized_kafka_handler_latency_microseconds_sum{handler=\"produce\",shard=\"0\"}",
            [0.0, 300_000.0],
        ),
        (
            "vectorized_kafka_handler_latency_microseconds_sum{handler=\"produce\",shard=\"1\"}",
            [0.0, 200_000.0],
        ),
        (
            "vectorized_kafka_handler_latency_microseconds_count{handler=\"produce\",shard=\"0\"}",
            [0.0, 600.0],
        ),
        (
            "vectorized_kafka_handler_latency_microseconds_count{handler=\"produce\",shard=\"1\"}",
            [0.0, 400.0],
        ),
        (
            "vectorized_kafka_handler_latency_microseconds_count{handler=\"offset_commit\",shard=\"1\"}",
            [0.0, 40.0],
        ),
        ("vectorized_cluster_partition_leader{topic=\"a\",partition=\"0\",shard=\"0\"}", [1.0, 1.0]),
        ("vectorized_cluster_partition_leader{topic=\"a\",partition=\"1\",shard=\"1\"}", [1.0, 0.0]),
        ("vectorized_cluster_partition_high_watermark{topic=\"a\",partition=\"0\",shard=\"0\"}", [0.0, 77.0]),
        ("vectorized_cluster_partition_high_watermark{topic=\"a\",partition=\"1\",shard=\"1\"}", [0.0, 88.0]),
        ("vectorized_reactor_cpu_busy_ms{shard=\"0\"}", [0.0, 4_000.0]),
        ("vectorized_kafka_rpc_connects{shard=\"0\"}", [0.0, 30.0]),
        // The partition left this shard: no restart of the broker.
        (
            "vectorized_cluster_partition_records_produced{topic=\"a\",partition=\"1\",shard=\"1\"}",
            [500.0, 10.0],
        ),
    ]);
    assert!(!internal.restarted);
    assert_eq!(internal.requests["Produce"].stages.total.unwrap().mean_ns, 500_000.0);
    assert_eq!(internal.requests["OffsetCommit"].per_s, Some(4.0));
    assert_eq!((internal.leaders, internal.partitions), (Some(1.0), Some(2.0)));
    assert_eq!((internal.cpu_ns, internal.connections_per_s), (Some(4_000_000_000), Some(3.0)));
    assert_eq!(internal.messages_in_per_s, None);
}

#[test]
fn a_page_that_nobody_knows_has_no_naming_and_says_what_is_missing() {
    let window = window(&[("node_load1", [1.0, 1.0])]);
    assert_eq!((window.naming, window.kind, window.series), (None, BrokerKind::Unknown, 1));
    assert!(window.missing.len() >= 6, "{:?}", window.missing);
}

#[test]
fn gauges_of_a_minute_are_marked_and_say_nothing_of_a_shorter_window() {
    let of = |elapsed: Duration| {
        let lines = [
            "cp_kafka_kafkarequesthandlerpool_requesthandleravgidlepercent 0.7",
            "cp_kafka_network_socketserver_networkprocessoravgidlepercent 0.6",
        ];
        let page = || MetricsPage::parse(&lines.join("\n")).unwrap();
        let start = Instant::now();
        broker_window(&Scrape::at(start, page()), &Scrape::at(start + elapsed, page()), "test")
    };
    let short = of(TEN);
    assert_eq!((short.handlers.idle_share, short.network_processors.len()), (None, 0));
    let long = of(Duration::from_secs(150));
    assert_eq!((long.handlers.idle_share, long.handlers.from_gauge), (Some(0.7), true));
    assert!(long.network_processors[0].from_gauge);
}

proptest! {
    #[test]
    fn hostile_names_and_labels_never_panic(
        metric in "(kafka|redpanda|vectorized|cp_kafka|messaging_kafka|java_lang)_[a-z_]{0,30}",
        label in "[a-zA-Z_-]{0,12}",
        value in "(?s).{0,20}",
        number: f64,
    ) {
        let sample = MetricSample { name: metric, labels: vec![(label, value)], value: number };
        let page = MetricsPage { samples: vec![sample], series: 1 };
        let figures = Figures::of(&page);
        prop_assert!(figures.page.samples.iter().all(|sample| sample.value.is_finite()));
    }
}
