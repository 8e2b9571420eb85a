//! The answers of two searches for settings side by side. `plumb compare` of two searches prints it with `--output json`.

use crate::search_report::SearchOutcome;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of [`SearchesCompared`]'s shape.
pub const SEARCHES_COMPARED_SCHEMA_VERSION: u32 = 1;

/// The answers of two searches side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchesCompared {
    /// Shape of this document.
    pub schema_version: u32,
    /// The first one.
    pub a: ComparedSearch,
    /// The second one.
    pub b: ComparedSearch,
    /// What differs in what was asked of them, or in what their answers hold for: where there is anything, their ratios are no answers to
    /// the same question.
    pub differences: Vec<SearchDifference>,
    /// The settings that either of them would change.
    pub settings: Vec<ComparedSetting>,
    /// What the comparison cannot show, as sentences.
    pub cannot_show: Vec<String>,
}

/// One search with what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSearch {
    /// The directory, as it was named.
    pub place: String,
    /// Name of the scenario.
    pub name: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// The metric that tells how good settings are, by name.
    pub metric: String,
    /// The answer in one word.
    pub outcome: SearchOutcome,
    /// The answer's main sentence.
    pub summary: String,
    /// Blocks of the search.
    pub blocks: usize,
    /// The trial of what is proposed; absent where there was none.
    pub proof: Option<ComparedProof>,
}

/// The trial of what a search proposes against the settings that it began with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedProof {
    /// The metric with the changes over the metric without.
    pub estimate_ratio: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// The verdict, all guards considered.
    pub verdict: Verdict,
    /// Pairs of blocks.
    pub pairs: u32,
}

/// What differs between two searches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchDifference {
    /// Its name, such as `objective`.
    pub what: String,
    /// In the first one; absent where it does not say.
    pub a: Option<String>,
    /// In the second one.
    pub b: Option<String>,
}

/// A setting that one of two searches would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSetting {
    /// Its name, such as `producer.linger.ms`.
    pub setting: String,
    /// What the first one makes of it; absent where it leaves it.
    pub a: Option<SettingStep>,
    /// What the second one makes of it.
    pub b: Option<SettingStep>,
}

/// A change of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingStep {
    /// The value that the scenario has.
    pub from: String,
    /// The value to give it.
    pub to: String,
    /// False for a candidate, which no trial has proven.
    pub proven: bool,
}
