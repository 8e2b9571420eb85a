//! Redpanda's own names (`public-metrics-reference`, `internal-metrics-reference` of its documentation).
//!
//! `/public_metrics` begins with `redpanda_`, `/metrics` with `vectorized_`, where each processor (shard) and each partition has a sample of its own:
//! they are added up. Histograms have their sums, so that means of a window are exact and not rounded. There are no network threads and no request
//! handlers; `cpu_busy` is the time for which the reactors had work (they poll, so that the processors always look busy).

use super::{Figure, Naming, Together, label};
use crate::MetricSample;
use crate::prometheus::Labels;

/// What a sample's value is in Plumb's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Times(f64),
    /// One where it is above 0.
    Positive,
    /// One, whatever it says.
    One,
}

struct Row {
    metric: &'static str,
    /// A label with the value that it must have.
    when: Option<(&'static str, &'static str)>,
    to: &'static str,
    name: Option<&'static str>,
    /// The label that becomes Plumb's `topic` or `request`.
    take: Take,
    unit: Unit,
}

/// A label that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    Nothing,
    Topic(&'static str),
    /// A handler's name as Kafka's kind of request.
    Handler,
    /// `Produce` or `FetchConsumer`.
    ProduceOrConsume,
}

const TOPIC_METRICS: &str = "kafka_server_brokertopicmetrics_count";
const SUM: &str = "kafka_network_requestmetrics_sum";
const COUNT: &str = "kafka_network_requestmetrics_count";
const TOTAL: Option<&str> = Some("TotalTimeMs");
const CPU: &str = "process_cpu_seconds_total";
const CONNECTIONS: &str = "kafka_server_socket_server_metrics_connection_count";
const REPLICAS: &str = "kafka_server_replicamanager_value";
const PUBLIC_TOPIC: Take = Take::Topic("redpanda_topic");
const INTERNAL_TOPIC: Take = Take::Topic("topic");

const fn row(
    metric: &'static str,
    to: &'static str,
    name: Option<&'static str>,
    take: Take,
    unit: Unit,
) -> Row {
    Row { metric, when: None, to, name, take, unit }
}

const fn when(
    metric: &'static str,
    when: (&'static str, &'static str),
    to: &'static str,
    name: Option<&'static str>,
    take: Take,
) -> Row {
    Row { metric, when: Some(when), to, name, take, unit: Unit::Times(1.0) }
}

const ONE: Unit = Unit::Times(1.0);
/// Histograms' sums in milliseconds.
const SECONDS: Unit = Unit::Times(1e3);
const MICROSECONDS: Unit = Unit::Times(1e-3);

const ROWS: [Row; 28] = [
    // The handler's time is all that the broker takes for a request; that of `request_latency`, which stands for it where it is not served, begins
    // at the partition.
    row("redpanda_kafka_handler_latency_seconds_sum", SUM, TOTAL, Take::Handler, SECONDS),
    row("redpanda_kafka_handler_latency_seconds_count", COUNT, TOTAL, Take::Handler, ONE),
    row("redpanda_kafka_request_latency_seconds_sum", SUM, TOTAL, Take::ProduceOrConsume, SECONDS),
    row("redpanda_kafka_request_latency_seconds_count", COUNT, TOTAL, Take::ProduceOrConsume, ONE),
    when(
        "redpanda_kafka_request_bytes_total",
        ("redpanda_request", "produce"),
        TOPIC_METRICS,
        Some("BytesInPerSec"),
        PUBLIC_TOPIC,
    ),
    when(
        "redpanda_kafka_request_bytes_total",
        ("redpanda_request", "consume"),
        TOPIC_METRICS,
        Some("BytesOutPerSec"),
        PUBLIC_TOPIC,
    ),
    row("redpanda_kafka_records_produced_total", TOPIC_METRICS, Some("MessagesInPerSec"), PUBLIC_TOPIC, ONE),
    when(
        "redpanda_rpc_request_errors_total",
        ("redpanda_server", "kafka"),
        TOPIC_METRICS,
        Some("FailedProduceRequestsPerSec"),
        Take::Nothing,
    ),
    when("redpanda_rpc_active_connections", ("redpanda_server", "kafka"), CONNECTIONS, None, Take::Nothing),
    row("redpanda_cpu_busy_seconds_total", CPU, None, Take::Nothing, ONE),
    row(
        "redpanda_kafka_under_replicated_replicas",
        REPLICAS,
        Some("UnderReplicatedPartitions"),
        Take::Nothing,
        Unit::Positive,
    ),
    row(
        "redpanda_cluster_partition_moving_to_node",
        REPLICAS,
        Some("ReassigningPartitions"),
        Take::Nothing,
        ONE,
    ),
    row("vectorized_kafka_handler_latency_microseconds_sum", SUM, TOTAL, Take::Handler, MICROSECONDS),
    row("vectorized_kafka_handler_latency_microseconds_count", COUNT, TOTAL, Take::Handler, ONE),
    row("vectorized_kafka_latency_produce_latency_us_sum", SUM, TOTAL, Take::ProduceOrConsume, MICROSECONDS),
    row("vectorized_kafka_latency_produce_latency_us_count", COUNT, TOTAL, Take::ProduceOrConsume, ONE),
    row(
        "vectorized_cluster_partition_bytes_produced_total",
        TOPIC_METRICS,
        Some("BytesInPerSec"),
        INTERNAL_TOPIC,
        ONE,
    ),
    row(
        "vectorized_cluster_partition_bytes_fetched_total",
        TOPIC_METRICS,
        Some("BytesOutPerSec"),
        INTERNAL_TOPIC,
        ONE,
    ),
    row(
        "vectorized_cluster_partition_records_produced",
        TOPIC_METRICS,
        Some("MessagesInPerSec"),
        INTERNAL_TOPIC,
        ONE,
    ),
    row(
        "vectorized_cluster_partition_under_replicated_replicas",
        REPLICAS,
        Some("UnderReplicatedPartitions"),
        Take::Nothing,
        Unit::Positive,
    ),
    row("vectorized_cluster_partition_leader", REPLICAS, Some("LeaderCount"), Take::Nothing, Unit::Positive),
    row(
        "vectorized_cluster_partition_high_watermark",
        REPLICAS,
        Some("PartitionCount"),
        Take::Nothing,
        Unit::One,
    ),
    row("vectorized_kafka_rpc_active_connections", CONNECTIONS, None, Take::Nothing, ONE),
    row(
        "vectorized_kafka_rpc_connects",
        "kafka_server_socket_server_metrics_connection_creation",
        None,
        Take::Nothing,
        ONE,
    ),
    row(
        "vectorized_kafka_rpc_connects_total",
        "kafka_server_socket_server_metrics_connection_creation",
        None,
        Take::Nothing,
        ONE,
    ),
    row(
        "vectorized_kafka_rpc_service_errors",
        TOPIC_METRICS,
        Some("FailedProduceRequestsPerSec"),
        Take::Nothing,
        ONE,
    ),
    row("vectorized_reactor_cpu_busy_ms", CPU, None, Take::Nothing, Unit::Times(1e-3)),
    row("vectorized_reactor_cpu_busy_ms_total", CPU, None, Take::Nothing, Unit::Times(1e-3)),
];

pub(super) fn has(metric: &str) -> bool {
    ROWS.iter().any(|row| row.metric == metric)
}

pub(super) fn figure(metric: &str, sample: &MetricSample) -> Option<Figure> {
    let fits = |row: &&Row| {
        row.metric == metric && row.when.is_none_or(|(key, value)| label(sample, key) == Some(value))
    };
    let row = ROWS.iter().find(fits)?;
    let mut labels = Labels::new();
    labels.extend(row.name.map(|name| ("name".to_owned(), name.to_owned())));
    match row.take {
        Take::Nothing => {}
        Take::Topic(name) => labels.push(("topic".to_owned(), label(sample, name)?.to_owned())),
        Take::Handler => labels.push((
            "request".to_owned(),
            kafka_request(label(sample, "handler").or_else(|| label(sample, "redpanda_handler"))?),
        )),
        Take::ProduceOrConsume => {
            let request = match label(sample, "redpanda_request") {
                Some("consume") => "FetchConsumer",
                Some("produce") | None => "Produce",
                Some(_) => return None,
            };
            labels.push(("request".to_owned(), request.to_owned()));
        }
    }
    labels.sort();
    Some(Figure {
        naming: Some(if metric.starts_with("redpanda_") {
            Naming::RedpandaPublic
        } else {
            Naming::RedpandaInternal
        }),
        metric: row.to.to_owned(),
        labels,
        value: match row.unit {
            Unit::Times(factor) => sample.value * factor,
            Unit::Positive => f64::from(sample.value > 0.0),
            Unit::One => 1.0,
        },
        together: Together::Sum,
    })
}

/// `offset_commit` as `OffsetCommit`. Replicas do not fetch by Kafka's protocol, so that every fetch is a consumer's.
fn kafka_request(handler: &str) -> String {
    if handler == "fetch" {
        return "FetchConsumer".to_owned();
    }
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    handler.split('_').map(word).collect()
}
