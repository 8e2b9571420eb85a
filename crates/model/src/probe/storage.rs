//! The speed of a directory's storage: the devices behind it, its commits, its streams.
//!
//! `targets[].commits[]` is the contract for programs: `method`, `block_bytes`, `committers`, `rate_per_s`, `latency`,
//! `durable`, `findings`. Absent is `null`, never 0: a method that this file system refuses has no rate and says why.

mod method;

pub use method::{CommitCase, CommitMethod, Placement};

use super::Conditions;
use crate::facts::Storage;
use crate::finding::{Finding, earlier};
use crate::observation::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of `plumb probe storage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageProbe {
    /// The time, version and host, and the other users of it meanwhile.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The plan.
    pub plan: StoragePlan,
    /// The directories, in the order given.
    pub targets: Vec<StorageTarget>,
    /// Published devices, to be shown beside ours.
    pub reference: ReferenceDevices,
}

/// The plan of a storage probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoragePlan {
    /// Measured time of each case on each path, all its rounds together. A slow case gets up to ten times as long, until it has
    /// the 20 commits that a median takes.
    pub duration_ns: u64,
    /// Rounds: in each, the cases of all paths take turns in random order, each with one block; streams after commits.
    pub rounds: u32,
    /// The seed of the random order.
    pub seed: u64,
    /// Bytes of each file that is overwritten; commits go round in it.
    pub overwritten_bytes: u64,
}

/// One directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageTarget {
    /// As the user gave it.
    pub path: String,
    /// File system first, then every layer down to the hardware.
    pub layers: Vec<TargetLayer>,
    /// The same with every fact by itself, and what could not be followed, and why.
    pub storage: Storage,
    /// Free bytes that this user may take, before the measuring.
    pub available_bytes: u64,
    /// Ways to commit, in the plan's order.
    pub commits: Vec<CommitResult>,
    /// Streams, in the plan's order.
    pub sequential: Vec<SequentialResult>,
    /// What has to be known before the figures are used. Older documents call it `warnings`.
    #[serde(alias = "warnings", deserialize_with = "earlier::findings")]
    pub findings: Vec<Finding>,
}

/// A layer behind a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetLayer {
    /// 0 for the file system of the directory; a layer lies on the nearest one above it of a smaller depth.
    pub depth: u32,
    /// `file_system`, or what the device is: `partition`, `nvme`, `loop`, `raid` ...
    pub kind: String,
    /// The file system's type, or the kernel's name for the device.
    pub name: String,
    /// The details that matter, in words.
    pub detail: String,
}

/// The result of one way to commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitResult {
    /// The way, and the load.
    #[serde(flatten)]
    pub case: CommitCase,
    /// Commits per second of all committers together: all their commits over all the time. Absent when nothing was measured.
    pub rate_per_s: Option<f64>,
    /// Interval of the rate over blocks (jackknife); absent with fewer than three.
    pub rate_interval: Option<Interval>,
    /// Time of one commit, from before the write to after the sync.
    pub latency: CommitLatency,
    /// True if committed data outlive a loss of power as far as this host tells. Absent when it cannot be told: another host or a
    /// program keeps the data, part of what is below cannot be seen, or the rate is hard to believe.
    pub durable: Option<bool>,
    /// What speaks against the figures. Older documents call it `warnings`.
    #[serde(alias = "warnings", deserialize_with = "earlier::findings")]
    pub findings: Vec<Finding>,
    /// The reason why nothing was measured, when nothing was.
    pub unavailable: Option<String>,
    /// Processor time of one commit in this process and its kernel threads for io_uring; not that of the kernel's
    /// journal and device threads.
    pub cpu_ns_per_commit: Option<f64>,
    /// Writes with data that the device completed for each commit, at least: the kernel counts a request that only
    /// flushes as a write too, so all flushes are taken off. Other programs' are in it. Absent when no counter tells.
    pub device_writes_per_commit: Option<f64>,
    /// Cache flushes that the device completed for each commit, others' included.
    pub device_flushes_per_commit: Option<f64>,
    /// Ratio to the same case on the first path; absent there.
    pub ratio_to_first: Option<RatioToFirst>,
    /// The blocks, in the order of rounds.
    pub blocks: Vec<CommitBlock>,
}

/// Times of commits. A quantile without 10/(1-q) samples is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommitLatency {
    /// Commits timed.
    pub samples: u64,
    /// Smallest.
    pub min_ns: Option<u64>,
    /// Mean, exact.
    pub mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Largest, exact.
    pub max_ns: Option<u64>,
}

/// One block of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitBlock {
    /// The round's number.
    pub round: u32,
    /// The time at which it began, its warm-up included: since the probe began.
    pub began_ns: u64,
    /// Measured time, the same for all committers and all of them under load before and after it: from the end of one commit of
    /// the first committer to the end of a later one of it. What one committer needs to replace a full file is not in it.
    pub elapsed_ns: u64,
    /// Commits of all committers that ended in it.
    pub commits: u64,
    /// Commits per second: those commits over that time.
    pub rate_per_s: f64,
    /// The block second by second; the last one is as long as what was left.
    pub seconds: Vec<CommitSecond>,
}

/// A second of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommitSecond {
    /// Commits that ended in it.
    pub commits: u64,
    /// The longest of them; absent without any.
    pub max_ns: Option<u64>,
}

/// The ratio of a path to the first one, over the rounds of both.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioToFirst {
    /// This path's rate over the first one's: each is all that was done over all the time, in the rounds of both.
    pub ratio: f64,
    /// Lower end of its interval over rounds (jackknife); absent with fewer than three.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Confidence level of the interval, 0..1.
    pub level: f64,
    /// Smallest ratio above 1 that these rounds would have shown four times in five.
    pub smallest_detectable_ratio: Option<f64>,
    /// Rounds compared.
    pub rounds: u32,
}

/// The direction of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamDirection {
    /// To the device.
    Write,
    /// From it.
    Read,
}

/// The use of the page cache by a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PageCache {
    /// Through it.
    Buffered,
    /// Around it (O_DIRECT).
    Direct,
}

/// A stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct StreamCase {
    /// The direction.
    pub direction: StreamDirection,
    /// Through the page cache or around it.
    pub page_cache: PageCache,
    /// Bytes of one call.
    pub block_bytes: u64,
}

/// The result of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequentialResult {
    /// The stream.
    #[serde(flatten)]
    pub case: StreamCase,
    /// Bytes per second: all bytes over all the time. Of a write, the time of the calls and then of the sync, one after
    /// the other. Direct calls have one request under way at a time.
    pub bytes_per_s: Option<f64>,
    /// Interval over blocks; absent with fewer than three.
    pub bytes_interval: Option<Interval>,
    /// Of a buffered write, what the page cache took per second before the sync.
    pub accepted_bytes_per_s: Option<f64>,
    /// Bytes that the device read, or wrote, during the blocks, other programs' included. Absent when no counter tells.
    pub device_bytes: Option<u64>,
    /// The reason why nothing was measured, when nothing was.
    pub unavailable: Option<String>,
    /// Ratio to the same stream on the first path; absent there.
    pub ratio_to_first: Option<RatioToFirst>,
    /// The blocks, in the order of rounds.
    pub blocks: Vec<StreamBlock>,
}

/// One block of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamBlock {
    /// The round's number.
    pub round: u32,
    /// The time at which it began: since the probe began.
    pub began_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Time until the last call returned, without a final sync.
    pub transfer_ns: u64,
    /// Time of the final sync of a write.
    pub sync_ns: u64,
}

/// Published devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceDevices {
    /// The one who measured them, and how.
    pub source: String,
    /// Fastest first.
    pub rows: Vec<ReferenceDevice>,
}

/// A published device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceDevice {
    /// The name, with file system and options.
    pub name: String,
    /// Commits per second, one committer.
    pub rate_per_s: f64,
    /// Time of a commit, as published; absent where only the rate was.
    pub latency_ns: Option<u64>,
}
