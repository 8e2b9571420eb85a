//! The speed of TCP to this host itself or to a peer: the document of `plumb probe network`.

use super::{Conditions, Figure};
use crate::observation::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkProbe {
    /// The time, version and host.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The plan.
    pub plan: NetworkPlan,
    /// Address of the listening side.
    pub peer: String,
    /// Both ends are this process: they share its processors, and no device is on the way.
    pub loopback: bool,
    /// One message there and back at a time, by size, without Nagle's algorithm.
    pub round_trips: Vec<RoundTrips>,
    /// The same small message in one or two writes, with and without Nagle's algorithm.
    pub writes: Vec<WritePattern>,
    /// As much as goes through, by number of streams, from here to there.
    pub throughput: Vec<StreamRate>,
    /// New connections one after the other; absent when stopped before.
    pub connections: Option<ConnectionRate>,
}

/// The plan of a network probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkPlan {
    /// Measured time of each size, each way to write and each number of streams, all rounds together.
    pub duration_ns: u64,
    /// Rounds: in each, everything has its part of that time, in random order and on connections of its own.
    pub rounds: u32,
    /// The seed of the random order.
    pub seed: u64,
}

/// Round trips of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrips {
    /// Bytes of the message, the same both ways.
    pub message_bytes: u32,
    /// From before the write to after the last byte of the answer.
    pub round_trip: Distribution,
}

/// The way in which a request was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WritePattern {
    /// Writes of one request: 1, or 2 (a head, then the rest, as many clients did and some do).
    pub writes: u32,
    /// True when Nagle's algorithm is off (`TCP_NODELAY`).
    pub nodelay: bool,
    /// From before the first write to after the answer.
    pub round_trip: Distribution,
}

/// A number of streams at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamRate {
    /// Connections.
    pub streams: u32,
    /// Bytes of each write.
    pub write_bytes: u32,
    /// Bytes per second of all streams that the other side's kernel acknowledged, in slices of a tenth of a second or less after a
    /// warm-up, of all rounds. Absent before Linux 4.1.
    pub bytes_per_s: Option<Figure>,
    /// Bytes written in all, warm-up included.
    pub sent_bytes: u64,
    /// Bytes that the other side says it read. Less than what was sent is a finding.
    pub received_bytes: u64,
    /// The kernel's figures of the connections at the end.
    pub tcp: TcpState,
}

/// The kernel's figures of connections (`TCP_INFO`), of all rounds. Absent where it is too old to tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpState {
    /// Segments sent again, of all streams.
    pub retransmitted_segments: Option<u64>,
    /// Bytes sent again, of all streams.
    pub retransmitted_bytes: Option<u64>,
    /// Smoothed round trip, mean over the streams: with the queue that the load itself makes.
    pub rtt_ns: Option<u64>,
    /// Smallest round trip of any stream.
    pub min_rtt_ns: Option<u64>,
    /// Congestion window in segments, all streams together; mean over the rounds.
    pub congestion_window_segments: Option<u64>,
    /// Largest segment.
    pub segment_bytes: Option<u32>,
    /// Share of the busy time in which the receiver's window was the limit, 0 to 1.
    pub receiver_limited_share: Option<f64>,
    /// Share in which the send buffer was the limit, 0 to 1.
    pub send_buffer_limited_share: Option<f64>,
    /// Algorithm of the congestion control.
    pub congestion_control: Option<String>,
}

/// New connections, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionRate {
    /// Connections per second, each with its first request answered.
    pub rate_per_s: f64,
    /// Until the connection is there.
    pub connect: Distribution,
    /// Until its first request (20 bytes) is answered.
    pub first_answer: Distribution,
}
