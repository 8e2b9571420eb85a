//! The measurements: distributions, counts, stages, per-second rows; each with its unit in its name.
//!
//! A figure that is not known is `None` and prints as `null`; it is never 0. Times are nanoseconds on one monotonic
//! clock unless a field says otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An estimate with the interval that its samples allow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end, in the unit of the figure that it belongs to.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level, 0..1.
    pub level: f64,
    /// Its method.
    pub method: IntervalMethod,
}

/// The method of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Student's t over the means of blocks, each block run with clients of its own.
    Blocks,
    /// Student's t over the means of consecutive batches of one block: variation inside the run only.
    Batches,
    /// Order statistics (binomial) on the effective sample size: the samples' autocorrelation is allowed for. A step's interval also holds what
    /// the same quantile of its blocks spans.
    OrderStatistics,
}

/// A distribution of times. Quantiles with fewer than 10/(1-q) samples are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Samples recorded in the histogram.
    pub samples: u64,
    /// Smallest sample, exact.
    pub min_ns: Option<u64>,
    /// Arithmetic mean, from the exact sum.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 75th percentile.
    pub p75_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Largest sample, exact.
    pub max_ns: Option<u64>,
    /// Interval of the mean.
    pub mean_interval: Option<Interval>,
    /// Interval of the median.
    pub p50_interval: Option<Interval>,
    /// Interval of the 99th percentile.
    pub p99_interval: Option<Interval>,
    /// Samples below zero: counted, and not in the histogram.
    pub negative: u64,
    /// Samples above the histogram's range: counted, and not in the histogram.
    pub overflow: u64,
    /// The most by which each sample may be off, and with it the mean and every quantile, because it lies between two clocks whose
    /// difference is known to a band; absent where all are of one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// Points of the percentile curve, as (quantile 0..1, nanoseconds), ascending; only quantiles with enough samples.
    pub curve: Vec<(f64, u64)>,
}

impl Distribution {
    /// The most by which its figures may be off by the clocks of workers, in nanoseconds; 0 where there is one clock, or a difference that is
    /// known exactly.
    pub fn clock_error(&self) -> f64 {
        self.clock_error_ns.unwrap_or(0) as f64
    }
}

/// The four latencies of a step. Latency counts from the intended send time, service time from the actual one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latencies {
    /// Intended send time to return from the consumer's poll.
    pub end_to_end: Distribution,
    /// Intended send time to delivery report. With acks=0 nothing confirms: it is then the hand-over to the socket.
    pub acknowledge: Distribution,
    /// Actual send time to return from the consumer's poll.
    pub end_to_end_service: Distribution,
    /// Actual send time to delivery report.
    pub acknowledge_service: Distribution,
}

impl Latencies {
    /// Each with its name in a document.
    pub fn named(&self) -> [(&'static str, &Distribution); 4] {
        [
            ("end_to_end", &self.end_to_end),
            ("acknowledge", &self.acknowledge),
            ("end_to_end_service", &self.end_to_end_service),
            ("acknowledge_service", &self.acknowledge_service),
        ]
    }
}

/// The messages and bytes of a step's measured part. Bytes are those of values; keys, headers and framing come on top.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Messages acknowledged per second; absent where nothing was produced in the measured part.
    pub produced_per_s: Option<f64>,
    /// The same in bytes.
    pub produced_bytes_per_s: Option<f64>,
    /// The same in bytes of batches as they were sent, compressed where the client compresses; absent where the client does not
    /// tell of its batches.
    #[serde(default)]
    pub produced_wire_bytes_per_s: Option<f64>,
    /// Interval of `produced_per_s`.
    pub produced_interval: Option<Interval>,
    /// Messages received per second; absent where nobody consumed.
    pub received_per_s: Option<f64>,
    /// The same in bytes.
    pub received_bytes_per_s: Option<f64>,
    /// Interval of `received_per_s`.
    pub received_interval: Option<Interval>,
    /// Time to receive the backlog that had been built, mean over the blocks; absent in every other mode.
    pub drain_s: Option<f64>,
}

/// The measured messages by their fate. `sent = acked + failed + unknown` always holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Messages that the schedule asked for.
    pub intended: u64,
    /// Messages that the client accepted.
    pub sent: u64,
    /// Delivery reported without error (with acks=0: handed to the socket, unconfirmed).
    pub acked: u64,
    /// Delivery reported as failed and surely not stored.
    pub failed: u64,
    /// No report, or one that leaves open whether the message was stored.
    pub unknown: u64,
    /// Of those of unknown outcome, so many at least that a client which is a program of its own was ordered to send and told nothing of, and
    /// that are in no log: it never sent them. Absent where none is known of, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_sent: Option<u64>,
    /// Distinct messages received by the consumers.
    pub received: u64,
    /// Acknowledged and never received, beyond those that only wait to be replicated and those that were `removed`.
    pub lost: u64,
    /// Acknowledged and removed from the logs before a consumer was given them: by retention, on request, or by compaction. Where a topic is
    /// read as it is, all that was deleted before it was read; of a backlog, those that built it too. Absent where nobody consumed, and where the logs could not be asked
    /// where they begin.
    #[serde(default)]
    pub removed: Option<u64>,
    /// Receptions beyond the first of a message.
    pub duplicated: u64,
    /// Messages received after a later one of the same producer and partition.
    pub reordered: u64,
}

/// Messages that did not come to what they were sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoilt {
    /// What became of them, after their number in a sentence: `failed`.
    pub what: &'static str,
    /// More than none.
    pub number: u64,
}

impl Counts {
    /// Every way in which messages were spoilt, with how many.
    pub fn spoilt(&self) -> impl Iterator<Item = Spoilt> {
        let all = [
            ("failed", self.failed),
            ("of unknown outcome", self.unknown),
            ("lost", self.lost),
            ("removed from the logs before they were read", self.removed.unwrap_or(0)),
        ];
        all.into_iter().filter(|(_, number)| *number > 0).map(|(what, number)| Spoilt { what, number })
    }
}

/// The broker's own word on how much was stored, over the whole step with its warm-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accounting {
    /// Growth of the leaders' log ends, summed over partitions; of the high watermarks where the leaders' own ends could not be
    /// asked. Absent when the broker could not be asked.
    pub offset_delta: Option<u64>,
    /// Acknowledged in the same span, warm-up and start probes included.
    pub acked: u64,
    /// Outcome unknown in the same span.
    pub unknown: u64,
    /// Records seen by our consumers that no producer of this run sent.
    pub foreign: u64,
    /// Records of this run whose stamp or length was damaged.
    pub corrupt: u64,
    /// Offsets within the logs' growth that consumers passed over and no acknowledgement names: at them there is no record for consumers, but a
    /// marker of a transaction, an aborted record, or what was deleted or compacted away; so looks a message of unknown outcome that reached the
    /// log when consumers had ended. Absent where nobody consumed, and where the logs could not be asked where they begin.
    #[serde(default)]
    pub gaps: Option<u64>,
    /// Offsets by which the logs' beginnings moved within the blocks, summed over partitions: what retention or a request deleted while they ran.
    /// Absent when the logs could not be asked where they begin.
    #[serde(default)]
    pub deleted: Option<u64>,
    /// True if acked <= offset_delta <= acked + unknown + gaps, with nothing `missing` in any partition; without the upper bound
    /// where others wrote to the topic meanwhile. Absent when it cannot be told.
    pub agrees: Option<bool>,
    /// Acknowledged records that their partitions' logs do not hold: acknowledged at an offset that another record has, or
    /// outside of what the log grew by (it was cut back); where acknowledgements name no offset (acks=0), by how much the
    /// partition grew less than it should have. Summed over partitions, so that a surplus elsewhere hides nothing. Absent
    /// when it cannot be told.
    #[serde(default)]
    pub missing: Option<u64>,
    /// Records in the logs' growth that were acknowledged to none of our producers: records of others, records of unknown
    /// outcome, records stored twice, markers of transactions. Absent when it cannot be told.
    #[serde(default)]
    pub surplus: Option<u64>,
    /// Records between the high watermark and the log's end when the last block ended: appended at the leaders, not yet copied
    /// by all in-sync followers, and so not readable. Absent when the leaders' own ends could not be asked.
    #[serde(default)]
    pub unreplicated: Option<u64>,
    /// Records between the last stable offset and the high watermark when the last block ended: a transaction that was open held them
    /// back from consumers that read committed records alone. Absent when the leaders could not be asked.
    #[serde(default)]
    pub held_back: Option<u64>,
    /// Messages of the warm-up that were received more than once, each repeat counted: `counts.duplicated` is of the measured ones, and what the logs
    /// hold twice is of both.
    #[serde(default)]
    pub duplicated_in_warm_up: u64,
    /// The number of records by which `unreplicated` grew within the blocks, summed over them; below 0 where followers caught up.
    #[serde(default)]
    pub unreplicated_growth: Option<i64>,
}

/// What a program that was a client in a block said of itself, and its pauses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramAccount {
    /// `producer` or `consumer`.
    pub role: String,
    /// Its own words: `client`, `version`, `runtime` and what else it told.
    pub about: BTreeMap<String, String>,
    /// Its notes, the first of them; and how it ended, where that was no good end.
    pub notes: Vec<String>,
    /// Lines that it printed, which are no part of the protocol.
    pub printed_lines: u64,
    /// The last of them.
    pub printed: Vec<String>,
    /// CPU time of its process, from its start until it was told to end.
    pub cpu_ns: Option<u64>,
    /// The part of it since the measured part began, in ticks of 10 ms; absent where that never did.
    pub measured_cpu_ns: Option<u64>,
    /// Its pauses; absent where it did not tell the time again and again.
    pub pauses: Option<ProgramPauses>,
}

/// CPU time of these programs in the measured part; none if it is not known of one.
pub fn measured_cpu_ns(programs: &[ProgramAccount]) -> Option<u64> {
    programs.iter().map(|program| program.measured_cpu_ns).sum()
}

/// The pauses of a program: gaps of a thread that tells the time every 10 ms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramPauses {
    /// The number of times that it told the time.
    pub beats: u64,
    /// The longest time between two of them.
    pub longest_gap_ns: u64,
    /// Gaps of 50 ms and more.
    pub pauses: u64,
    /// Their sum, without the 10 ms that each has by plan.
    pub paused_ns: u64,
    /// The longest of them, by the order of time.
    pub listed: Vec<ProgramPause>,
    /// Safepoints that its JVM logged.
    pub safepoints: u64,
    /// Their sum.
    pub safepoints_ns: u64,
}

/// A pause of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramPause {
    /// Its begin: CLOCK_MONOTONIC of the host.
    pub begin_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// The operation of its JVM that stopped it, as the JVM logged it; absent where none was logged.
    pub cause: Option<String>,
}

/// The lag of in-sync followers behind their leaders, asked again and again at random moments from the begin of a block's
/// measured part until all of it was received, or the drain was over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplicationLag {
    /// Moments at which all leaders answered.
    pub samples: u64,
    /// Moments at which one did not.
    pub missed: u64,
    /// Records appended at the leaders and not yet copied by all in-sync followers: mean over the samples, at least
    pub records_least: f64,
    /// and at most: followers go on copying while the leaders are asked.
    pub records_most: f64,
    /// Standard error of that mean, from the spread of the samples.
    pub records_standard_error: f64,
    /// The highest of the samples.
    pub records_highest: u64,
    /// The longest time for which one record was seen to wait, at least: it was there at one sample and still not copied at a later one.
    pub longest_wait_ns: u64,
    /// Records appended a second, by anyone, from the first sample to the last.
    pub appended_per_s: f64,
}

/// The distribution of the records of a step over partitions and brokers, warm-up and start probes included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Growth of each partition's log by its number, summed over the blocks; absent where a block could not be asked.
    pub partition_records: Option<Vec<u64>>,
    /// The same by the id of the broker that led the partition when the block began; absent where that is not known.
    pub leader_records: Option<BTreeMap<i32, u64>>,
    /// Most partitions that one broker led when a block began.
    pub led_most: Option<u32>,
}

impl Spread {
    /// The largest partition's records over the mean of all; absent for a single partition and where nothing is known.
    pub fn partitions_max_to_mean(&self) -> Option<f64> {
        max_to_mean(self.partition_records.as_ref()?)
    }
}

/// The largest over the mean; absent for fewer than two, and where all are 0.
fn max_to_mean(records: &[u64]) -> Option<f64> {
    let sum: u64 = records.iter().sum();
    let most = *records.iter().max()?;
    (records.len() > 1 && sum > 0).then(|| most as f64 * records.len() as f64 / sum as f64)
}

/// A stage of the path from send to poll (Confluent's and Event Hubs' decomposition).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageName {
    /// Intended to actual send: the schedule's slip.
    Slip,
    /// Send to the last byte of the request written: the client's own queue.
    Produce,
    /// Request written to appended in the leader's log.
    Publish,
    /// Appended to replicated by the in-sync replicas (high watermark).
    Commit,
    /// Replicated until the consumer, busy with older records, asks for this one.
    CatchUp,
    /// Asked for until returned by poll.
    Fetch,
    /// The rest of the end-to-end mean after the stages that are known.
    Unexplained,
}

/// The source of a stage's figure, most trustworthy last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Means of a client's or broker's own statistics over the window.
    Metrics,
    /// Stamps of our own probes on one clock, with a broker timestamp (LogAppendTime, 1 ms floor) between them.
    Probe,
    /// Measured directly on one monotonic clock.
    Measured,
    /// Arithmetic on other stages.
    Derived,
}

/// Mean time in one stage, with the band in which the truth lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// The stage.
    pub stage: StageName,
    /// Mean over the measured part; absent when it cannot be known here.
    pub mean_ns: Option<f64>,
    /// Lower end of the error band.
    pub low_ns: Option<f64>,
    /// Upper end of the error band.
    pub high_ns: Option<f64>,
    /// The source of the figure; absent with the figure.
    pub fidelity: Option<Fidelity>,
    /// The source in words, or why it is absent.
    pub source: String,
}

/// The broker's append times of a block, where the topic keeps them (LogAppendTime, whole milliseconds).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppendTimes {
    /// Messages behind it.
    pub samples: u64,
    /// Mean of append time, rounded down to its millisecond, minus actual send time; the clocks' offset is in it.
    pub floor_minus_sent_mean_ns: f64,
    /// The broker's clock is ahead of ours by at least this,
    pub clock_offset_low_ns: i64,
    /// and by at most this: every message was appended after it was sent and before it was received.
    pub clock_offset_high_ns: i64,
}

/// The result of a step's twin topic: the same settings on a topic that keeps the broker's append times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Twin {
    /// The append times.
    pub append_times: AppendTimes,
    /// Mean time in the client's own queue and until the request was written, of the twin's messages.
    pub produce_mean_ns: Option<f64>,
    /// Mean round trip of the twin's requests: it tells whether the twin's messages met the path in the state in which the step's did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_mean_ns: Option<f64>,
}

/// One second of a block, by the time at which things happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondRow {
    /// The block's number.
    pub block: u32,
    /// Seconds since the block's first intended send.
    pub second: u32,
    /// True while the warm-up still ran.
    pub warm_up: bool,
    /// Messages sent.
    pub sent: u64,
    /// Messages acknowledged.
    pub acked: u64,
    /// Messages received.
    pub received: u64,
    /// End-to-end latency of what arrived in this second.
    pub end_to_end: SecondLatency,
    /// Acknowledge latency of what was reported in this second.
    pub acknowledge: SecondLatency,
    /// Largest schedule slip of what was sent in this second.
    pub slip_max_ns: Option<u64>,
}

/// Latency within one second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondLatency {
    /// Samples in this second.
    pub samples: u64,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Median (absent below 20 samples).
    pub p50_ns: Option<u64>,
    /// 99th percentile (absent below 1,000 samples).
    pub p99_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

/// The client's own statistics over the measured part, summed over the run's handles of one role. From librdkafka's statistics
/// (STATISTICS.md; window means are exact, percentiles are not merged; a producer's until its messages were acknowledged), or
/// from the wire driver's own times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientStatistics {
    /// The times were read at each message and request of the measured part, not told by a library's windows; all means
    /// but the batches' are over messages then, and so are the samples behind them.
    #[serde(default)]
    pub measured: bool,
    /// Mean time from produce() to the request, with linger (`int_latency`).
    pub queue_mean_ns: Option<f64>,
    /// Messages behind `queue_mean_ns`.
    pub queue_samples: u64,
    /// Mean time from the request's queueing to its last byte written (`outbuf_latency`).
    pub outbuf_mean_ns: Option<f64>,
    /// Requests behind `outbuf_mean_ns`.
    pub outbuf_samples: u64,
    /// Mean round trip from last byte written to response (`rtt`).
    pub rtt_mean_ns: Option<f64>,
    /// Smallest round trip of any window.
    pub rtt_min_ns: Option<u64>,
    /// Requests behind the round trip figures.
    pub rtt_samples: u64,
    /// Batches behind the two means that follow.
    pub batches: u64,
    /// Mean messages per batch (`batchcnt`).
    pub batch_messages_mean: Option<f64>,
    /// Mean bytes per batch (`batchsize`).
    pub batch_bytes_mean: Option<f64>,
    /// Largest broker throttle time.
    pub throttle_max_ns: Option<u64>,
    /// Responses that carried a throttle time.
    pub throttled_responses: u64,
    /// Connections made in the measured part, after the first to each broker.
    pub reconnects: u64,
    /// Connections lost in the measured part.
    pub disconnects: u64,
    /// Requests that timed out.
    pub timeouts: u64,
    /// Message sends that were repeated.
    pub retries: u64,
    /// Consumer group rebalances in the measured part.
    pub rebalances: u64,
    /// Times that the library's threads for brokers woke up while the messages of `queue_samples` went (`wakeups`); absent where
    /// the driver does not count them.
    #[serde(default)]
    pub wakeups: Option<u64>,
    /// Requests that committed offsets within the library's windows of the measured part; absent where the client does not tell.
    #[serde(default)]
    pub offset_commits: Option<u64>,
    /// Length of these windows, summed over the clients, in seconds.
    #[serde(default)]
    pub windows_s: Option<f64>,
    /// Values that fell outside librdkafka's own histograms (means still count them).
    pub out_of_range: u64,
}

impl ClientStatistics {
    /// Mean bytes that a message took in its batch as it was sent, with its share of the batch's head.
    pub fn wire_bytes_per_message(&self) -> Option<f64> {
        let (bytes, messages) = (self.batch_bytes_mean?, self.batch_messages_mean?);
        (bytes > 0.0 && messages > 0.0).then(|| bytes / messages)
    }
}

/// CPU use of one thread of the instrument over the measured part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadCpu {
    /// Thread name.
    pub thread: String,
    /// CPU seconds used.
    pub cpu_s: f64,
    /// Share of one CPU, 0..1.
    pub share: f64,
    /// Time spent runnable but waiting for a CPU, in seconds; absent when the kernel does not say.
    pub run_delay_s: Option<f64>,
}

/// The cost of the instrument itself in a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepInstrument {
    /// CPU seconds of the whole program over the measured part.
    pub cpu_s: Option<f64>,
    /// The same per million messages sent.
    pub cpu_s_per_million_messages: Option<f64>,
    /// The same per gigabyte (10^9 bytes) of values.
    #[serde(default)]
    pub cpu_s_per_gb: Option<f64>,
    /// CPU seconds of the brokers, where they run on this host and are known.
    pub broker_cpu_s: Option<f64>,
    /// The busiest threads, most CPU first.
    pub threads: Vec<ThreadCpu>,
    /// Times that a send had to wait because the client's queue was full.
    pub queue_full_waits: u64,
}

/// The number of times that one error was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// The origin: `produce`, `consume`, `client`.
    pub origin: String,
    /// The client library's name of it.
    pub code: String,
    /// The text of its first occurrence.
    pub message: String,
    /// Occurrences.
    pub count: u64,
}
