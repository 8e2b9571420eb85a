//! The JMX exporter without rules: a bean is `domain_type_attribute` with its other properties as labels, and upper case is kept unless
//! told otherwise. Metrics that are no Yammer beans have these names under most rules too.

use super::bean::{Attribute, BEANS, Bean};
use super::{Figure, Naming, Together, label, labels_of};
use crate::MetricSample;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Metrics that are no Yammer beans, without the ending `_total`, which later exporters take away.
const OTHERS: [&str; 15] = [
    "kafka_server_socket_server_metrics_io_wait_time_ns",
    "kafka_server_socket_server_metrics_connection_creation",
    "kafka_server_socket_server_metrics_connection_count",
    "kafka_server_socket_server_metrics_failed_authentication",
    "kafka_server_socket_server_metrics_successful_authentication",
    "kafka_server_socket_server_metrics_memorypooldepletedtimetotal",
    "kafka_server_group_coordinator_metrics_group_completed_rebalance_count",
    "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count",
    "kafka_server_group_coordinator_metrics_share_group_rebalance_count",
    "kafka_server_group_coordinator_metrics_streams_group_rebalance_count",
    "kafka_server_produce_throttle_time",
    "kafka_server_fetch_throttle_time",
    "kafka_server_request_throttle_time",
    "kafka_server_app_info_starttimems",
    "jvm_gc_collection_seconds_sum",
];
/// The JVM's own, which the exporter serves under every rule.
const PROCESS_CPU: &str = "process_cpu_seconds_total";

/// A bean's attribute by its metric and the label `name`.
type ByMetric = HashMap<String, Vec<&'static Bean>>;

fn beans() -> &'static ByMetric {
    static BY_METRIC: OnceLock<ByMetric> = OnceLock::new();
    BY_METRIC.get_or_init(|| {
        let mut by_metric = ByMetric::new();
        for bean in &BEANS {
            for attribute in bean.attributes() {
                by_metric.entry(format!("{}_{}", bean.group, attribute.name())).or_default().push(bean);
            }
        }
        by_metric
    })
}

fn without_total(metric: &str) -> &str {
    metric.strip_suffix("_total").unwrap_or(metric)
}

pub(super) fn has(metric: &str) -> bool {
    beans().contains_key(metric)
        || OTHERS.contains(&without_total(metric))
        || metric == PROCESS_CPU
        || is_idle_rate(metric)
}

fn is_idle_rate(metric: &str) -> bool {
    metric == "kafka_server_kafkarequesthandlerpool_oneminuterate"
}

pub(super) fn figure(metric: &str, sample: &MetricSample) -> Option<Figure> {
    let value = sample.value;
    let figure = |naming, metric: &str, labels, together| {
        Some(Figure { naming, metric: metric.to_owned(), labels, value, together })
    };
    if let Some(beans) = beans().get(metric) {
        let name = label(sample, "name")?;
        let bean = beans.iter().find(|bean| bean.name.eq_ignore_ascii_case(name))?;
        return figure(
            Some(Naming::Plain),
            metric,
            labels_of(sample, &[("name", bean.name)]),
            together(bean),
        );
    }
    if is_idle_rate(metric) {
        let labels = labels_of(sample, &[("name", label(sample, "name")?)]);
        return figure(Some(Naming::Plain), metric, labels, Together::First);
    }
    if metric == PROCESS_CPU {
        return figure(None, metric, labels_of(sample, &[]), Together::First);
    }
    if let Some(other) = OTHERS.iter().find(|other| **other == without_total(metric)) {
        return figure(None, other, labels_of(sample, &[]), Together::First);
    }
    // Which of a collector's properties stands in the name differs by their order.
    let is_collector = metric.starts_with("java_lang_") && metric.ends_with("_collectiontime");
    let of_type =
        label(sample, "type").is_some_and(|of_type| of_type.eq_ignore_ascii_case("GarbageCollector"));
    if is_collector && (of_type || metric == "java_lang_garbagecollector_collectiontime") {
        let collector = label(sample, "name").unwrap_or(metric);
        return figure(
            None,
            "java_lang_garbagecollector_collectiontime",
            vec![("gc".to_owned(), collector.to_owned())],
            Together::First,
        );
    }
    None
}

/// What two values of one bean are: a fetcher's lag is told for each of its partitions.
pub(super) fn together(bean: &Bean) -> Together {
    match bean.group {
        "kafka_server_fetcherlagmetrics" => Together::Max,
        _ => Together::First,
    }
}

/// The figure of a bean that other rules name.
pub(super) fn of_bean(
    bean: &Bean,
    attribute: Attribute,
    naming: Option<Naming>,
    sample: &MetricSample,
) -> Figure {
    Figure {
        naming,
        metric: format!("{}_{}", bean.group, attribute.name()),
        labels: labels_of(sample, &[("name", bean.name)]),
        value: sample.value,
        together: together(bean),
    }
}
