//! The input and the result of every estimator of a trial.

use plumb_model::trial::TrialMethod;
use plumb_stats::ends::Ends;

/// The ratio of an arm to the arm that it is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) method: TrialMethod,
    pub(super) ratio: f64,
    /// Interval of the ratio at the trial's level; none while it has no end.
    pub(super) interval: Option<Ends>,
    /// The interval of the ratio for equivalence.
    pub(super) equivalence: Option<Ends>,
    pub(super) p: f64,
}

/// Confidence levels of the two intervals, 0..1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels {
    pub(super) interval: f64,
    pub(super) equivalence: f64,
}
