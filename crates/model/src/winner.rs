//! The setting that came out ahead of what it was held against, by the experiment's own verdicts.

use crate::trial::Good;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A step that was better than each other one that was held against it, beyond the noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Winner {
    /// Name of the step.
    pub step: String,
    /// Name of the step that it is told against: the reference, or the first of the others.
    pub against: String,
    /// The metric in which it was better, such as `end_to_end.mean`.
    pub metric: String,
    /// The good direction of that metric.
    pub good: Good,
    /// step / against.
    pub ratio: f64,
    /// Lower end of its interval.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// Confidence level of the interval, 0..1.
    pub level: f64,
    /// True if every other step of its load was compared with it, and is worse: no step of its load is as good then.
    pub beats_all: bool,
    /// Steps that were better than `against` as well, and that it was not shown to be better than.
    pub also_better: Vec<String>,
    /// The promises of durability and security by which it falls short of `against`, or may: empty where it is fit to be
    /// installed.
    pub weaker: Vec<String>,
}
