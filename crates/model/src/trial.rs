//! A trial: arms that differ in something, run in interleaved pairs, and the verdict on each metric.
//!
//! [`TrialPlan`] is the part of a [`crate::plan::Plan`] that says what is held against what; [`TrialResult`] is what came
//! of it, worked out from the run document alone. The block is the unit of analysis, never the message.

use crate::finding::{Finding, earlier};
use crate::outcome::Outcome;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`TrialResult`]'s shape.
pub const TRIAL_SCHEMA_VERSION: u32 = 1;

/// Stands in an arm's differences for a value that the reference has and the arm leaves out.
pub const NOT_SET: &str = "(not set)";

/// The comparison of a trial: its arms, metrics and length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPlan {
    /// The arms, the reference first; each is a step of the plan, and so is [`TrialPlan::again`].
    pub arms: Vec<ArmPlan>,
    /// Index of the step that is the reference once more: its distance from the reference is the noise floor.
    pub again: usize,
    /// The pairs of arms: every arm with the reference, or each with each of equal load.
    pub against: Against,
    /// The metric that decides, by name.
    pub primary: String,
    /// Differences up to this count as none: 0.03 is 3 %, that is a ratio between 1/1.03 and 1.03.
    pub margin: f64,
    /// Stop as soon as it is decided, after each pair, by a test that stays valid however often one looks. The plan's
    /// blocks are the most pairs then.
    pub until_decided: bool,
    /// Brokers of a lab are started anew after so many pairs; 0: never. With 2 or more, pairs share a start, and the start is
    /// the unit of analysis.
    pub restart_every: u32,
    /// Verdicts with which the command ends well (exit code 0).
    pub accept: Vec<Verdict>,
}

/// One arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmPlan {
    /// Its name.
    pub name: String,
    /// Index of its step in the plan.
    pub step: usize,
    /// The differences from the reference, as `path: value`; empty for the reference.
    pub differences: BTreeMap<String, String>,
    /// A shell command before each of its blocks.
    pub before: Option<String>,
    /// A shell command after each of its blocks, however they end.
    pub after: Option<String>,
    /// Settings during its blocks: of this host's kernel, by sysctl name or by path under /proc/sys or /sys, and of running brokers
    /// (`broker:1:num.io.threads`); put back after each.
    pub host: BTreeMap<String, String>,
}

/// The pairs of arms that are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    /// Each arm against the first.
    #[default]
    Reference,
    /// Each arm against each of equal load that stands before it.
    EachOther,
}

/// The method of an estimate, its interval and its p.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialMethod {
    /// Hodges and Lehmann's estimate over the pairs' log ratios, with the exact signed-rank interval and p.
    #[default]
    SignedRank,
    /// The same estimate; interval and p by a sign e-process, which stay valid however often one looks and stops.
    SignEProcess,
    /// Student's t over the means of the brokers' starts: where the plan has several pairs on a start, the start is the unit.
    Starts,
    /// Signed ranks of the differences of shares, over pairs or starts: no ratio, as most of them are 0.
    Counts,
}

/// The role of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricRole {
    /// It decides.
    Primary,
    /// It may veto: an arm that is better by the primary metric and worse by this is not better.
    Guardrail,
    /// Shown beside; its p is adjusted for how many there are (Benjamini and Hochberg).
    Secondary,
}

/// The good direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Good {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// The result of a trial. `plumb trial run --output json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialResult {
    /// Shape of this document.
    pub schema_version: u32,
    /// The run's directory name and id, to find everything else.
    pub run_id: String,
    /// Its outcome, in one word: that of all arms together, with how the run itself ended.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// Name of the scenario.
    pub name: String,
    /// Seed of the order and of everything else random.
    pub seed: u64,
    /// The arms, the reference first.
    pub arms: Vec<ArmResult>,
    /// Rounds in which every arm has a whole block and that no rule excludes.
    pub pairs: u32,
    /// Rounds planned: the most, where the trial stops when decided.
    pub pairs_planned: u32,
    /// Rounds left out, each with its reason.
    pub excluded: Vec<ExcludedPair>,
    /// Every comparison, the primary metric first.
    pub metrics: Vec<MetricResult>,
    /// Of the primary metric: a difference between equal arms of up to this ratio (at least 1) is what this setup makes
    /// by itself; absent with too few pairs.
    pub noise_floor_ratio: Option<f64>,
    /// The differences of the reference from itself; the first is the primary metric.
    pub noise_floor: Vec<MetricResult>,
    /// Differences of durability or security between arms, to be said before anything else; empty when there are none.
    pub unequal_guarantees: Vec<String>,
    /// The verdict on each arm but the reference (each pair of arms, where each is held against each).
    pub verdicts: Vec<ArmVerdict>,
    /// For a person: at most three sentences.
    pub summary: Vec<String>,
    /// What a reader must know before relying on it: too few pairs, noise, a drift, brokers that differ by their starts. Older documents
    /// have sentences, as `caveats`.
    #[serde(alias = "caveats", deserialize_with = "earlier::findings")]
    pub findings: Vec<Finding>,
}

/// One arm, with what it really was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmResult {
    /// Its name.
    pub name: String,
    /// The differences from the reference, as `path: value`, as asked for.
    pub differences: BTreeMap<String, String>,
    /// The same as read back from client, topic, broker and host: effective settings that differ from the reference's.
    pub effective_differences: BTreeMap<String, String>,
    /// Whole blocks of it.
    pub blocks: u32,
    /// Time cut from its blocks as warm-up beyond what was planned: mean, in seconds.
    pub warm_up_cut_mean_s: Option<f64>,
}

/// A round that is left out of every comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedPair {
    /// The round, from 0.
    pub round: u32,
    /// The rule and what it saw.
    pub reason: String,
    /// The steps in whose blocks it was seen; empty in a document of a version that did not note it.
    #[serde(default)]
    pub seen_in: Vec<String>,
}

/// One metric of one arm against another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// Such as `end_to_end.p99`.
    pub name: String,
    /// Unit of the values, such as `ns` or `1/s`.
    pub unit: String,
    /// Its role.
    pub role: MetricRole,
    /// The good direction.
    pub good: Good,
    /// The arm.
    pub arm: String,
    /// The arm that it is compared with.
    pub against: String,
    /// arm / against: the Hodges-Lehmann estimate over the pairs, or the geometric mean over starts; absent where it cannot be
    /// told.
    pub estimate_ratio: Option<f64>,
    /// Lower end of its interval.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// Confidence level of the interval.
    pub level: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The smallest ratio above 1 that so many pairs, or starts where they are the units, of this spread show with a chance of
    /// 80 %; of a primary metric with all comparisons of the trial allowed for, as its verdict does. Absent where so many
    /// can show none.
    pub smallest_detectable_ratio: Option<f64>,
    /// Two-sided p of a ratio other than 1, by the method: exact over the random order within pairs for ranks.
    pub p: Option<f64>,
    /// The p that decides: for primary metrics p with Holm's allowance for the other arms, for secondary ones with Benjamini and
    /// Hochberg's. A guardrail's is its p itself: allowing for the others would let harm pass.
    pub p_adjusted: Option<f64>,
    /// The method of estimate, interval and p.
    pub method: TrialMethod,
    /// Pairs behind it.
    pub pairs: u32,
    /// Starts of the brokers behind it, where they are the units of its estimate, interval and p; absent where pairs are.
    pub starts: Option<u32>,
    /// Median over the pairs' blocks of what it is held against, in the metric's unit.
    pub against_median: Option<f64>,
    /// Median over the arm's blocks.
    pub arm_median: Option<f64>,
    /// The pairs, in the order of their rounds: (round, against, arm).
    #[schemars(with = "Vec<(u32, f64, f64)>")]
    pub values: Vec<PairValues>,
    /// The reason why there is no estimate; absent where there is one.
    pub absent: Option<String>,
    /// The most by which any block's value may be off, in the metric's unit, because it lies between workers' clocks whose difference is
    /// known to a band: the interval and p hold wherever within it the truth is. Absent where all values are of one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error: Option<f64>,
}

/// The values of one metric in the two blocks of one pair; in a document an array of round, against and arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u32, f64, f64)", into = "(u32, f64, f64)")]
pub struct PairValues {
    /// The round of both blocks, from 0.
    pub round: u32,
    /// The value of the arm that is the denominator of the ratio, in the metric's unit.
    pub against: f64,
    /// The value of the arm, in the metric's unit.
    pub arm: f64,
}

impl PairValues {
    /// arm / against; not finite, or 0, where either value is 0.
    pub fn ratio(&self) -> f64 {
        self.arm / self.against
    }
}

impl From<(u32, f64, f64)> for PairValues {
    fn from((round, against, arm): (u32, f64, f64)) -> Self {
        PairValues { round, against, arm }
    }
}

impl From<PairValues> for (u32, f64, f64) {
    fn from(pair: PairValues) -> Self {
        (pair.round, pair.against, pair.arm)
    }
}

/// The verdict on an arm, all metrics taken together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmVerdict {
    /// The arm.
    pub arm: String,
    /// The arm that it is compared with.
    pub against: String,
    /// By the primary metric, unless a guardrail vetoes.
    pub verdict: Verdict,
    /// Guardrails that took "better" or "equivalent" away, each as a sentence.
    pub vetoes: Vec<String>,
    /// The reason why it is undecided, and what would decide it, in one sentence; absent for every other verdict.
    pub reason: Option<String>,
}
