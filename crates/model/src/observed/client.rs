//! A client within a window, by its own statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The library.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientKind {
    /// librdkafka and what is built on it.
    Librdkafka,
    /// The Java client.
    Java,
    /// Plumb's own probe load.
    Probe,
    /// Not told.
    #[default]
    Unknown,
}

/// One client, or all that one source tells of. Means are of the window; percentiles are never taken over from a library.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClientWindow {
    /// The source of the statistics: a file, a URL without its login, `probe load`.
    pub source: String,
    /// The client's own name.
    pub name: String,
    /// The library.
    pub kind: ClientKind,
    /// True for a producer, false for a consumer.
    pub is_producer: bool,
    /// Time that the figures are of; 0 where a single reading gave values of the moment alone.
    pub window_ns: u64,
    /// True where means are gauges of the client's own last 30 to 60 s (the Java client's `-avg`), whatever the window; rates are exact.
    pub means_from_gauge: bool,
    /// Messages a second sent or received.
    pub messages_per_s: Option<f64>,
    /// Bytes a second sent (compressed, as batches) or received.
    pub bytes_per_s: Option<f64>,
    /// Mean time from send() to the request, linger included (`int_latency`, `record-queue-time-avg`).
    pub queue_mean_ns: Option<f64>,
    /// Mean time from the request's queueing to its last byte written (`outbuf_latency`).
    pub outbuf_mean_ns: Option<f64>,
    /// Mean round trip of a producer's requests (`rtt`, `request-latency-avg`); a consumer's are its waits for records, and absent.
    pub rtt_mean_ns: Option<f64>,
    /// Shortest round trip of the window.
    pub rtt_min_ns: Option<f64>,
    /// Longest round trip of the window.
    pub rtt_max_ns: Option<f64>,
    /// Share of round trips between 35 and 50 ms, where single times are known.
    pub rtt_near_40_ms_share: Option<f64>,
    /// Mean time from send() to the acknowledgement, where it is measured itself.
    pub acknowledge_mean_ns: Option<f64>,
    /// Mean time from send() to reception, where it is measured.
    pub end_to_end_mean_ns: Option<f64>,
    /// Times below zero between send and reception: clocks that disagree.
    pub negative_latencies: Option<u64>,
    /// Mean messages of a batch.
    pub batch_messages_mean: Option<f64>,
    /// Mean bytes of a batch, compressed.
    pub batch_bytes_mean: Option<f64>,
    /// Bytes sent over bytes before compression.
    pub compression_ratio: Option<f64>,
    /// Mean bytes of a record.
    pub record_bytes_mean: Option<f64>,
    /// Requests in flight at most to one broker.
    pub in_flight_max: Option<f64>,
    /// Share of the queue in use at most: messages or bytes, whichever is nearer its limit.
    pub queue_share_max: Option<f64>,
    /// Share of the time for which send() waited for memory (`bufferpool-wait-ratio`), or the number of times that the queue was full over sends.
    pub buffer_wait_share: Option<f64>,
    /// Delivery reports that wait for the application, at the end.
    pub reply_queue: Option<f64>,
    /// True where these grew in every reading.
    pub reply_queue_grows: Option<bool>,
    /// Messages that are done and whose delivery report the application has not taken, on average over the readings: at least so many. Absent where the
    /// client does not count what is in flight, or where so many were not sent afterwards.
    pub reports_waiting: Option<f64>,
    /// Mean throttle time of the responses that carried one; of all responses where `throttled` is absent.
    pub throttle_mean_ns: Option<f64>,
    /// Responses that carried a throttle time.
    pub throttled: Option<u64>,
    /// Requests sent again, a second.
    pub retries_per_s: Option<f64>,
    /// Requests that timed out, a second.
    pub timeouts_per_s: Option<f64>,
    /// Errors a second.
    pub errors_per_s: Option<f64>,
    /// Connections made, a second.
    pub connects_per_s: Option<f64>,
    /// Rebalances within the window.
    pub rebalances: Option<u64>,
    /// Growth of the lag in messages a second.
    pub lag_growth_per_s: Option<f64>,
    /// Lag in messages at the end.
    pub lag: Option<f64>,
    /// Messages that the consumer has fetched and the application has not taken, at the end.
    pub fetch_queue: Option<f64>,
    /// Messages a second that the application took: received, less the growth of what waits for it.
    pub taken_per_s: Option<f64>,
    /// Share of the time in which the application waits in poll(), 0 to 1.
    pub poll_idle_share: Option<f64>,
    /// Commits a second.
    pub commits_per_s: Option<f64>,
    /// Mean time of a commit.
    pub commit_mean_ns: Option<f64>,
    /// Messages behind the high watermark for which the last stable offset stands (open transactions).
    pub stable_offset_lag: Option<f64>,
    /// Largest share of the messages that one partition took, times the number of partitions.
    pub partition_skew: Option<f64>,
    /// Values outside the library's histograms: its percentiles are cut off then.
    pub out_of_range: Option<u64>,
    /// The client's settings, where they are known; secrets are `[redacted]`.
    pub settings: crate::plan::Properties,
}

impl ClientWindow {
    /// Messages a second of its application: those that a consumer's application took, where that is known, and not those that its library fetched; those
    /// that a producer sent.
    pub fn passed_on_per_s(&self) -> Option<f64> {
        self.taken_per_s.or(self.messages_per_s)
    }
}
