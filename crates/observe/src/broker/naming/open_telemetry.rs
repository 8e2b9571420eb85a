//! OpenTelemetry's metrics of a Kafka broker (its JMX scraper, Java agent and the collector's JMX receiver), as a Prometheus exporter names them: dots
//! are underscores, and counters and units stand at the end.
//!
//! `kafka.request.time.total` is a trap: it is the bean's count, and so the number of requests, not their time. Beside the mean since the start
//! it gives the mean of a window. `kafka.request.count` counts a request once for each of its partitions, and is not read.

use super::{Figure, Naming, Together, label, labels_of};
use crate::MetricSample;

/// A metric, by a label where that tells several apart.
struct Row {
    /// Without counter and unit.
    metric: &'static str,
    /// The label must have one of these values.
    when: Option<When>,
    to: &'static str,
    labels: &'static [(&'static str, &'static str)],
}

struct When {
    labels: &'static [&'static str],
    value: &'static str,
}

const fn row(metric: &'static str, to: &'static str, labels: &'static [(&'static str, &'static str)]) -> Row {
    Row { metric, when: None, to, labels }
}

const fn of_type(
    metric: &'static str,
    value: &'static str,
    to: &'static str,
    labels: &'static [(&'static str, &'static str)],
) -> Row {
    Row {
        metric,
        when: Some(When { labels: &["type", "direction", "state", "operation"], value }),
        to,
        labels,
    }
}

const TOPIC_METRICS: &str = "kafka_server_brokertopicmetrics_count";
const REPLICAS: &str = "kafka_server_replicamanager_value";
const COUNT: &str = "kafka_network_requestmetrics_count";
const MEAN: &str = "kafka_network_requestmetrics_mean";
const PRODUCE: &[(&str, &str)] = &[("name", "TotalTimeMs"), ("request", "Produce")];
const FETCH: &[(&str, &str)] = &[("name", "TotalTimeMs"), ("request", "FetchConsumer")];
const FOLLOW: &[(&str, &str)] = &[("name", "TotalTimeMs"), ("request", "FetchFollower")];

const ROWS: [Row; 25] = [
    row("kafka_message_count", TOPIC_METRICS, &[("name", "MessagesInPerSec")]),
    of_type("kafka_network_io", "in", TOPIC_METRICS, &[("name", "BytesInPerSec")]),
    of_type("kafka_network_io", "out", TOPIC_METRICS, &[("name", "BytesOutPerSec")]),
    of_type("kafka_request_failed", "produce", TOPIC_METRICS, &[("name", "FailedProduceRequestsPerSec")]),
    of_type("kafka_request_failed", "fetch", TOPIC_METRICS, &[("name", "FailedFetchRequestsPerSec")]),
    of_type("kafka_request_time", "produce", COUNT, PRODUCE),
    of_type("kafka_request_time", "fetchconsumer", COUNT, FETCH),
    of_type("kafka_request_time", "fetchfollower", COUNT, FOLLOW),
    of_type("kafka_request_time_avg", "produce", MEAN, PRODUCE),
    of_type("kafka_request_time_avg", "fetchconsumer", MEAN, FETCH),
    of_type("kafka_request_time_avg", "fetchfollower", MEAN, FOLLOW),
    row("kafka_request_queue", "kafka_network_requestchannel_value", &[("name", "RequestQueueSize")]),
    of_type(
        "kafka_purgatory_size",
        "produce",
        "kafka_server_delayedoperationpurgatory_value",
        &[("name", "PurgatorySize"), ("delayedOperation", "Produce")],
    ),
    row("kafka_partition_count", REPLICAS, &[("name", "PartitionCount")]),
    row("kafka_leader_count", REPLICAS, &[("name", "LeaderCount")]),
    row("kafka_partition_under_replicated", REPLICAS, &[("name", "UnderReplicatedPartitions")]),
    row("kafka_partition_underreplicated", REPLICAS, &[("name", "UnderReplicatedPartitions")]),
    of_type(
        "kafka_isr_operation_count",
        "shrink",
        "kafka_server_replicamanager_count",
        &[("name", "IsrShrinksPerSec")],
    ),
    of_type(
        "kafka_isr_operation_count",
        "expand",
        "kafka_server_replicamanager_count",
        &[("name", "IsrExpandsPerSec")],
    ),
    row(
        "kafka_lag_max",
        "kafka_server_replicafetchermanager_value",
        &[("name", "MaxLag"), ("clientId", "Replica")],
    ),
    row(
        "kafka_max_lag",
        "kafka_server_replicafetchermanager_value",
        &[("name", "MaxLag"), ("clientId", "Replica")],
    ),
    row("kafka_logs_flush_count", "kafka_log_logflushstats_count", &[("name", "LogFlushRateAndTimeMs")]),
    row(
        "kafka_request_handler_idle_1m",
        "kafka_server_kafkarequesthandlerpool_oneminuterate",
        &[("name", "RequestHandlerAvgIdlePercent")],
    ),
    row(
        "kafka_network_processor_idle_average",
        "kafka_network_socketserver_value",
        &[("name", "NetworkProcessorAvgIdlePercent")],
    ),
    row(
        "kafka_network_processor_idle_utilization",
        "kafka_network_processor_value",
        &[("name", "IdlePercent")],
    ),
];

/// The metric without the older prefix, counter and unit.
fn bare(metric: &str) -> &str {
    let mut bare = metric.strip_prefix("messaging_").unwrap_or(metric);
    for ending in ["_total", "_milliseconds", "_bytes", "_ratio", "_total"] {
        bare = bare.strip_suffix(ending).unwrap_or(bare);
    }
    bare
}

pub(super) fn has(metric: &str) -> bool {
    let bare = bare(metric);
    ROWS.iter().any(|row| row.metric == bare)
}

pub(super) fn figure(metric: &str, sample: &MetricSample) -> Option<Figure> {
    let bare = bare(metric);
    let fits = |when: &When| {
        when.labels
            .iter()
            .any(|name| label(sample, name).is_some_and(|value| value.eq_ignore_ascii_case(when.value)))
    };
    let row = ROWS.iter().find(|row| row.metric == bare && row.when.as_ref().is_none_or(fits))?;
    let mut besides = row.labels.to_vec();
    if let Some(processor) = label(sample, "kafka.network.processor.id") {
        besides.push(("networkProcessor", processor));
    }
    Some(Figure {
        naming: Some(Naming::OpenTelemetry),
        metric: row.to.to_owned(),
        labels: labels_of(sample, &besides),
        value: sample.value,
        together: Together::First,
    })
}
