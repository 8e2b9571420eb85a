//! The stages in which a broker's requests spent their time between two scrapes of its metrics, the idle share of its threads,
//! and the sum of several such windows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The stages in which one broker's requests spent their time between two scrapes of its metrics.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestTimes {
    /// Time between the two scrapes.
    pub elapsed_ns: u64,
    /// Produce requests.
    pub produce: RequestStages,
    /// Fetch requests of consumers. `remote` and `total` are mostly waiting for data to arrive, which is not slowness.
    pub fetch_consumer: RequestStages,
    /// Fetch requests of followers. `remote` and `total` are mostly waiting for data to arrive, which is not slowness.
    pub fetch_follower: RequestStages,
    /// The network thread that had least time to spare: these threads read requests, write responses and, under TLS, decrypt
    /// and encrypt both.
    pub network_threads: Option<Idle>,
    /// The request handlers that had least time to spare, those of one broker taken together.
    pub request_handlers: Option<Idle>,
}

/// The share of a time in which threads had nothing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idle {
    /// Their share of the time between the two scrapes, 0 to 1.
    pub share: f64,
    /// The threads.
    pub of: String,
    /// The source of the figure.
    pub source: String,
}

impl RequestTimes {
    /// The times of several windows or brokers as one, with the least idle threads of all; absent without any.
    pub fn merged(all: &[&RequestTimes]) -> Option<RequestTimes> {
        let least = |of: fn(&RequestTimes) -> Option<&Idle>| {
            all.iter().filter_map(|times| of(times)).min_by(|a, b| a.share.total_cmp(&b.share)).cloned()
        };
        let kind = |kind: fn(&RequestTimes) -> &RequestStages| {
            let merge = |stage: fn(&RequestStages) -> Option<WindowMean>| {
                WindowMean::merged(all.iter().filter_map(|times| stage(kind(times))))
            };
            RequestStages {
                request_queue: merge(|stages| stages.request_queue),
                local: merge(|stages| stages.local),
                remote: merge(|stages| stages.remote),
                response_queue: merge(|stages| stages.response_queue),
                response_send: merge(|stages| stages.response_send),
                throttle: merge(|stages| stages.throttle),
                total: merge(|stages| stages.total),
            }
        };
        Some(RequestTimes {
            elapsed_ns: all.iter().map(|times| times.elapsed_ns).max()?,
            produce: kind(|times| &times.produce),
            fetch_consumer: kind(|times| &times.fetch_consumer),
            fetch_follower: kind(|times| &times.fetch_follower),
            network_threads: least(|times| times.network_threads.as_ref()),
            request_handlers: least(|times| times.request_handlers.as_ref()),
        })
    }
}

/// Mean time of one kind of request in each stage of the broker; absent when there was no request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestStages {
    /// Waiting for a request handler.
    pub request_queue: Option<WindowMean>,
    /// Work on the leader: append to the log, or read from it.
    pub local: Option<WindowMean>,
    /// Waiting for followers (produce) or for data (fetch).
    pub remote: Option<WindowMean>,
    /// Waiting for a network thread.
    pub response_queue: Option<WindowMean>,
    /// Writing the response to the socket.
    pub response_send: Option<WindowMean>,
    /// Held back by a quota.
    pub throttle: Option<WindowMean>,
    /// From the request being read in full to the response being sent.
    pub total: Option<WindowMean>,
}

/// Mean of values of which every one was rounded to whole milliseconds before it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowMean {
    /// Mean of the rounded values.
    pub mean_ns: f64,
    /// Least mean that the values can have had before rounding.
    pub low_ns: f64,
    /// Greatest mean that the values can have had before rounding.
    pub high_ns: f64,
    /// Requests in the window.
    pub samples: u64,
}

impl WindowMean {
    /// Means over several windows or brokers as one, weighted by their samples; absent without any.
    pub(crate) fn merged(means: impl Iterator<Item = WindowMean>) -> Option<WindowMean> {
        let mut sum = WindowMean { mean_ns: 0.0, low_ns: 0.0, high_ns: 0.0, samples: 0 };
        for mean in means {
            let weight = mean.samples as f64;
            sum.mean_ns += mean.mean_ns * weight;
            sum.low_ns += mean.low_ns * weight;
            sum.high_ns += mean.high_ns * weight;
            sum.samples += mean.samples;
        }
        let samples = sum.samples as f64;
        (sum.samples > 0).then(|| WindowMean {
            mean_ns: sum.mean_ns / samples,
            low_ns: sum.low_ns / samples,
            high_ns: sum.high_ns / samples,
            samples: sum.samples,
        })
    }
}
