//! Claims about the system or about the run, each with its evidence, and verdicts of comparisons.

pub(crate) mod earlier;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The meaning of a finding for the run's figures.
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

/// How sure a claim is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A sign of it was seen that may well have another cause.
    Suspected,
    /// What was measured agrees with it, and something that was not measured is still taken for granted.
    Supported,
    /// It is itself what was counted, read back or told, or what an experiment showed.
    Confirmed,
}

/// A stage of the path, or what stands beside it, that a finding concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathStage {
    /// The producer's client: its queue and its batches.
    ClientQueue,
    /// The network between client and broker, with encryption.
    Network,
    /// The broker: its threads and its requests.
    Broker,
    /// The log and the device under it.
    Log,
    /// Followers and what they promise.
    Replication,
    /// The consumers' side.
    Fetch,
    /// Plumb itself.
    Instrument,
    /// The machine, whoever works on it.
    Host,
    /// No part of the path: what is held against each other, and how.
    Comparison,
}

/// A claim, the observations that it rests on, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable identifier; `plumb explain ID` has a page for it.
    pub id: String,
    /// Its meaning for the figures.
    pub severity: Severity,
    /// How sure it is; absent in documents of earlier versions.
    #[serde(default)]
    pub confidence: Option<Confidence>,
    /// The stage of the path that it concerns; absent where it concerns none, and in documents of earlier versions.
    #[serde(default)]
    pub stage: Option<PathStage>,
    /// The step that it is about; absent when about the whole run.
    pub step: Option<String>,
    /// One sentence.
    pub claim: String,
    /// The observations, each with its value.
    pub evidence: Vec<Evidence>,
    /// The next steps, one sentence each.
    pub advice: Vec<String>,
    /// The experiment that would prove it; absent where nothing is left to prove, where nothing can be tried, and in documents of
    /// earlier versions.
    #[serde(default)]
    pub flip: Option<Flip>,
}

impl Finding {
    /// A claim with nothing but its gravity.
    pub fn new(id: &str, severity: Severity, claim: String) -> Self {
        Finding {
            id: id.to_owned(),
            severity,
            confidence: None,
            stage: None,
            step: None,
            claim,
            evidence: Vec::new(),
            advice: Vec::new(),
            flip: None,
        }
    }
}

/// A counterfactual: what to change, and what should then be seen if the finding is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// What to change, as an order without a full stop.
    pub change: String,
    /// The same as a setting that an arm of a trial can have; absent where it is none.
    pub setting: Option<FlipSetting>,
    /// What to look at: a metric's name, or an observation in words.
    pub observe: String,
    /// What it should then do.
    pub expect: Expect,
}

/// A setting of an arm of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlipSetting {
    /// Its key, the words of a scenario with dots between them: `producer.linger.ms`.
    pub path: String,
    /// Its value.
    pub value: String,
}

/// What an observation should do when a finding is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// It becomes smaller.
    Falls,
    /// It becomes larger.
    Rises,
    /// It is no longer there.
    Gone,
    /// It is as it was.
    Stays,
}

/// One observation that a finding rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The observation, as a path into the document or a name.
    pub what: String,
    /// Its value, with unit, as text.
    pub value: String,
    /// The value that it was compared with, with unit, as text.
    pub expected: Option<String>,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Nothing speaks against the comparison.
    Passed,
    /// To be kept in mind; the comparison stands.
    Warning,
    /// The comparison must not be relied on.
    Failed,
    /// It could not be told.
    Unknown,
}

/// A look for something that would make a comparison wrong. It is shown also when it holds; a finding where it does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Stable identifier; `plumb explain ID` has a page for it. Older documents call it `name`, with underscores.
    #[serde(alias = "name", deserialize_with = "earlier::id")]
    pub id: String,
    /// Its outcome.
    pub outcome: CheckOutcome,
    /// The quantity and its value, one sentence.
    pub statement: String,
    /// Its p, where it is a test.
    pub p: Option<f64>,
}

/// The verdict on a run's figures.
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

impl ValidityVerdict {
    /// `valid`, `suspect`, `invalid`.
    pub fn word(self) -> &'static str {
        match self {
            ValidityVerdict::Valid => "valid",
            ValidityVerdict::Suspect => "suspect",
            ValidityVerdict::Invalid => "invalid",
        }
    }
}

/// The verdict on a run, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// The worst of the reasons.
    pub verdict: ValidityVerdict,
    /// Every finding about the run itself, gravest first.
    pub reasons: Vec<Finding>,
}

/// The verdict of a comparison of two steps.
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
    /// The verdict.
    pub verdict: ComparisonVerdict,
    /// Differences of durability between the two, to be said first; empty when equal.
    pub durability_differences: Vec<String>,
    /// Parts of durability that only one of the two tells, as `replication: 3 / not known`: nothing says that they differ. Absent in documents
    /// of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability_not_known: Vec<String>,
}
