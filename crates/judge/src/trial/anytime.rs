//! What stays valid when one looks after every pair and stops as soon as it is decided.
//!
//! A fixed-number interval that is looked at again and again excludes the truth sooner or later; stopping by one is
//! therefore nowhere in this program. Here a sign e-process bets on the signs of the log ratios: were arm and opponent
//! equal, its value would reach 1/alpha with a chance of alpha at most, however long one looks (Ville). The interval
//! has every ratio against which the bets never won so much.

use super::doubts::{self, Claim};
use super::pairs::{Estimate, Levels, log_ratios, values};
use super::unit::Unit;
use super::{Arm, Trial, counts};
use plumb_model::document::RunDocument;
use plumb_model::trial::{Good, TrialMethod};
use plumb_model::verdict::Verdict;
use plumb_stats::e_process::{Direction, SignEProcess};
use plumb_stats::median::median;
use plumb_stats::signed_rank::hodges_lehmann;

/// Ratios tried on each side of the estimate for the interval's ends; an end is put on the next one outside.
const GRID: i32 = 400;

/// How far the trials reach, in largest distances of a pair from the estimate: farther out nothing changes, as every sign is
/// the same and every distance about equal.
const REACH: f64 = 4.0;

/// Whether a trial that is to stop when decided may stop now, and why; none where it goes on, where it is of a fixed
/// number of pairs, or where pairs share starts of the brokers: that method is of a fixed number, and no plan has both.
pub fn decided(document: &RunDocument) -> Option<String> {
    let trial = Trial::of(document)?;
    if trial.unit() != Unit::PairLookedAt {
        return None;
    }
    let opponents = trial.opponents();
    let alpha = (1.0 - trial.level) / opponents.len().max(1) as f64;
    let reasons = opponents.iter().map(|(arm, against)| reason(&trial, (arm, against), alpha));
    let reasons: Vec<String> = reasons.collect::<Option<_>>()?;
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn reason(trial: &Trial, (arm, against): (&Arm, &Arm), alpha: f64) -> Option<String> {
    let logs = log_ratios(&values(trial, trial.primary()?, (arm, against)));
    let margin = (1.0 + trial.plan.margin).ln();
    let pair = format!("\"{}\" and \"{}\"", arm.name, against.name);
    let pairs = logs.len();
    // What is doubted is not decided: more pairs may settle it.
    let ratio = interval(&logs, alpha).map(|(low, high)| (low.exp(), high.exp()));
    let doubted = |verdict| !doubts::doubts(trial, (arm, against), Claim::of(verdict, ratio)).is_empty();
    let within = interval(&logs, 2.0 * alpha).is_some_and(|(low, high)| low >= -margin && high <= margin);
    if within && !doubted(Verdict::Equivalent) {
        return Some(format!("{pair} are equivalent after {pairs} pairs"));
    }
    if !within && p(&logs) <= alpha && !doubted(direction(&logs, trial.primary()?.good)) {
        return Some(format!("{pair} differ after {pairs} pairs"));
    }
    let harmed = counts::GUARDS
        .iter()
        .find(|guard| harm_p(&counts::differences(trial, guard, (arm, against))) <= alpha)?;
    Some(format!("\"{}\" has more {} than \"{}\" after {pairs} pairs", arm.name, harmed.words, against.name))
}

/// Which of better and worse pairs that differ show.
fn direction(logs: &[f64], good: Good) -> Verdict {
    let lower = median(logs.iter().copied()).is_some_and(|middle| middle < 0.0);
    match lower == (good == Good::Lower) {
        true => Verdict::Better,
        false => Verdict::Worse,
    }
}

/// Estimate, interval and p of log ratios, valid at any stopping time.
pub(super) fn estimate(logs: &[f64], levels: Levels) -> Option<Estimate> {
    let location = hodges_lehmann(logs, levels.interval)?;
    let ratios = |interval: (f64, f64)| (interval.0.exp(), interval.1.exp());
    Some(Estimate {
        method: TrialMethod::SignEProcess,
        ratio: location.estimate.exp(),
        interval: interval(logs, 1.0 - levels.interval).map(ratios),
        equivalence: interval(logs, 1.0 - levels.equivalence).map(ratios),
        p: p(logs),
    })
}

/// Chance that equal arms would have been told apart so clearly at any look so far.
pub(super) fn p(logs: &[f64]) -> f64 {
    let mut process = SignEProcess::new();
    logs.iter().for_each(|log| {
        process.push(*log);
    });
    process.anytime_p()
}

/// The same for harm alone: differences above 0.
fn harm_p(differences: &[f64]) -> f64 {
    let mut process = SignEProcess::towards(Direction::Up);
    differences.iter().for_each(|difference| {
        process.push(*difference);
    });
    process.anytime_p()
}

/// Log ratios that were never rejected at alpha, as an interval; none while it is without end.
fn interval(logs: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let centre = median(logs.iter().copied())?;
    let spread = logs.iter().map(|log| (log - centre).abs()).fold(0.0, f64::max);
    if spread == 0.0 {
        return None;
    }
    let at = |step: i32| centre + REACH * spread * f64::from(step) / f64::from(GRID);
    let rejected = |step: i32| {
        let shifted: Vec<f64> = logs.iter().map(|log| log - at(step)).collect();
        p(&shifted) <= alpha
    };
    // From outside inwards: what is in is never cut off by a rejection between two that are not.
    let low = (-GRID..=GRID).find(|step| !rejected(*step))?;
    let high = (-GRID..=GRID).rev().find(|step| !rejected(*step))?;
    (low > -GRID && high < GRID).then(|| (at(low - 1), at(high + 1)))
}
