//! The moment at which a trial that looks after every pair may stop.

use super::doubts::{self, Claim};
use super::unit::Unit;
use super::values::{log_ratios, values};
use super::{Opponents, Trial, anytime, counts};
use plumb_model::document::RunDocument;
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;
use plumb_stats::ends::Ends;
use plumb_stats::median::median;

/// The reason why a trial that is to stop when decided may stop now, as a sentence. None where it goes on, where it is of a fixed
/// number of pairs, or where pairs share starts of the brokers: that method is of a fixed number, and no plan has both.
pub fn decided(document: &RunDocument) -> Option<String> {
    let trial = Trial::of(document)?;
    if trial.unit() != Unit::PairLookedAt {
        return None;
    }
    let opponents = trial.opponents();
    let alpha = (1.0 - trial.level) / opponents.len().max(1) as f64;
    let reasons = opponents.iter().map(|of| reason(&trial, *of, alpha));
    let reasons: Vec<String> = reasons.collect::<Option<_>>()?;
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn reason(trial: &Trial, of: Opponents, alpha: f64) -> Option<String> {
    let Opponents { arm, against } = of;
    let logs = log_ratios(&values(trial, trial.primary()?, of));
    let margin = (1.0 + trial.plan.margin).ln();
    let pair = format!("\"{}\" and \"{}\"", arm.name, against.name);
    let pairs = logs.len();
    // What is doubted is not decided: more pairs may settle it.
    let ratio = anytime::interval(&logs, alpha).map(Ends::exp);
    let doubted = |verdict| !doubts::doubts(trial, of, Claim::of(verdict, ratio)).is_empty();
    let within =
        anytime::interval(&logs, 2.0 * alpha).is_some_and(|it| it.low >= -margin && it.high <= margin);
    if within && !doubted(Verdict::Equivalent) {
        return Some(format!("{pair} are equivalent after {pairs} pairs"));
    }
    if !within && anytime::p(&logs) <= alpha && !doubted(direction(&logs, trial.primary()?.good)) {
        return Some(format!("{pair} differ after {pairs} pairs"));
    }
    let harmed =
        counts::guards().find(|guard| anytime::harm_p(&counts::differences(trial, guard, of)) <= alpha)?;
    Some(format!("\"{}\" has more {} than \"{}\" after {pairs} pairs", arm.name, harmed.words, against.name))
}

/// The direction of pairs that differ: better or worse.
fn direction(logs: &[f64], good: Good) -> Verdict {
    let lower = median(logs.iter().copied()).is_some_and(|middle| middle < 0.0);
    match lower == (good == Good::Lower) {
        true => Verdict::Better,
        false => Verdict::Worse,
    }
}
