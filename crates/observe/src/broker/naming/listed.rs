//! Names that follow no pattern, by the rules that have them.
//!
//! - Confluent's (`jmx-monitoring-stacks`): socket-server metrics without an underscore.
//! - Confluent's Helm charts (`cp-kafka`, `jmx-configmap.yaml`): values with `cp_` before; their rates are those of the last minute, and not read.
//! - Bitnami's chart: the purgatory's operation within the name.
//! - The exporter's example: quotas by their resource.

use super::bean::{Attribute, BEANS, Kind};
use super::plain::of_bean;
use super::{Figure, Naming, Together, labels_of};
use crate::MetricSample;

/// A metric with the one of Plumb's that it stands for.
struct Listed {
    metric: &'static str,
    naming: Naming,
    to: &'static str,
    labels: &'static [(&'static str, &'static str)],
}

const IDLE: &str = "kafka_server_kafkarequesthandlerpool_oneminuterate";
const PURGATORY: &str = "kafka_server_delayedoperationpurgatory_value";

const LISTED: [Listed; 4] = [
    Listed {
        metric: "cp_kafka_kafkarequesthandlerpool_requesthandleravgidlepercent",
        naming: Naming::ConfluentHelm,
        to: IDLE,
        labels: &[("name", "RequestHandlerAvgIdlePercent")],
    },
    Listed {
        metric: "cp_kafka_server_replicafetchermanager_maxlag_replica",
        naming: Naming::ConfluentHelm,
        to: "kafka_server_replicafetchermanager_value",
        labels: &[("name", "MaxLag"), ("clientId", "Replica")],
    },
    Listed {
        metric: "kafka_server_delayedoperationpurgatory_purgatorysize_produce_value",
        naming: Naming::AttributeLast,
        to: PURGATORY,
        labels: &[("name", "PurgatorySize"), ("delayedOperation", "Produce")],
    },
    Listed {
        metric: "kafka_server_quota_throttle_time",
        naming: Naming::KafkaExample,
        to: "kafka_server_quota_throttle_time",
        labels: &[],
    },
];

/// Confluent's name of a group that has none of Yammer's beans.
const SOCKETS: (&str, &str) = ("kafka_server_socketservermetrics_", "kafka_server_socket_server_metrics_");

pub(super) fn has(metric: &str) -> bool {
    LISTED.iter().any(|listed| listed.metric == metric)
        || metric.starts_with(SOCKETS.0)
        || metric.starts_with("cp_kafka_")
}

pub(super) fn figure(metric: &str, sample: &MetricSample) -> Option<Figure> {
    if let Some(listed) = LISTED.iter().find(|listed| listed.metric == metric) {
        return Some(Figure {
            naming: Some(listed.naming),
            metric: listed.to.to_owned(),
            labels: labels_of(sample, listed.labels),
            value: sample.value,
            together: Together::First,
        });
    }
    if let Some(rest) = metric.strip_prefix(SOCKETS.0) {
        let figure = super::plain::figure(&format!("{}{rest}", SOCKETS.1), sample)?;
        return Some(Figure { naming: Some(Naming::Confluent), ..figure });
    }
    let rest = metric.strip_prefix("cp_")?;
    let gauges = BEANS.iter().filter(|bean| bean.kind == Kind::Gauge);
    let bean = gauges.into_iter().find(|bean| {
        rest.strip_prefix(bean.group)
            .and_then(|rest| rest.strip_prefix('_'))
            .is_some_and(|name| bean.name.eq_ignore_ascii_case(name))
    })?;
    Some(of_bean(bean, Attribute::Value, Some(Naming::ConfluentHelm), sample))
}
