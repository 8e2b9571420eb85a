//! The power of a trial on a setup: the differences between equal arms there, and the number of pairs for each difference.
//!
//! In the unit that the trial's verdict uses: the pair, or, where several pairs share a start of the brokers, the start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of [`PowerResult`]'s shape.
pub const POWER_SCHEMA_VERSION: u32 = 1;

/// The power of a trial. `plumb trial power --output json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerResult {
    /// Shape of this document.
    pub schema_version: u32,
    /// The run whose equal arms it is worked out from.
    pub run_id: String,
    /// Name of its scenario.
    pub name: String,
    /// Confidence level of the trial that is planned.
    pub level: f64,
    /// Chance of showing a difference of the size given.
    pub power: f64,
    /// Differences up to this count as none.
    pub margin: f64,
    /// The difference that is to be seen; absent where nobody asked for one.
    pub detect: Option<f64>,
    /// Comparisons of the planned trial that its verdicts allow for, and all figures here as well.
    pub comparisons: u32,
    /// True if the planned trial stops as soon as it is decided: numbers of pairs are then what looking after each takes.
    pub until_decided: bool,
    /// Pairs of the planned trial that share a start of the brokers: the start is the unit then. Absent where the pair is.
    pub pairs_per_start: Option<u32>,
    /// Pairs of equal arms behind it.
    pub pilot_pairs: u32,
    /// Starts of the brokers that they were on, where the start is the unit.
    pub pilot_starts: Option<u32>,
    /// Time that a pair of the planned trial takes; absent where the plan does not tell.
    pub pair_s: Option<f64>,
    /// Each metric, the one that decides first.
    pub metrics: Vec<MetricPower>,
    /// The doubts about the run that all this is worked out from, a sentence each: numbers from an invalid one are worth nothing.
    pub cautions: Vec<String>,
    /// For a person: at most three sentences.
    pub summary: Vec<String>,
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricPower {
    /// Such as `end_to_end.p99`.
    pub name: String,
    /// Unit of its values.
    pub unit: String,
    /// Median over the pilot's blocks.
    pub median: Option<f64>,
    /// Pairs that have it.
    pub pairs: u32,
    /// Starts that have it, where the start is the unit.
    pub starts: Option<u32>,
    /// Standard deviation of the pairs' log ratios, or of the means of each start's where the start is the unit.
    pub sd_log: f64,
    /// With a chance of 80 % it is truly at most this: few pairs or starts know it badly.
    pub sd_log_high: f64,
    /// The power of so many pairs or starts.
    pub designs: Vec<Design>,
    /// Pairs that show a difference of the margin (on [`MetricPower::starts_for_margin`] where the start is the unit); absent
    /// where a million units would not do.
    pub pairs_for_margin: Option<u64>,
    /// Starts that show it, where the start is the unit.
    pub starts_for_margin: Option<u64>,
    /// Pairs that show the difference asked for.
    pub pairs_for_detect: Option<u64>,
    /// Starts that show it, where the start is the unit.
    pub starts_for_detect: Option<u64>,
}

/// The power of so many pairs or starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// Pairs.
    pub pairs: u32,
    /// Starts of the brokers that they are on, where the start is the unit.
    pub starts: Option<u32>,
    /// The smallest ratio above 1 that they show.
    pub detectable_ratio: f64,
    /// The same if the spread is as large as the pilot leaves possible.
    pub detectable_ratio_high: f64,
}
