//! A broker within a window, by its own metrics.

use crate::facts::RequestStages;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The software that the metrics are of: rules differ by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BrokerKind {
    /// Apache Kafka, and what is built on it.
    Kafka,
    /// Redpanda.
    Redpanda,
    /// Not told.
    #[default]
    Unknown,
}

/// The roles of a Kafka process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BrokerRole {
    /// Broker alone.
    Broker,
    /// Broker and controller in one: its idle ratio is of both pools.
    Combined,
    /// Not told.
    #[default]
    Unknown,
}

/// One broker's metrics over the window. Rates are growth over the time between two readings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BrokerWindow {
    /// The source of the metrics: the URL without its login, or `process 1234`.
    pub source: String,
    /// The process on this host, where it is known.
    pub pid: Option<u32>,
    /// Its id, where it is known.
    pub id: Option<i32>,
    /// The software.
    pub kind: BrokerKind,
    /// The sets of names by which the page was recognised: `JMX exporter without rules`, `Redpanda /public_metrics` ...; absent where
    /// none was.
    pub naming: Option<String>,
    /// Its roles.
    pub role: BrokerRole,
    /// Time between the two readings.
    pub elapsed_ns: u64,
    /// Series on the page.
    pub series: u64,
    /// Requests by kind: `Produce`, `FetchConsumer`, `FetchFollower`, `OffsetCommit`, `JoinGroup`, `Metadata` ...
    pub requests: BTreeMap<String, RequestKind>,
    /// Network threads, one row each.
    pub network_processors: Vec<NetworkProcessor>,
    /// Request handlers.
    pub handlers: HandlerPool,
    /// Requests waiting for a handler at the end of the window.
    pub request_queue_size: Option<f64>,
    /// Responses waiting for a network thread at the end of the window.
    pub response_queue_size: Option<f64>,
    /// Bytes a second from producers.
    pub bytes_in_per_s: Option<f64>,
    /// Bytes a second to consumers.
    pub bytes_out_per_s: Option<f64>,
    /// Messages a second from producers.
    pub messages_in_per_s: Option<f64>,
    /// Bytes a second from leaders to this broker as a follower.
    pub replication_bytes_in_per_s: Option<f64>,
    /// Bytes a second to followers.
    pub replication_bytes_out_per_s: Option<f64>,
    /// Topics with traffic, most bytes first, at most 50.
    pub topics: Vec<TopicTraffic>,
    /// Produce and fetch requests that failed, a second.
    pub failed_requests_per_s: Option<f64>,
    /// Errors a second by code, `NONE` left out.
    pub errors_per_s: BTreeMap<String, f64>,
    /// Messages a second that had to be converted to another format, producers and consumers together.
    pub conversions_per_s: Option<f64>,
    /// Partitions led.
    pub leaders: Option<f64>,
    /// Partitions in all.
    pub partitions: Option<f64>,
    /// Partitions with fewer replicas in sync than replicas.
    pub under_replicated: Option<f64>,
    /// Partitions with fewer in sync than `min.insync.replicas`.
    pub under_min_isr: Option<f64>,
    /// Partitions with just `min.insync.replicas` in sync.
    pub at_min_isr: Option<f64>,
    /// Replicas that fell out of sync, a second.
    pub isr_shrinks_per_s: Option<f64>,
    /// Replicas that came back, a second.
    pub isr_expands_per_s: Option<f64>,
    /// Largest lag in messages of this broker's own fetchers.
    pub follower_max_lag: Option<f64>,
    /// Lag of this broker's fetchers by leader, in messages.
    pub follower_lags: Vec<FollowerLag>,
    /// Produce requests that wait for followers, at the end of the window.
    pub produce_purgatory: Option<f64>,
    /// Produce requests whose wait for followers ran out, a second.
    pub produce_expirations_per_s: Option<f64>,
    /// Partitions that are being moved.
    pub reassigning_partitions: Option<f64>,
    /// Log flushes a second.
    pub log_flushes_per_s: Option<f64>,
    /// Mean time of a log flush in the window.
    pub log_flush_mean_ns: Option<f64>,
    /// New connections a second.
    pub connections_per_s: Option<f64>,
    /// Open connections at the end.
    pub connections: Option<f64>,
    /// Share of the time in which an acceptor was held back, 0 to 1.
    pub acceptor_blocked_share: Option<f64>,
    /// TLS handshakes that succeeded, a second.
    pub authentications_per_s: Option<f64>,
    /// Authentications that failed, a second.
    pub failed_authentications_per_s: Option<f64>,
    /// Share of the time in which the memory pool of requests was empty.
    pub memory_pool_depleted_share: Option<f64>,
    /// Mean time for which a quota held back the clients that it held back, of all quotas alike, by their own gauges of some ten seconds;
    /// 0 where no request was held back.
    pub throttle_mean_ns: Option<f64>,
    /// Bytes a second moved by the log cleaner. Kafka's metrics do not have them: a profile or the kernel does.
    pub cleaner_bytes_per_s: Option<f64>,
    /// Transactions that are open for longer than they should be.
    pub late_transactions: Option<f64>,
    /// Rebalances of consumer groups, a second.
    pub group_rebalances_per_s: Option<f64>,
    /// Times of collections by the metrics of the JVM, as a share of the window.
    pub gc_time_share: Option<f64>,
    /// Processor time of the process in the window, by its metrics (Redpanda: busy time of its reactors).
    pub cpu_ns: Option<u64>,
    /// Counters that went back within the window: the broker started anew, and rates are absent.
    pub restarted: bool,
    /// Known names that the page does not have, in a few words each.
    pub missing: Vec<String>,
}

/// Requests of one kind in the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestKind {
    /// Requests a second.
    pub per_s: Option<f64>,
    /// Mean time in each stage.
    pub stages: RequestStages,
    /// Mean bytes of a request, where it is told.
    pub bytes_mean: Option<f64>,
    /// Requests a second by version of the protocol.
    pub versions: BTreeMap<String, f64>,
}

/// One network thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkProcessor {
    /// Its number, with the listener where it is told.
    pub name: String,
    /// Share of the window in which it had nothing to do, 0 to 1.
    pub idle_share: Option<f64>,
    /// True where the share is a gauge of the broker's (30 s or more) and not exact.
    pub from_gauge: bool,
    /// Connections that it serves.
    pub connections: Option<f64>,
}

/// The request handlers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HandlerPool {
    /// Share of the window in which they had nothing to do, 0 to 1; absent where the broker's reading is known to be wrong.
    pub idle_share: Option<f64>,
    /// True where the share is the broker's own rate of the last minute and not exact.
    pub from_gauge: bool,
    /// Handlers, where it is told.
    pub threads: Option<u32>,
}

/// Traffic of one topic on this broker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TopicTraffic {
    /// The topic.
    pub topic: String,
    /// Bytes a second in.
    pub bytes_in_per_s: Option<f64>,
    /// Bytes a second out.
    pub bytes_out_per_s: Option<f64>,
    /// Messages a second in.
    pub messages_in_per_s: Option<f64>,
}

/// The lag of a follower behind one leader.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FollowerLag {
    /// The fetcher's name, with the leader's id.
    pub fetcher: String,
    /// Messages behind, the largest of its partitions.
    pub messages: f64,
}
