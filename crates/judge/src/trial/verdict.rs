//! The verdict of one comparison, by its estimate alone.
//!
//! Equivalent: two one-sided tests, the interval of level 1 - 2 alpha lies within the margin. Else better or worse where the
//! adjusted p is at most alpha. Else undecided: "not significant" is never "no change". Not here: what takes a verdict away
//! (`verdicts`, `doubts`).

use super::pairs::Compared;
use super::{Trial, counts};
use plumb_model::trial::{Good, MetricRole, TrialMethod};
use plumb_model::verdict::Verdict;

/// Rounding of an exact p.
const P_ROUNDING: f64 = 1e-12;

/// The comparison with its verdict, once its adjusted p is known. Counts have theirs already, but for what one that decides is allowed for.
pub(super) fn with_verdict(trial: &Trial, mut compared: Compared) -> Compared {
    let result = &compared.result;
    compared.result.verdict = match (result.method, result.role) {
        (TrialMethod::Counts, MetricRole::Primary) => counts::allowed(result),
        (TrialMethod::Counts, _) => result.verdict,
        _ => verdict(trial, &compared),
    };
    compared
}

fn verdict(trial: &Trial, compared: &Compared) -> Verdict {
    let most = 1.0 + trial.plan.margin;
    if compared.equivalence.is_some_and(|ends| ends.low >= 1.0 / most && ends.high <= most) {
        return Verdict::Equivalent;
    }
    let result = &compared.result;
    let (Some(ratio), Some(p)) = (result.estimate_ratio, result.p_adjusted) else {
        return Verdict::Undecided;
    };
    if p > 1.0 - trial.level + P_ROUNDING || ratio == 1.0 {
        return Verdict::Undecided;
    }
    match (ratio < 1.0) == (result.good == Good::Lower) {
        true => Verdict::Better,
        false => Verdict::Worse,
    }
}
