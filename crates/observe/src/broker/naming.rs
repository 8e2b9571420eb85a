//! The names under which exporters serve a broker's figures, and the one under which Plumb has them.
//!
//! Plumb's own names are those of the JMX exporter without rules, in lower case: `kafka_server_brokertopicmetrics_count{name="BytesInPerSec"}`.
//! Each set of rules is a small table beside this file that maps its names to these. A figure that a page has by two names counts
//! once, by the one that comes first. Percentiles, rates of some minutes and means since the start are in no table: no window can be had of them
//! (but for the mean beside its count).

mod bean;
mod listed;
mod open_telemetry;
mod plain;
mod redpanda;
mod spelled;

use crate::prometheus::Labels;
use crate::{MetricSample, MetricsPage};
use std::collections::{BTreeSet, HashMap};

/// The start of the JVM in seconds, as Prometheus' Java client tells it of every program.
pub(crate) const PROCESS_START_S: &str = "process_start_time_seconds";

/// A set of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Naming {
    /// The JMX exporter without rules, as Amazon MSK serves it and Plumb reads a JVM.
    Plain,
    /// The JMX exporter's example for Kafka 2.0 and later, and Strimzi's rules, which come from it.
    KafkaExample,
    /// Confluent's rules for its Prometheus dashboards.
    Confluent,
    /// Confluent's earlier Helm charts.
    ConfluentHelm,
    /// Bitnami's chart, and others that name the attribute last.
    AttributeLast,
    /// OpenTelemetry's metrics of a Kafka broker.
    OpenTelemetry,
    /// Redpanda's `/public_metrics`.
    RedpandaPublic,
    /// Redpanda's `/metrics`.
    RedpandaInternal,
}

impl Naming {
    /// As the document has it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Naming::Plain => "JMX exporter without rules",
            Naming::KafkaExample => "JMX exporter's example for Kafka (Strimzi)",
            Naming::Confluent => "Confluent's JMX exporter rules",
            Naming::ConfluentHelm => "Confluent's Helm charts",
            Naming::AttributeLast => "Bitnami's JMX exporter rules",
            Naming::OpenTelemetry => "OpenTelemetry",
            Naming::RedpandaPublic => "Redpanda /public_metrics",
            Naming::RedpandaInternal => "Redpanda /metrics",
        }
    }

    pub(crate) fn is_redpanda(self) -> bool {
        matches!(self, Naming::RedpandaPublic | Naming::RedpandaInternal)
    }
}

/// A figure by Plumb's own name.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    /// None where several sets of rules have this name.
    naming: Option<Naming>,
    metric: String,
    /// In order, and no others than those of [`LABELS`].
    labels: Labels,
    value: f64,
    together: Together,
}

/// What becomes of two values of one figure in one metric of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    /// The first counts: they are the same value twice.
    First,
    /// They are of parts: shards, partitions.
    Sum,
    /// The largest counts.
    Max,
}

/// Labels that are looked at; others (the pod, the cluster) say nothing about the figure.
const LABELS: [&str; 13] = [
    "name",
    "topic",
    "request",
    "version",
    "error",
    "listener",
    "networkProcessor",
    "processor",
    "delayedOperation",
    "clientId",
    "resource",
    "gc",
    "id",
];

/// Whether a sample with this metric may be a broker's figure: decides what is kept of a page.
pub(crate) fn is_known(metric: &str) -> bool {
    let metric = metric.to_ascii_lowercase();
    plain::has(&metric)
        || spelled::has(&metric)
        || listed::has(&metric)
        || redpanda::has(&metric)
        || open_telemetry::has(&metric)
        || metric.starts_with("java_lang_")
        || metric == PROCESS_START_S
}

/// The figures of a page by Plumb's own names, and where they are from.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) page: MetricsPage,
    pub(crate) namings: BTreeSet<Naming>,
}

impl Figures {
    pub(crate) fn of(page: &MetricsPage) -> Self {
        let mut figures = Figures {
            page: MetricsPage { series: page.series, ..MetricsPage::default() },
            ..Figures::default()
        };
        let mut places = HashMap::new();
        for sample in &page.samples {
            let Some(figure) = figure(sample) else { continue };
            figures.namings.extend(figure.naming);
            // Redpanda serves no figure of all topics.
            if figure.naming.is_some_and(Naming::is_redpanda)
                && figure.labels.iter().any(|(key, _)| key == "topic")
            {
                let labels = figure.labels.iter().filter(|(key, _)| key != "topic").cloned().collect();
                figures.add(Figure { labels, ..figure.clone() }, &sample.name, &mut places);
            }
            figures.add(figure, &sample.name, &mut places);
        }
        figures
    }

    fn add<'a>(&mut self, figure: Figure, metric: &'a str, places: &mut HashMap<Key, Place<'a>>) {
        let key = Key { metric: figure.metric, labels: figure.labels };
        let samples = &mut self.page.samples;
        let Some(place) = places.get(&key) else {
            places.insert(key.clone(), Place { index: samples.len(), metric });
            samples.push(MetricSample { name: key.metric, labels: key.labels, value: figure.value });
            return;
        };
        let known = &mut samples[place.index].value;
        match figure.together {
            // The figure is there by another name already.
            _ if place.metric != metric => {}
            Together::First => {}
            Together::Sum => *known += figure.value,
            Together::Max => *known = known.max(figure.value),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    metric: String,
    labels: Labels,
}

/// Where a figure is kept, and which metric of the page it is from.
struct Place<'a> {
    index: usize,
    metric: &'a str,
}

fn figure(sample: &MetricSample) -> Option<Figure> {
    // Percentiles.
    if label(sample, "quantile").is_some() {
        return None;
    }
    let metric = sample.name.to_ascii_lowercase();
    plain::figure(&metric, sample)
        .or_else(|| listed::figure(&metric, sample))
        .or_else(|| spelled::figure(&metric, sample))
        .or_else(|| redpanda::figure(&metric, sample))
        .or_else(|| open_telemetry::figure(&metric, sample))
        .filter(|figure| figure.value.is_finite())
}

/// Whether two label names are the same but for case, hyphens and underscores.
fn same_label(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> Vec<u8> {
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    one.eq_ignore_ascii_case(other) || letters(one) == letters(other)
}

/// A label's value, whatever the case of its name; an empty one is none.
fn label<'a>(sample: &'a MetricSample, name: &str) -> Option<&'a str> {
    let found = sample.labels.iter().find(|(key, _)| same_label(key, name));
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

/// The labels of a sample that are looked at, by Plumb's names, with these besides.
fn labels_of(sample: &MetricSample, besides: &[(&str, &str)]) -> Labels {
    let mut labels: Labels =
        besides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    for name in LABELS {
        if besides.iter().all(|(key, _)| *key != name)
            && let Some(value) = label(sample, name)
        {
            labels.push((name.to_owned(), value.to_owned()));
        }
    }
    labels.sort();
    labels
}

#[cfg(test)]
mod tests;
