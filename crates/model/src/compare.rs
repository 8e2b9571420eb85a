//! Two runs, each measured for itself, side by side: what that can show and what it cannot.
//!
//! Nothing pairs their blocks, so whatever changed between the two runs is in the difference; there is no verdict of
//! better or worse here. That takes a [`crate::trial`].

pub mod paths;
pub mod searches;

use crate::finding::ValidityVerdict;
use crate::plan::Length;
use crate::trial::Good;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of [`CompareResult`]'s shape.
pub const COMPARE_SCHEMA_VERSION: u32 = 1;

/// Two runs side by side. `plumb compare --output json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareResult {
    /// Shape of this document.
    pub schema_version: u32,
    /// In one word: whether any metric of any step differs by more than blocks within a run do.
    #[serde(default = "cannot_tell")]
    pub outcome: CompareSays,
    /// The first run.
    pub a: ComparedRun,
    /// The second.
    pub b: ComparedRun,
    /// From the start of the first to that of the second, in seconds; absent where a start is not a time.
    pub apart_s: Option<i64>,
    /// Differences between the hosts, clusters and versions of the two, as `what: a / b`.
    pub conditions: Vec<String>,
    /// The steps held side by side.
    pub steps: Vec<ComparedSteps>,
    /// Steps of one that the other has not.
    pub alone: Vec<String>,
    /// Limits of this comparison, a sentence each.
    pub cannot_show: Vec<String>,
}

fn cannot_tell() -> CompareSays {
    CompareSays::CannotTell
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// As its document says.
    pub run_id: String,
    /// Name of the scenario.
    pub name: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// Version of Plumb that measured it.
    pub plumb_version: String,
    /// The verdict on its own figures.
    pub validity: ValidityVerdict,
    /// The reasons, a sentence each.
    pub reasons: Vec<String>,
}

/// Two steps side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSteps {
    /// Step of the first run.
    pub a: String,
    /// Step of the second.
    pub b: String,
    /// Differences of durability or security, to be said first.
    pub unequal_guarantees: Vec<String>,
    /// Parts of durability that only one of them tells, as `replication: 3 / not known`: nothing says that they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarantees_not_known: Vec<String>,
    /// Settings that differ as read back, as `path: a / b`.
    pub settings: Vec<String>,
    /// The planned length of the first's measured part in all; absent where its document does not tell.
    pub a_length: Option<Length>,
    /// The second.
    pub b_length: Option<Length>,
    /// True if both were offered the same load, all of it but its length; then any difference is among the settings.
    pub same_load: bool,
    /// Their metrics.
    pub metrics: Vec<ComparedMetric>,
    /// The trial that would prove it, as YAML: the first as the reference, the second as its arm; absent where no trial can.
    pub arms: Option<String>,
    /// The reason why no trial can; absent where one can.
    pub no_arms: Option<String>,
}

/// The statement of two single runs about a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompareSays {
    /// The runs differ by more than blocks within a run do. Why they do is not told.
    DiffersMoreThanBlocks,
    /// Blocks within a run differ as much, or there are too few.
    CannotTell,
}

/// One metric of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedMetric {
    /// Such as `end_to_end.p99`.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// The good direction.
    pub good: Good,
    /// Median of the first run's blocks.
    pub a_median: Option<f64>,
    /// Of the second's.
    pub b_median: Option<f64>,
    /// Blocks of the first that have it.
    pub a_blocks: u32,
    /// Of the second.
    pub b_blocks: u32,
    /// b / a: the Hodges-Lehmann estimate over all pairs of blocks; absent with none.
    pub ratio: Option<f64>,
    /// Lower end of its interval from the spread of blocks within the runs alone: drift between the runs is not in it.
    pub within_low: Option<f64>,
    /// Upper end.
    pub within_high: Option<f64>,
    /// Confidence level of that interval.
    pub level: f64,
    /// Rank-sum p of blocks, within-run spread alone; absent with the interval, where no order of so few blocks would be rare.
    pub p: Option<f64>,
    /// The statement.
    pub says: CompareSays,
}
