//! The run document: everything that one run learned.
//!
//! `run.json` in a run's directory. It is rewritten whole and atomically as the run goes, so a killed run leaves a
//! document that loads; [`RunState`] says how it ended. A later version of Plumb reads every earlier
//! [`SCHEMA_VERSION`]. Absent is `null`, never 0.

use crate::check::LayerLoss;
use crate::facts::{HostDelta, HostFacts, LogDirectory, ProcessIo, RequestTimes, UntilDevice};
use crate::finding::{Comparison, Finding, Validity};
use crate::observation::{
    Accounting, AppendTimes, ClientStatistics, Counts, Distribution, ErrorCount, Latencies, ProgramAccount,
    ReplicationLag, SecondRow, Spread, Stage, StepInstrument, Throughput, Twin,
};
use crate::outcome::Outcome;
pub use crate::outcome::RunState;
use crate::plan::{Driver, Plan, Properties};
use crate::probe::ClockClaim;
use crate::queue::QueueResult;
use crate::search::SearchResult;
use crate::settings_search::SettingsSearchResult;
use crate::sweep::SweepResult;
use crate::trial::TrialResult;
use crate::winner::Winner;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the document's shape. It rises when a reader of the old shape would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that one run learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// Shape of this document.
    pub schema_version: u32,
    /// The run: its name, time, version and end.
    pub run: RunIdentity,
    /// Its outcome, in one word. The fields that follow give the reasons.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// The verdict on the figures.
    pub validity: Validity,
    /// The main results, in at most three sentences.
    pub summary: Vec<String>,
    /// Claims about the system.
    pub findings: Vec<Finding>,
    /// The settings under test, in the plan's order.
    pub steps: Vec<StepResult>,
    /// Steps held against each other.
    pub comparisons: Vec<Comparison>,
    /// The rates over the number of clients: one line for each device, size or driver of a sweep.
    #[serde(default)]
    pub sweeps: Vec<SweepResult>,
    /// The producers' queues, and the rates at which they grew: one for each step that is to show it.
    #[serde(default)]
    pub queues: Vec<QueueResult>,
    /// The result of the trial, where the plan is one.
    #[serde(default)]
    pub trial: Option<TrialResult>,
    /// The course of the search for settings, where the plan is one.
    #[serde(default)]
    pub settings_search: Option<SettingsSearchResult>,
    /// Settings that came out ahead of what they were held against; empty where none did.
    #[serde(default)]
    pub winners: Vec<Winner>,
    /// Published figures shown beside ours.
    pub reference: Option<ReferenceTable>,
    /// The instrument's own quality.
    pub instrument: Instrument,
    /// Host, client and cluster.
    pub environment: Environment,
    /// The plan of the run.
    pub plan: Plan,
}

impl RunDocument {
    /// As it is kept and printed: indented, with a newline at its end. Absent figures are `null`.
    ///
    /// # Errors
    /// The serializer's, which no document should cause.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// The run: its name, time, version and end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunIdentity {
    /// 16 hexadecimal digits; every record of the run carries it.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// UTC, RFC 3339; absent while it runs or when it was killed.
    pub finished_at: Option<String>,
    /// The state at its end.
    pub state: RunState,
    /// Version of Plumb.
    pub plumb_version: String,
    /// The times at which it went on after it had been stopped or killed; empty for a run in one go.
    #[serde(default)]
    pub resumed: Vec<Resumption>,
    /// The block that ended because a worker was lost, where that did not come back and the run ended there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_block: Option<LostBlock>,
}

/// A run that had been stopped or killed went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumption {
    /// UTC, RFC 3339.
    pub at: String,
    /// Blocks that were done by then and were kept as they were.
    pub blocks_kept: u32,
    /// The differences from before, in words; none that makes the parts unfit to stand beside each other.
    pub changes: Vec<String>,
    /// The block that ended because a worker was lost, where the run went on for that; it was measured anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_block: Option<LostBlock>,
}

/// A block in which a worker was lost. It is in no figure of the run; what it sent is in its topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostBlock {
    /// The worker's name.
    pub worker: String,
    /// What happened to it.
    pub reason: String,
    /// The step; absent where it was lost before the first message was due.
    pub step: Option<String>,
    /// The round, from 0.
    pub block: Option<u32>,
    /// Its measured messages by their fate, as far as was known when it ended: what the lost worker did in its last second is not in it.
    pub counts: Option<Counts>,
}

/// One setting under test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResult {
    /// As in the plan.
    pub name: String,
    /// Intended rate; absent where messages went out as fast as possible.
    pub asked_per_s: Option<f64>,
    /// Measured messages acknowledged, per second of the time from the first intended send to the last report, or to the end of
    /// the schedule where that is later.
    pub achieved_per_s: Option<f64>,
    /// Messages and bytes in and out, per second.
    #[serde(default)]
    pub throughput: Throughput,
    /// Mean bytes of a value.
    pub value_bytes_mean: f64,
    /// The measured messages by their fate; null before anything was counted.
    #[serde(default, serialize_with = "counted_or_null", deserialize_with = "null_as_nothing")]
    #[schemars(with = "Option<Counts>")]
    pub counts: Counts,
    /// The broker's word on it.
    pub accounting: Accounting,
    /// The four latencies.
    pub latency: Latencies,
    /// Actual minus intended send time.
    pub slip: Distribution,
    /// Mean time per stage; the sum of the known ones and the unexplained rest is the end-to-end mean.
    pub stages: Vec<Stage>,
    /// The blocks, in the order in which they ran.
    pub blocks: Vec<BlockResult>,
    /// Second by second, warm-up included.
    pub series: Vec<SecondRow>,
    /// The producers' own statistics.
    pub producer_statistics: ClientStatistics,
    /// The consumers' own statistics.
    pub consumer_statistics: ClientStatistics,
    /// Settings as read back from client, topic and broker.
    pub effective: Effective,
    /// The guarantee of a write.
    pub durability: Durability,
    /// The distribution of its records over partitions and brokers.
    #[serde(default)]
    pub spread: Spread,
    /// The cost of the instrument.
    pub instrument: StepInstrument,
    /// Errors by code.
    pub errors: Vec<ErrorCount>,
    /// The result of the step's twin topic.
    pub twin: Option<Twin>,
    /// The search for the step's rate, where the plan has a goal; the figures are those of the highest rate that held.
    #[serde(default)]
    pub search: Option<SearchResult>,
    /// Interval logs of this step in the run's directory, by measure.
    pub histogram_logs: BTreeMap<String, String>,
    /// The cluster of its own, where the plan gives it one, as it described itself at its last start.
    #[serde(default)]
    pub cluster: Option<ClusterFacts>,
}

/// One block of a step: fresh clients, the same settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockResult {
    /// The round, from 0; blocks of one round are neighbours in time.
    pub block: u32,
    /// Place in the order of all blocks of the run, from 0.
    pub position: u32,
    /// The user stopped it early: its figures are in the step's, and in no interval or comparison.
    pub cut_short: bool,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// UTC, RFC 3339 to the millisecond: when its first message was due, with which the seconds of its rows in the step's
    /// series begin. Absent in documents of earlier versions.
    #[serde(default)]
    pub seconds_from: Option<String>,
    /// From there to its measured part; absent where that never began, and in documents of earlier versions.
    #[serde(default)]
    pub measured_after_s: Option<f64>,
    /// Its measured messages by their fate.
    pub counts: Counts,
    /// Rate reached.
    pub achieved_per_s: Option<f64>,
    /// The time from when its first measured message was due to the last acknowledgement of one; absent where nothing that was measured
    /// was acknowledged, and in documents of earlier versions.
    #[serde(default)]
    pub acknowledged_within_s: Option<f64>,
    /// Messages received per second, from the first intended send to the last reception and over no less than the schedule; where
    /// consumers had to wait, from their release.
    #[serde(default)]
    pub received_per_s: Option<f64>,
    /// From the consumers' release until they had caught up with a backlog.
    #[serde(default)]
    pub drain_s: Option<f64>,
    /// Its end-to-end latency, without curve.
    pub end_to_end: Distribution,
    /// Its acknowledge latency, without curve.
    pub acknowledge: Distribution,
    /// Mean over its messages of the longest time for which a consumer may have been busy with older records of the
    /// partition: from a message's send to the reception of the one before it, 0 when that came earlier.
    pub catch_up_at_most_ns: Option<f64>,
    /// Append times of the broker's clock.
    pub append_times: Option<AppendTimes>,
    /// The lag of the followers from the begin of its measured part until it was drained; absent with one replica, where nothing
    /// was sent, and where the leaders could not be asked.
    #[serde(default)]
    pub replication_lag: Option<ReplicationLag>,
    /// The brokers' own request times over the whole block, warm-up included.
    pub request_times: Option<RequestTimes>,
    /// The counters of the generating host in its measured part.
    pub host: Option<HostDelta>,
    /// Where this host lost packets and connections in its measured part, the first layer first; absent where that was not read, because nothing
    /// asked for it, and where a counter of losses went back or was gone at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_losses: Option<Vec<LayerLoss>>,
    /// The bytes that the brokers read and wrote in its measured part, where they run on this host and are known.
    #[serde(default)]
    pub broker_io: Option<ProcessIo>,
    /// CPU seconds of the whole generating program in its measured part; absent where that is not known for a block alone.
    #[serde(default)]
    pub client_cpu_s: Option<f64>,
    /// CPU seconds of the brokers that serve it in its measured part, where they run on this host and are known.
    #[serde(default)]
    pub broker_cpu_s: Option<f64>,
    /// Cut from its beginning as warm-up beyond the planned one: the block's latencies, slip and rates are without it. Its
    /// counts and the two CPU times above, which belong together, are of the whole measured part.
    #[serde(default)]
    pub warm_up_cut_s: f64,
    /// The rest of messages and CPU time without the part that was cut; absent where nothing was.
    #[serde(default)]
    pub after_warm_up: Option<AfterWarmUp>,
    /// Mean of actual minus intended send time of its measured messages; absent without a schedule.
    #[serde(default)]
    pub slip_mean_ns: Option<f64>,
    /// The programs that were its clients; empty where all were in the generating process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramAccount>,
    /// The workers that ran its clients; empty where the generating program did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerBlock>,
    /// The worker that was lost in it, and how: it was cut short, and what became of its messages is not known. The run measures it anew
    /// where the worker comes back ([`Resumption::lost_block`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_worker: Option<String>,
    /// The number of times that a sender of it waited for room in the client's queue, warm-up included; absent where that was not
    /// noted.
    #[serde(default)]
    pub queue_full_waits: Option<u64>,
    /// The number of restarts until then of the brokers that served it: 0 on their first start. Goes on where a run went on, as a
    /// lab is then a new one.
    #[serde(default)]
    pub broker_start: u32,
    /// The end of the load before it that was to go on until the device is the limit; absent where none was asked for.
    #[serde(default)]
    pub until_device: Option<UntilDevice>,
}

/// The work of a block without the part of its beginning that was cut as warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AfterWarmUp {
    /// Messages acknowledged in these seconds; received, where nobody sends.
    pub messages: u64,
    /// CPU seconds of the generating program, from the end of what was cut to that of the measured part.
    pub client_cpu_s: Option<f64>,
    /// CPU seconds of the brokers meanwhile, where they run on this host and are known.
    pub broker_cpu_s: Option<f64>,
    /// End-to-end times of the part that was cut, in or beyond a histogram's range: in no figure, and counted for the account.
    #[serde(default)]
    pub cut_end_to_end: u64,
    /// Acknowledge times of it.
    #[serde(default)]
    pub cut_acknowledge: u64,
}

/// Settings as read back, never as assumed. Secrets are `[redacted]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effective {
    /// The topic's name.
    pub topic_name: String,
    /// Partitions, as the cluster says.
    pub partitions: Option<u32>,
    /// Replicas of the first partition, as the cluster says.
    pub replication: Option<u32>,
    /// Replicas of partitions in each log directory of the lab, as found there.
    #[serde(default)]
    pub log_dirs: BTreeMap<String, u32>,
    /// The producer's resolved properties.
    pub producer: Properties,
    /// The consumer's resolved properties.
    pub consumer: Properties,
    /// The topic's configs; empty when the cluster does not tell.
    pub topic: Properties,
    /// Configs of the leader of partition 0; empty when the cluster does not tell.
    pub broker: Properties,
    /// Flags of the JVM of a lab's broker, as its process has them.
    #[serde(default)]
    pub jvm_flags: Vec<String>,
    /// Settings of this host's kernel and of running brokers that any arm of the trial changes, as read while the step's blocks ran; a
    /// broker's key that was never set reads `(default)`.
    #[serde(default)]
    pub host: Properties,
}

impl Effective {
    /// The codec that the producer compresses with, read back; absent where it uses none, or does not say.
    pub fn codec(&self) -> Option<&str> {
        let names = ["compression.codec", "compression.type"];
        let codec = names.iter().find_map(|name| self.producer.get(*name))?;
        Some(codec.as_str()).filter(|codec| *codec != "none")
    }
}

/// The guarantee of a write: two steps with different fingerprints are not compared without saying so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Durability {
    /// `0`, `1` or `all`.
    pub acks: Option<String>,
    /// Replication factor.
    pub replication: Option<u32>,
    /// `min.insync.replicas`.
    pub min_insync_replicas: Option<u32>,
    /// `flush.messages`; absent when the cluster does not tell.
    pub flush_messages: Option<String>,
    /// `flush.ms`.
    pub flush_ms: Option<String>,
    /// `enable.idempotence` of the producer.
    pub idempotence: Option<bool>,
}

/// The instrument's own quality, measured before the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Instrument {
    /// Cost of reading the clock.
    pub clock_read_ns: Option<f64>,
    /// Smallest step of the clock that was seen.
    pub clock_step_ns: Option<u64>,
    /// The lateness of the pacing's wake-ups, with the sleep-and-spin that sends use.
    pub wake_late: Distribution,
    /// Share of one CPU that pacing may spend spinning, and how long before a send it starts.
    pub spin_ns: u64,
    /// The most that this generator sends, against a broker that only swallows.
    #[serde(default)]
    pub ceilings: Vec<GeneratorCeiling>,
}

/// The most that this generator sends on this machine, against a sink that costs next to nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorCeiling {
    /// The client.
    pub driver: Driver,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// Messages per second of one producer thread that has a CPU to itself.
    pub messages_per_s_per_core: f64,
    /// The time of the measurement: UTC, RFC 3339.
    pub measured_at: String,
}

/// Host, client and cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The host that generated the load.
    pub host: Option<HostFacts>,
    /// The client library and its version.
    pub client: String,
    /// The cluster, as it describes itself.
    pub cluster: ClusterFacts,
    /// The fate of each key of a client properties file.
    pub config_keys: Vec<ConfigKeyFate>,
    /// The log directories of a lab's brokers, with the storage behind them.
    #[serde(default)]
    pub log_directories: Vec<LogDirectory>,
    /// The trial that had changed the generating host when the run began, or had left it changed, in words; absent where none
    /// had, and in a trial, which would have been refused.
    #[serde(default)]
    pub changed_by_trial: Option<String>,
    /// The workers that ran the clients; empty where the generating program did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerFacts>,
}

/// A worker of a run, as it described itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerFacts {
    /// Its name, of its own in the run.
    pub name: String,
    /// Processors that it may use.
    pub cpus: u32,
    /// True if it reads the same clock as the coordinator: that of one boot.
    pub one_clock: bool,
    /// The worker of an earlier place that runs on the same host, which is one boot of one kernel; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_host_as: Option<String>,
    /// How far off its wall clock is at most, as it says itself.
    pub clock_claim: Option<ClockClaim>,
    /// Its host.
    pub host: Option<HostFacts>,
}

/// One worker's part of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerBlock {
    /// Its name.
    pub name: String,
    /// Producers that it ran.
    pub producers: u32,
    /// Consumers that it ran.
    pub consumers: u32,
    /// Measured messages that were due at its producers.
    pub intended: u64,
    /// Those that were sent.
    pub sent: u64,
    /// Mean time by which its clients handed measured messages over later than they were due.
    pub slip_mean_ns: Option<f64>,
    /// CPU seconds of its process in the measured part.
    pub cpu_s: Option<f64>,
    /// The most by which the end-to-end latencies that it recorded of other workers' messages may be off, as the clocks' difference is known to
    /// a band; absent where it recorded none.
    pub clock_error_ns: Option<u64>,
    /// Least time that a message from the coordinator and its answer took.
    pub round_trip_ns: u64,
}

/// The cluster, as it describes itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterFacts {
    /// Cluster id.
    pub id: Option<String>,
    /// Brokers as host:port.
    pub brokers: Vec<String>,
    /// True if a broker is on the host that generates the load; absent when it cannot be told.
    pub on_this_host: Option<bool>,
    /// Version, where known.
    pub version: Option<String>,
    /// `security.protocol` in use.
    pub security_protocol: Option<String>,
    /// Shortest time to open a TCP connection to each broker before the run, in the order of `brokers`: a round trip of the network. Absent for
    /// one that gave no answer; empty where all brokers are on this host.
    #[serde(default)]
    pub connect_ns: Vec<Option<u64>>,
}

/// The fate of one key of a client properties file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigKeyFate {
    /// The key as written.
    pub key: String,
    /// Its line.
    pub line: u32,
    /// Its fate.
    pub fate: KeyFate,
}

/// The fate of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum KeyFate {
    /// Given to the client as it is.
    Passed,
    /// Given to the client under other names.
    Translated {
        /// The names.
        to: Vec<String>,
    },
    /// Of the Java client only, without meaning here.
    JavaOnly {
        /// The reason why it can be left out.
        reason: String,
    },
}

/// Published figures shown beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceTable {
    /// The title.
    pub title: String,
    /// The publisher, place and time.
    pub source: String,
    /// The caveat that a reader must know before comparing.
    pub caveat: String,
    /// The rows.
    pub rows: Vec<ReferenceRow>,
    /// The published ratios of one setup's speed to another's, where ratios were published.
    #[serde(default)]
    pub ratios: Vec<ReferenceRatio>,
}

/// A published ratio of two rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceRatio {
    /// The faster setup, as ours is called, and what was special about theirs.
    pub name: String,
    /// The setup that it is held against.
    pub over: String,
    /// So many times as fast at least.
    pub least: f64,
    /// And at most; the same where one number was published.
    pub most: f64,
}

/// One published row of end-to-end latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceRow {
    /// The setup, as ours is called.
    pub name: String,
    /// Messages per second.
    pub rate_per_s: f64,
    /// Milliseconds, as published.
    pub min_ms: f64,
    /// Milliseconds, as published.
    pub max_ms: f64,
    /// Milliseconds, as published.
    pub mean_ms: f64,
    /// Milliseconds, as published.
    pub p75_ms: f64,
    /// Milliseconds, as published.
    pub p95_ms: f64,
    /// Milliseconds, as published.
    pub p99_ms: f64,
}
/// Zeros of a step of which nothing was counted would be read as figures.
fn counted_or_null<S: serde::Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
    (*counts != Counts::default()).then_some(counts).serialize(serializer)
}

fn null_as_nothing<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
    Ok(Option::<Counts>::deserialize(deserializer)?.unwrap_or_default())
}
