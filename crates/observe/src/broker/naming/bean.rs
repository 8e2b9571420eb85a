//! The beans of a Kafka broker that are looked at (checked against Kafka 4.3): every set of rules names the same ones.

/// What a bean counts, and so which of its attributes are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A count since the start.
    Counter,
    /// A value of the moment.
    Gauge,
    /// Count and mean since the start: the exact mean of a window can be had of both.
    Histogram,
}

/// An attribute of a bean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute {
    Count,
    Mean,
    Value,
}

impl Attribute {
    pub(super) fn name(self) -> &'static str {
        match self {
            Attribute::Count => "count",
            Attribute::Mean => "mean",
            Attribute::Value => "value",
        }
    }
}

/// A bean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bean {
    /// Domain and type, as the exporter joins them.
    pub(super) group: &'static str,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

impl Bean {
    pub(super) fn attributes(&self) -> &'static [Attribute] {
        match self.kind {
            Kind::Counter => &[Attribute::Count],
            Kind::Gauge => &[Attribute::Value],
            Kind::Histogram => &[Attribute::Count, Attribute::Mean],
        }
    }
}

const TOPIC_METRICS: &str = "kafka_server_brokertopicmetrics";
const REPLICAS: &str = "kafka_server_replicamanager";
const REQUESTS: &str = "kafka_network_requestmetrics";
const HANDLERS: &str = "kafka_server_kafkarequesthandlerpool";
const CHANNEL: &str = "kafka_network_requestchannel";

const fn counter(group: &'static str, name: &'static str) -> Bean {
    Bean { group, name, kind: Kind::Counter }
}

const fn gauge(group: &'static str, name: &'static str) -> Bean {
    Bean { group, name, kind: Kind::Gauge }
}

const fn histogram(group: &'static str, name: &'static str) -> Bean {
    Bean { group, name, kind: Kind::Histogram }
}

/// All of them.
pub(super) const BEANS: [Bean; 41] = [
    counter(TOPIC_METRICS, "BytesInPerSec"),
    counter(TOPIC_METRICS, "BytesOutPerSec"),
    counter(TOPIC_METRICS, "MessagesInPerSec"),
    counter(TOPIC_METRICS, "ReplicationBytesInPerSec"),
    counter(TOPIC_METRICS, "ReplicationBytesOutPerSec"),
    counter(TOPIC_METRICS, "FailedProduceRequestsPerSec"),
    counter(TOPIC_METRICS, "FailedFetchRequestsPerSec"),
    counter(TOPIC_METRICS, "ProduceMessageConversionsPerSec"),
    counter(TOPIC_METRICS, "FetchMessageConversionsPerSec"),
    gauge(REPLICAS, "LeaderCount"),
    gauge(REPLICAS, "PartitionCount"),
    gauge(REPLICAS, "UnderReplicatedPartitions"),
    gauge(REPLICAS, "UnderMinIsrPartitionCount"),
    gauge(REPLICAS, "AtMinIsrPartitionCount"),
    gauge(REPLICAS, "ReassigningPartitions"),
    gauge(REPLICAS, "PartitionsWithLateTransactionsCount"),
    counter(REPLICAS, "IsrShrinksPerSec"),
    counter(REPLICAS, "IsrExpandsPerSec"),
    gauge("kafka_server_replicafetchermanager", "MaxLag"),
    gauge("kafka_server_fetcherlagmetrics", "ConsumerLag"),
    gauge("kafka_server_delayedoperationpurgatory", "PurgatorySize"),
    counter("kafka_server_delayedproducemetrics", "ExpiresPerSec"),
    counter(HANDLERS, "RequestHandlerAvgIdlePercent"),
    counter(HANDLERS, "BrokerRequestHandlerAvgIdlePercent"),
    counter(HANDLERS, "ControllerRequestHandlerAvgIdlePercent"),
    gauge(CHANNEL, "RequestQueueSize"),
    gauge(CHANNEL, "ResponseQueueSize"),
    counter(REQUESTS, "RequestsPerSec"),
    counter(REQUESTS, "ErrorsPerSec"),
    histogram(REQUESTS, "RequestQueueTimeMs"),
    histogram(REQUESTS, "LocalTimeMs"),
    histogram(REQUESTS, "RemoteTimeMs"),
    histogram(REQUESTS, "ResponseQueueTimeMs"),
    histogram(REQUESTS, "ResponseSendTimeMs"),
    histogram(REQUESTS, "ThrottleTimeMs"),
    histogram(REQUESTS, "TotalTimeMs"),
    histogram(REQUESTS, "RequestBytes"),
    gauge("kafka_network_processor", "IdlePercent"),
    gauge("kafka_network_socketserver", "NetworkProcessorAvgIdlePercent"),
    counter("kafka_network_acceptor", "AcceptorBlockedPercent"),
    histogram("kafka_log_logflushstats", "LogFlushRateAndTimeMs"),
];
