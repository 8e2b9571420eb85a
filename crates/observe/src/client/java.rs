//! Java clients over a window, from two readings of a page of their metrics.
//!
//! Counters (`-total`) give rates by their growth. Means (`-avg`) are gauges of the client's own last 30 to 60 seconds
//! (`metrics.sample.window.ms` times `metrics.num.samples`), which the window may be shorter or longer than:
//! [`means_from_gauge`](ClientWindow::means_from_gauge) says so.
//!
//! The names of the client's own groups of metrics (`producer-metrics`, `producer-topic-metrics`, `consumer-fetch-manager-metrics` ...,
//! KIP-40 and its successors) are read as the JMX exporter prints them without rules, as its example for clients and Strimzi's rules for
//! Kafka Connect name them, and as Micrometer does; with or without `_total` at the end, which later exporters take away.

use super::readings::ClientsSeen;
use crate::{MetricSample, Scrape};
use plumb_model::observed::{ClientKind, ClientWindow, Unseen};
use std::collections::BTreeMap;

const NS_PER_MS: f64 = 1e6;
/// Bytes of a record batch besides its records (message format 2).
const BATCH_HEADER_BYTES: f64 = 61.0;
/// Clients of one page that are read (ours).
const CLIENTS_MOST: usize = 1_000;

/// Begins of the names, the longest of each kind first: no rules, rules with the group alone, and Micrometer.
const PREFIXES: [(&str, Side); 18] = [
    ("kafka_producer_producer_node_metrics_", Side::Producer),
    ("kafka_producer_node_metrics_", Side::Producer),
    ("kafka_producer_node_", Side::Producer),
    ("kafka_producer_producer_topic_metrics_", Side::Producer),
    ("kafka_producer_topic_metrics_", Side::Producer),
    ("kafka_producer_topic_", Side::Producer),
    ("kafka_producer_producer_metrics_", Side::Producer),
    ("kafka_producer_metrics_", Side::Producer),
    ("kafka_producer_", Side::Producer),
    ("kafka_consumer_consumer_fetch_manager_metrics_", Side::Consumer),
    ("kafka_consumer_fetch_manager_metrics_", Side::Consumer),
    ("kafka_consumer_fetch_manager_", Side::Consumer),
    ("kafka_consumer_consumer_coordinator_metrics_", Side::Consumer),
    ("kafka_consumer_coordinator_metrics_", Side::Consumer),
    ("kafka_consumer_coordinator_", Side::Consumer),
    ("kafka_consumer_consumer_metrics_", Side::Consumer),
    ("kafka_consumer_metrics_", Side::Consumer),
    ("kafka_consumer_", Side::Consumer),
];

/// Figures that are read, without `_total`.
const FIGURES: [&str; 29] = [
    "batch_size_avg",
    "buffer_available_bytes",
    "buffer_total_bytes",
    "bufferpool_wait_time_ns",
    "byte",
    "bytes_consumed",
    "commit",
    "commit_latency_avg",
    "compression_rate_avg",
    "connection_creation",
    "fetch_throttle_time_avg",
    "poll_idle_ratio_avg",
    "produce_throttle_time_avg",
    "rebalance",
    "record_error",
    "record_queue_time_avg",
    "record_retry",
    "record_send",
    "records_consumed",
    "records_lag",
    "records_per_request_avg",
    "request",
    "request_latency_avg",
    "request_latency_max",
    "requests_in_flight",
    "bufferpool_wait_time",
    "outgoing_byte",
    "record_size_avg",
    "last_rebalance_seconds_ago",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Producer,
    Consumer,
}

/// A figure by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figure {
    side: Side,
    name: &'static str,
}

impl Figure {
    fn of(metric: &str) -> Option<Self> {
        let metric = metric.to_ascii_lowercase();
        PREFIXES.iter().find_map(|(prefix, side)| {
            let rest = metric.strip_prefix(prefix)?;
            let rest = rest.strip_suffix("_total").unwrap_or(rest);
            FIGURES.iter().find(|name| **name == rest).map(|name| Figure { side: *side, name })
        })
    }
}

/// Whether a metric is one of a Java client's that are read.
pub(crate) fn is_known(metric: &str) -> bool {
    Figure::of(metric).is_some()
}

/// A client on a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Client {
    side: Side,
    id: String,
}

/// What a value is of, besides the client; empty of the client as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    node: String,
    topic: String,
    partition: String,
}

/// Values of one figure.
type Values = BTreeMap<Part, f64>;

/// Figures of one client.
#[derive(Debug, Default)]
struct Figures(BTreeMap<&'static str, Values>);

impl Figures {
    fn values(&self, name: &str) -> impl Iterator<Item = (&Part, f64)> {
        self.0.get(name).into_iter().flatten().map(|(part, value)| (part, *value))
    }

    /// Of the client as a whole; else the sum over its topics, where only these are told.
    fn whole(&self, name: &str) -> Option<f64> {
        let whole = self.values(name).find(|(part, _)| **part == Part::default()).map(|(_, value)| value);
        whole.or_else(|| self.of_topics(name))
    }

    fn of_topics(&self, name: &str) -> Option<f64> {
        let of_topics =
            self.values(name).filter(|(part, _)| !part.topic.is_empty() && part.partition.is_empty());
        of_topics.map(|(_, value)| value).reduce(|a, b| a + b)
    }

    /// A gauge in milliseconds as nanoseconds.
    fn ms(&self, name: &str) -> Option<f64> {
        self.whole(name).filter(|ms| *ms >= 0.0).map(|ms| ms * NS_PER_MS)
    }

    /// Each partition that is assigned, with its lag in messages.
    fn lags(&self) -> impl Iterator<Item = (&Part, f64)> {
        self.values("records_lag").filter(|(part, _)| !part.partition.is_empty())
    }

    /// Brokers that the client has a connection to; those of `bootstrap.servers` have numbers below 0, the coordinator's connection one
    /// of the largest.
    fn nodes(&self) -> usize {
        let nodes = self
            .values("request")
            .filter_map(|(part, _)| part.node.strip_prefix("node-")?.parse::<i64>().ok());
        nodes.filter(|node| (0..1 << 30).contains(node)).collect::<std::collections::BTreeSet<_>>().len()
    }
}

fn clients(scrape: &Scrape) -> BTreeMap<Client, Figures> {
    let mut clients: BTreeMap<Client, Figures> = BTreeMap::new();
    for sample in &scrape.page.samples {
        let Some(figure) = Figure::of(&sample.name).filter(|_| sample.value.is_finite()) else { continue };
        let Some(id) = label(sample, "clientid") else { continue };
        let client = Client { side: figure.side, id: id.to_owned() };
        if clients.len() >= CLIENTS_MOST && !clients.contains_key(&client) {
            continue;
        }
        let of = |name: &str| label(sample, name).unwrap_or_default().to_owned();
        let part = Part { node: of("nodeid"), topic: of("topic"), partition: of("partition") };
        // A page that has a figure by two names has it once.
        clients
            .entry(client)
            .or_default()
            .0
            .entry(figure.name)
            .or_default()
            .entry(part)
            .or_insert(sample.value);
    }
    clients
}

/// A label's value; `client-id`, `client_id` and `clientId` are one name.
fn label<'a>(sample: &'a MetricSample, name: &str) -> Option<&'a str> {
    let same = |key: &str| {
        let letters = key.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
        letters.eq(name.bytes())
    };
    sample.labels.iter().find(|(key, _)| same(key)).map(|(_, value)| value.as_str())
}

/// The clients of a page between two readings; `source` says where it is.
pub fn java_clients(before: &Scrape, after: &Scrape, source: &str) -> ClientsSeen {
    let elapsed_s = after.since(before).as_secs_f64();
    let mut earlier = clients(before);
    let mut seen = ClientsSeen::default();
    for (client, now) in clients(after) {
        let then = earlier.remove(&client);
        let mut window = ClientWindow {
            source: source.to_owned(),
            name: client.id.chars().take(super::follow::NAME_MOST).collect(),
            kind: ClientKind::Java,
            is_producer: client.side == Side::Producer,
            means_from_gauge: true,
            window_ns: (elapsed_s * 1e9) as u64,
            ..ClientWindow::default()
        };
        match then {
            None => {
                seen.doubt(source, &window.name, "it was not there at the window's begin: it has no rates")
            }
            Some(then) if Pair { then: &then, now: &now, elapsed_s }.went_back() => {
                seen.doubt(
                    source,
                    &window.name,
                    "its counters went back within the window: it started anew, and has no rates",
                );
                gauges(&mut window, &now);
            }
            Some(then) => {
                gauges(&mut window, &now);
                let pair = Pair { then: &then, now: &now, elapsed_s };
                match client.side {
                    Side::Producer => producer(&mut window, &pair),
                    Side::Consumer => consumer(&mut window, &pair),
                }
            }
        }
        seen.clients.push(window);
    }
    for client in earlier.keys() {
        seen.doubt(source, &client.id, "it ended within the window");
    }
    if seen.clients.is_empty() {
        seen.unseen.push(Unseen {
            what: Unseen::client_statistics(source),
            reason: "the page has no metrics of a Java producer or consumer".to_owned(),
            hint: Some("name the page of the application's JMX exporter, Micrometer or Spring actuator, not that of the broker".to_owned()),
        });
    }
    seen
}

/// A client in both readings.
#[derive(Clone, Copy)]
struct Pair<'a> {
    then: &'a Figures,
    now: &'a Figures,
    elapsed_s: f64,
}

impl Pair<'_> {
    fn went_back(&self) -> bool {
        let counters =
            ["record_send", "records_consumed", "byte", "bytes_consumed", "request", "connection_creation"];
        let both = |name: &str| self.now.whole(name).zip(self.then.whole(name));
        counters.iter().any(|name| both(name).is_some_and(|(now, then)| now < then))
    }

    /// Growth of a counter of the client as a whole; one that a client has not made yet is absent.
    fn grown(&self, name: &str) -> Option<f64> {
        Some(self.now.whole(name)? - self.then.whole(name)?).filter(|grown| *grown >= 0.0)
    }

    fn per_s(&self, name: &str) -> Option<f64> {
        self.grown(name).filter(|_| self.elapsed_s > 0.0).map(|grown| grown / self.elapsed_s)
    }
}

fn gauges(window: &mut ClientWindow, now: &Figures) {
    if window.is_producer {
        window.queue_mean_ns = now.ms("record_queue_time_avg");
        window.rtt_mean_ns = now.ms("request_latency_avg");
        window.rtt_max_ns = now.ms("request_latency_max");
        // The mean over all answers, held back or not: how many were is not told.
        window.throttle_mean_ns = now.ms("produce_throttle_time_avg");
        window.batch_bytes_mean = now.whole("batch_size_avg").filter(|bytes| *bytes > 0.0);
        window.compression_ratio = now.whole("compression_rate_avg").filter(|ratio| *ratio > 0.0);
    } else {
        window.throttle_mean_ns = now.ms("fetch_throttle_time_avg");
        window.commit_mean_ns = now.ms("commit_latency_avg");
        window.poll_idle_share = now.whole("poll_idle_ratio_avg").filter(|share| (0.0..=1.0).contains(share));
        window.lag = now.lags().map(|(_, lag)| lag).reduce(|a, b| a + b);
    }
}

fn producer(window: &mut ClientWindow, pair: &Pair<'_>) {
    window.messages_per_s = pair.per_s("record_send");
    // Batches as they are sent, compressed; the client's `outgoing-byte` has its other requests as well.
    let bytes = pair.now.of_topics("byte").zip(pair.then.of_topics("byte"));
    window.bytes_per_s = bytes
        .map(|(now, then)| (now - then) / pair.elapsed_s)
        .filter(|per_s| *per_s >= 0.0 && per_s.is_finite());
    window.errors_per_s = pair.per_s("record_error");
    window.connects_per_s = pair.per_s("connection_creation");
    // Several threads can wait at once.
    let waited_ns = pair.grown("bufferpool_wait_time_ns").or_else(|| pair.grown("bufferpool_wait_time"));
    window.buffer_wait_share =
        waited_ns.map(|ns| (ns / 1e9 / pair.elapsed_s).min(1.0)).filter(|share| share.is_finite());
    let used = |figures: &Figures| {
        let total = figures.whole("buffer_total_bytes").filter(|total| *total > 0.0)?;
        Some((1.0 - figures.whole("buffer_available_bytes")? / total).clamp(0.0, 1.0))
    };
    window.queue_share_max = used(pair.then).into_iter().chain(used(pair.now)).reduce(f64::max);
    let in_flight =
        [pair.then, pair.now].into_iter().filter_map(|figures| figures.whole("requests_in_flight"));
    // Of all brokers together: of one where there is one alone.
    window.in_flight_max = in_flight.reduce(f64::max).filter(|_| pair.now.nodes() == 1);
    let per_message = window.bytes_per_s.zip(window.messages_per_s).map(|(bytes, messages)| bytes / messages);
    let per_message = per_message.filter(|bytes| bytes.is_finite() && *bytes > 0.0);
    window.batch_messages_mean =
        window.batch_bytes_mean.zip(per_message).map(|(batch, message)| (batch / message).max(1.0));
    // `record-size-avg` is the mean of each batch's largest record.
    if let (Some(batch), Some(messages)) = (window.batch_bytes_mean, window.batch_messages_mean) {
        let uncompressed = batch / window.compression_ratio.unwrap_or(1.0).min(1.0);
        window.record_bytes_mean =
            Some((uncompressed - BATCH_HEADER_BYTES) / messages).filter(|bytes| *bytes > 0.0);
    }
    // The client counts records that are sent again, and several lie in a request.
    let of_request = pair.now.whole("records_per_request_avg").filter(|records| *records > 0.0);
    let again = pair.per_s("record_retry");
    window.retries_per_s = match again {
        Some(0.0) => Some(0.0),
        _ => again.zip(of_request).map(|(records, of_request)| records / of_request),
    };
}

fn consumer(window: &mut ClientWindow, pair: &Pair<'_>) {
    window.messages_per_s = pair.per_s("records_consumed");
    window.bytes_per_s = pair.per_s("bytes_consumed");
    window.connects_per_s = pair.per_s("connection_creation");
    window.commits_per_s = pair.per_s("commit");
    window.rebalances = pair.grown("rebalance").map(|count| count as u64);
    let then: BTreeMap<&Part, f64> = pair.then.lags().collect();
    // Partitions that came or went are no growth.
    let grown = pair.now.lags().filter_map(|(part, lag)| Some(lag - then.get(part)?));
    window.lag_growth_per_s =
        grown.reduce(|a, b| a + b).map(|lag| lag / pair.elapsed_s).filter(|per_s| per_s.is_finite());
}

#[cfg(test)]
mod tests;
