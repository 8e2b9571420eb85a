//! Claims about the system or about the run, each with its evidence, and verdicts of comparisons.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a finding means for the run's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// To know when reading the figures; they stand.
    Note,
    /// The figures may mislead.
    Suspect,
    /// The figures must not be used for what the run was made for.
    Invalid,
}

/// A claim, the observations that it rests on, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable identifier; `plumb explain ID` has a page for it.
    pub id: String,
    /// What it means for the figures.
    pub severity: Severity,
    /// The step that it is about; absent when about the whole run.
    pub step: Option<String>,
    /// One sentence.
    pub claim: String,
    /// The observations, each with its value.
    pub evidence: Vec<Evidence>,
    /// What to do next, one sentence each.
    pub advice: Vec<String>,
}

/// One observation that a finding rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What was observed, as a path into the document or a name.
    pub what: String,
    /// Its value, with unit, as text.
    pub value: String,
    /// What it was held against, with unit, as text.
    pub expected: Option<String>,
}

/// Whether a run's figures can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidityVerdict {
    /// Nothing was found that makes the figures mislead.
    Valid,
    /// Some figures may mislead; the reasons say which and why.
    Suspect,
    /// The run does not show what it was made to show.
    Invalid,
}

/// The verdict on a run, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// The worst of the reasons.
    pub verdict: ValidityVerdict,
    /// Every finding about the run itself, gravest first.
    pub reasons: Vec<Finding>,
}

/// What a comparison of two steps shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The difference is larger than the noise.
    Differs,
    /// The difference, if there is one, is smaller than this run could see.
    WithinNoise,
    /// Rates of different settings, as fast as possible, that come out within 0.5 % of each other: something that both share limits
    /// them, and hides what the settings differ in.
    Ceiling,
    /// There are too few blocks to tell.
    TooFewBlocks,
}

/// Two steps compared over paired blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Name of the reference step.
    pub a: String,
    /// Name of the step held against it.
    pub b: String,
    /// The metric, such as `end_to_end.mean`.
    pub metric: String,
    /// b / a; absent with too few blocks.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub ratio_low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub ratio_high: Option<f64>,
    /// Family-wise confidence level over all comparisons of the run.
    pub level: f64,
    /// Two-sided p, adjusted over all comparisons of the run (Holm).
    pub p_adjusted: Option<f64>,
    /// The smallest ratio above 1 that this design could have seen (80 % power).
    pub smallest_detectable_ratio: Option<f64>,
    /// Blocks compared.
    pub blocks: u32,
    /// What it shows.
    pub verdict: ComparisonVerdict,
    /// Differences of durability between the two, to be said first; empty when equal.
    pub durability_differences: Vec<String>,
}
