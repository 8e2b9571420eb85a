//! The rates over the number of clients: one line for each device, size or driver of a sweep.

use crate::observation::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One line of a sweep over the number of clients: steps that are the same in everything else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepResult {
    /// The name that sets it apart from the run's other lines, such as `nvme, 10 KiB`; empty when there is no other.
    pub line: String,
    /// The clients that became more.
    pub over: SweepOver,
    /// The rate that is meant.
    pub rate: SweepRate,
    /// Its points, by number of clients.
    pub points: Vec<SweepPoint>,
    /// From where on more clients help no more.
    pub knee: Option<SweepPlace>,
    /// The reason why there is no knee; absent where there is one.
    #[serde(default)]
    pub no_knee: Option<NoKnee>,
    /// From where on the rate falls; absent when that is not seen.
    pub fall: Option<SweepPlace>,
    /// From where on the rate varies more from block to block; absent when that is not seen.
    pub variability: Option<VariabilityOnset>,
    /// The level of the curve's top, messages per second: of the points that cannot be told from the highest, so that it is no
    /// single point's rate.
    pub best_per_s: Option<f64>,
    /// Rate at the last point over the best.
    pub last_share: Option<f64>,
    /// This line's rates over those of the first line; absent for the first, and where they share too few blocks.
    pub against_first: Option<LineRatio>,
}

/// The reason why a line has no knee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoKnee {
    /// The rate still rises at the last point.
    StillRises,
    /// Blocks differ so much that it may be any point.
    Unclear,
    /// There are too few points or blocks to tell.
    TooFew,
}

/// The clients that become more along a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepOver {
    /// Producers.
    #[default]
    Producers,
    /// Consumers, where nobody produces.
    Consumers,
}

/// The rate that a line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepRate {
    /// Messages acknowledged.
    #[default]
    Produced,
    /// Messages received.
    Received,
}

/// One point of a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPoint {
    /// Number of clients.
    pub clients: u32,
    /// Name of the step.
    pub step: String,
    /// Its rate over all blocks, messages per second: the step's own `produced_per_s` or `received_per_s`.
    pub per_s: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Mean bytes of a value.
    pub value_bytes_mean: f64,
    /// Standard deviation of the blocks over their mean; absent with too few blocks.
    pub variation: Option<f64>,
    /// Rate of each whole block, in the order of the rounds.
    pub blocks_per_s: Vec<f64>,
}

/// A number of clients at which something begins, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPlace {
    /// The estimate, one of the line's points.
    pub clients: u32,
    /// Lower end of the interval.
    pub clients_low: u32,
    /// Upper end; absent when it may lie beyond the last point.
    pub clients_high: Option<u32>,
    /// Confidence level, 0..1.
    pub level: f64,
    /// Share of the best rate that counts as no difference.
    pub margin: f64,
}

/// The number of clients from which a rate varies more from block to block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariabilityOnset {
    /// The first number of clients with the larger variation.
    pub clients: u32,
    /// Lower end of the interval.
    pub clients_low: u32,
    /// Upper end.
    pub clients_high: u32,
    /// Confidence level, 0..1.
    pub level: f64,
    /// Coefficient of variation of blocks before it.
    pub variation_before: f64,
    /// The same from it on.
    pub variation_after: f64,
    /// Chance of such a rise where there is none.
    pub p: f64,
}

/// A line's rates over those of the first line, at equal numbers of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineRatio {
    /// The first line.
    pub first: String,
    /// Mean ratio over all points that both have (geometric).
    pub ratio: f64,
    /// Lower end of its interval.
    pub ratio_low: f64,
    /// Upper end.
    pub ratio_high: f64,
    /// Confidence level over all lines of the run together.
    pub level: f64,
    /// Smallest ratio of any point.
    pub ratio_least: f64,
    /// Largest ratio of any point.
    pub ratio_most: f64,
    /// Points compared.
    pub points: u32,
    /// Rounds compared.
    pub blocks: u32,
    /// Differences of durability between the two, to be said first; empty when equal.
    pub durability_differences: Vec<String>,
    /// Parts of durability that only one of the two tells, as `replication: 3 / not known`: nothing says that they differ. Absent in documents
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability_not_known: Vec<String>,
}
