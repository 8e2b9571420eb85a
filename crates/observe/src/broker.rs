//! A broker over a window, from two readings of its metrics.
//!
//! Names are Plumb's own, to which `naming.rs` brings those of the exporters. Counters give rates by their growth; one that went back says that the broker started anew, and there are no rates then.
//! Means are exact window means (`requests.rs`), idle shares are counted (`idle.rs`); percentiles are not read.

pub(crate) mod naming;
mod page;

use crate::Scrape;
use crate::idle::COUNTED_IDLE;
use crate::requests::times_of;
use naming::{Figures, Naming};
use page::{Bean, Growth};
use plumb_model::facts::RequestTimes;
use plumb_model::observed::{
    BrokerKind, BrokerRole, BrokerWindow, HandlerPool, NetworkProcessor, RequestKind,
};
use std::collections::BTreeMap;

/// Topics that are kept, those with most bytes first.
const TOPICS_MOST: usize = 50;

/// Counters of rebalances, by the protocol of the group.
const REBALANCES: [&str; 4] = [
    "kafka_server_group_coordinator_metrics_group_completed_rebalance_count",
    "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count",
    "kafka_server_group_coordinator_metrics_share_group_rebalance_count",
    "kafka_server_group_coordinator_metrics_streams_group_rebalance_count",
];

/// The broker between two readings; `source` says where they are from.
pub fn broker_window(before: &Scrape, after: &Scrape, source: &str) -> BrokerWindow {
    let elapsed = after.since(before);
    let (before, after) = (Figures::of(&before.page), Figures::of(&after.page));
    let is_redpanda = after.namings.iter().any(|naming| naming.is_redpanda());
    let growth = Growth::new(&before.page, &after.page, elapsed, is_redpanda);
    let times = times_of(&before.page, &after.page, elapsed);
    let role = growth.role();
    let mut window = BrokerWindow {
        source: source.to_owned(),
        id: growth.id(),
        kind: kind(&after, is_redpanda),
        naming: naming_words(&after),
        role,
        elapsed_ns: times.elapsed_ns,
        series: after.page.series,
        requests: requests(&growth, &times),
        handlers: handlers(&growth, &times, role),
        network_processors: network_processors(&growth, &times),
        gc_time_share: growth.gc_share(),
        cpu_ns: growth.processor_ns(),
        restarted: growth.went_back,
        ..BrokerWindow::default()
    };
    traffic(&mut window, &growth);
    replicas(&mut window, &growth);
    threads(&mut window, &growth);
    held_back(&mut window, &growth);
    window.missing = missing(&window, &growth);
    window
}

fn kind(figures: &Figures, is_redpanda: bool) -> BrokerKind {
    match is_redpanda {
        true => BrokerKind::Redpanda,
        false if figures.page.samples.is_empty() => BrokerKind::Unknown,
        false => BrokerKind::Kafka,
    }
}

fn naming_words(figures: &Figures) -> Option<String> {
    let words: Vec<&str> = figures.namings.iter().map(|naming: &Naming| naming.words()).collect();
    match words.is_empty() {
        true if figures.page.samples.is_empty() => None,
        true => Some("rules of the JMX exporter that cannot be told".to_owned()),
        false => Some(words.join(", ")),
    }
}

fn requests(growth: &Growth<'_>, times: &RequestTimes) -> BTreeMap<String, RequestKind> {
    let mut requests = growth.requests();
    for (kind, stages) in [
        ("Produce", &times.produce),
        ("FetchConsumer", &times.fetch_consumer),
        ("FetchFollower", &times.fetch_follower),
    ] {
        requests.entry(kind.to_owned()).or_default().stages = stages.clone();
    }
    requests
}

fn handlers(growth: &Growth<'_>, times: &RequestTimes, role: BrokerRole) -> HandlerPool {
    match (role, &times.request_handlers) {
        // In a combined process one meter is fed by both pools, each with its own divisor: the share is of neither (KAFKA-19606).
        (BrokerRole::Combined, _) => {
            HandlerPool { idle_share: growth.broker_handlers_idle(), ..HandlerPool::default() }
        }
        (_, Some(idle)) => HandlerPool {
            idle_share: Some(idle.share),
            from_gauge: idle.source != COUNTED_IDLE,
            ..HandlerPool::default()
        },
        (_, None) => HandlerPool::default(),
    }
}

fn network_processors(growth: &Growth<'_>, times: &RequestTimes) -> Vec<NetworkProcessor> {
    let processors = growth.network_processors();
    match (&times.network_threads, processors.is_empty()) {
        (Some(idle), true) => vec![NetworkProcessor {
            name: idle.of.clone(),
            idle_share: Some(idle.share),
            from_gauge: true,
            connections: None,
        }],
        _ => processors,
    }
}

fn traffic(window: &mut BrokerWindow, growth: &Growth<'_>) {
    let rate = |name: &str| growth.rate(&Bean::new("kafka_server", "BrokerTopicMetrics", name));
    window.bytes_in_per_s = rate("BytesInPerSec");
    window.bytes_out_per_s = rate("BytesOutPerSec");
    window.messages_in_per_s = rate("MessagesInPerSec");
    window.replication_bytes_in_per_s = rate("ReplicationBytesInPerSec");
    window.replication_bytes_out_per_s = rate("ReplicationBytesOutPerSec");
    window.failed_requests_per_s =
        sum(&[rate("FailedProduceRequestsPerSec"), rate("FailedFetchRequestsPerSec")]);
    window.conversions_per_s =
        sum(&[rate("ProduceMessageConversionsPerSec"), rate("FetchMessageConversionsPerSec")]);
    window.topics = growth.topics(TOPICS_MOST);
    window.errors_per_s = growth.errors();
}

fn replicas(window: &mut BrokerWindow, growth: &Growth<'_>) {
    let gauge = |name: &str| growth.gauge(&Bean::new("kafka_server", "ReplicaManager", name));
    let rate = |name: &str| growth.rate(&Bean::new("kafka_server", "ReplicaManager", name));
    window.leaders = gauge("LeaderCount");
    window.partitions = gauge("PartitionCount");
    window.under_replicated = gauge("UnderReplicatedPartitions");
    window.under_min_isr = gauge("UnderMinIsrPartitionCount");
    window.at_min_isr = gauge("AtMinIsrPartitionCount");
    window.reassigning_partitions = gauge("ReassigningPartitions");
    window.late_transactions = gauge("PartitionsWithLateTransactionsCount");
    window.isr_shrinks_per_s = rate("IsrShrinksPerSec");
    window.isr_expands_per_s = rate("IsrExpandsPerSec");
    window.follower_max_lag = growth.follower_max_lag();
    window.follower_lags = growth.follower_lags();
    window.produce_purgatory = growth.purgatory();
    window.produce_expirations_per_s =
        growth.rate(&Bean::new("kafka_server", "DelayedProduceMetrics", "ExpiresPerSec"));
    let flush = Bean::new("kafka_log", "LogFlushStats", "LogFlushRateAndTimeMs");
    window.log_flushes_per_s = growth.rate(&flush);
    window.log_flush_mean_ns = growth.window_mean(&flush).map(|ms| ms * 1e6);
}

fn threads(window: &mut BrokerWindow, growth: &Growth<'_>) {
    let queue = |name: &str| growth.gauge(&Bean::new("kafka_network", "RequestChannel", name));
    let sockets = |name: &str| format!("kafka_server_socket_server_metrics_{name}");
    window.request_queue_size = queue("RequestQueueSize");
    window.response_queue_size = queue("ResponseQueueSize");
    window.connections_per_s = growth.sum_of_growth(&sockets("connection_creation"));
    window.connections = growth.sum_at_end(&sockets("connection_count"));
    window.failed_authentications_per_s = growth.sum_of_growth(&sockets("failed_authentication"));
    window.authentications_per_s = growth.sum_of_growth(&sockets("successful_authentication"));
    // The meter counts the nanoseconds for which the acceptor waited for room in a network thread's queue.
    let blocked = growth.rate_most(&Bean::new("kafka_network", "Acceptor", "AcceptorBlockedPercent"));
    window.acceptor_blocked_share = blocked.map(|ns_per_s| (ns_per_s / 1e9).min(1.0));
    // Milliseconds, with parts.
    let depleted = growth.sum_of_growth(&sockets("memorypooldepletedtimetotal"));
    window.memory_pool_depleted_share = depleted.map(|ms_per_s| (ms_per_s / 1e3).min(1.0));
}

fn held_back(window: &mut BrokerWindow, growth: &Growth<'_>) {
    let of_requests = ["Produce", "FetchConsumer"].map(|kind| window.requests.get(kind)?.stages.throttle);
    let known: Vec<f64> = of_requests.iter().flatten().map(|throttle| throttle.mean_ns).collect();
    let nobody = !known.is_empty() && known.iter().all(|mean_ns| *mean_ns == 0.0);
    window.throttle_mean_ns = match nobody {
        true => Some(0.0),
        false => growth.throttle_ms().map(|ms| ms * 1e6),
    };
    window.group_rebalances_per_s = sum(&REBALANCES.map(|name| growth.sum_of_growth(name)));
}

/// What a broker of this kind has and the page has not.
fn missing(window: &BrokerWindow, growth: &Growth<'_>) -> Vec<String> {
    let without_means = growth.times_without_means();
    let times = match without_means {
        true => {
            "request times: counts and percentiles are served, and no mean of a window can be had from them"
        }
        false => "request times",
    };
    let has_times = window.requests.values().any(|kind| kind.stages.total.is_some());
    let of_kafka = window.kind != BrokerKind::Redpanda;
    let looked_for = [
        (times, has_times),
        ("bytes in", window.bytes_in_per_s.is_some()),
        ("replicas in sync", window.under_replicated.is_some()),
        ("idle share of network threads", !of_kafka || !window.network_processors.is_empty()),
        ("idle share of request handlers", !of_kafka || window.handlers.idle_share.is_some()),
        ("log flushes", !of_kafka || window.log_flushes_per_s.is_some()),
        ("connections", window.connections.is_some()),
    ];
    looked_for.into_iter().filter(|(_, there)| !there).map(|(what, _)| what.to_owned()).collect()
}

fn sum(parts: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = parts.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Names and rates.
type Rates = BTreeMap<String, f64>;
