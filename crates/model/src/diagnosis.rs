//! The diagnosis of a path: its stages, the causes that were found in them, and how near each limit is.

use crate::finding::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a diagnosis.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Diagnosis {
    /// The one paragraph that a reader needs.
    pub summary: String,
    /// The verdict.
    pub verdict: DiagnosisVerdict,
    /// Mean time by stage of what clients wait for, in the order of the path.
    pub stages: Vec<PathStageTime>,
    /// Causes, largest share of the gap first.
    pub findings: Vec<Cause>,
    /// The limits of the path, nearest first.
    pub bounds: Vec<PathBound>,
    /// The observations to collect where there is not enough evidence; empty otherwise.
    pub collect: Vec<String>,
}

/// The verdict of a diagnosis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosisVerdict {
    /// At least one cause is supported or confirmed.
    Bound,
    /// Nothing holds the path back at this load.
    Healthy,
    /// Something is slow, and what was seen does not tell what.
    #[default]
    NotEnoughEvidence,
}

/// Mean time in one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathStageTime {
    /// `client_queue`, `client_send`, `unexplained`, `request_queue`, `local`, `remote`, `response_queue`, `send`, `fetch`.
    pub name: String,
    /// Mean; absent when it cannot be known from what was seen.
    pub mean_ns: Option<f64>,
    /// Its share of the sum of the known ones, 0 to 1.
    pub share: Option<f64>,
    /// The source of the figure, or the reason why it is absent.
    pub source: String,
}

/// A cause: a finding with its part of what is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The finding, with confidence, stage, evidence, advice and flip.
    #[serde(flatten)]
    pub finding: Finding,
    /// The first thing to do: the first of the finding's `advice`. Absent in documents of earlier versions, and where there is none.
    #[serde(default)]
    pub fix: Option<String>,
    /// The part of the time that clients wait, or of the limit's use, that it explains, 0 to 1; absent where it has no such measure.
    pub share_of_gap: Option<f64>,
    /// Causes of which it is a consequence, by id: named after them.
    #[serde(default)]
    pub consequence_of: Vec<String>,
    /// Causes with the same symptom, by id: what tells it from them was looked at.
    #[serde(default)]
    pub rivals: Vec<String>,
    /// The change that was made to prove it, with its result; absent without a confirmation.
    #[serde(default)]
    pub confirmation: Option<Confirmation>,
}

/// The result of a flip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confirmation {
    /// The change, in words.
    pub change: String,
    /// The metric that was compared, such as `acknowledge.mean`.
    pub metric: String,
    /// With the setting as it is.
    pub before_ns: f64,
    /// With the setting changed.
    pub after_ns: f64,
    /// Lower end of the interval of changed over as it is.
    pub ratio_low: f64,
    /// Upper end of it.
    pub ratio_high: f64,
    /// The result for the finding.
    pub outcome: ConfirmationOutcome,
}

/// The result of a flip for a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationOutcome {
    /// The metric moved as the finding says.
    Holds,
    /// It did not move that way by as much as would matter.
    DoesNotHold,
    /// The interval is too wide, or the run was not valid: neither can be said.
    Undecided,
}

/// One limit of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathBound {
    /// `aes`, `device_write`, `fsync`, `network`, `memory`, `cpu`, `cpu_per_byte`, `connection`, `network_threads`, `handlers`.
    pub name: String,
    /// The limit.
    pub limit: f64,
    /// What was measured.
    pub measured: f64,
    /// The unit of both.
    pub unit: String,
    /// The source of the limit.
    pub source: String,
}
