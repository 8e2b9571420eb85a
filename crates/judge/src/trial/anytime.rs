//! Estimate, interval and p that stay valid when a trial looks after every pair and stops as soon as it is decided.
//!
//! A fixed-number interval that is looked at again and again excludes the truth sooner or later; stopping by one is therefore
//! nowhere in this program. Here a sign e-process bets on the signs of the log ratios: were the arms equal, its value would reach
//! 1/alpha with a chance of alpha at most, however long one looks (Ville). The interval has every ratio against which the bets
//! never won so much.

use super::estimate::{Estimate, Levels};
use plumb_model::trial::TrialMethod;
use plumb_stats::e_process::{Direction, SignEProcess};
use plumb_stats::ends::Ends;
use plumb_stats::median::median;
use plumb_stats::signed_rank::hodges_lehmann;

/// Ratios tried on each side of the estimate for the interval's ends; an end is put on the next one outside.
const GRID: i32 = 400;

/// The reach of the ratios that are tried, in largest distances of a pair from the estimate: farther out nothing changes, as
/// every sign is the same and every distance about equal.
const REACH: f64 = 4.0;

/// Estimate, interval and p of log ratios, valid at any stopping time.
pub(super) fn estimate(logs: &[f64], levels: Levels) -> Option<Estimate> {
    let location = hodges_lehmann(logs, levels.interval)?;
    Some(Estimate {
        method: TrialMethod::SignEProcess,
        ratio: location.estimate.exp(),
        interval: interval(logs, 1.0 - levels.interval).map(Ends::exp),
        equivalence: interval(logs, 1.0 - levels.equivalence).map(Ends::exp),
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

/// The chance, valid at any look, that equal arms would have differed so much towards harm: in differences above 0.
pub(super) fn harm_p(differences: &[f64]) -> f64 {
    let mut process = SignEProcess::towards(Direction::Up);
    differences.iter().for_each(|difference| {
        process.push(*difference);
    });
    process.anytime_p()
}

/// Log ratios that were never rejected at alpha, as an interval; none while it is without end.
pub(super) fn interval(logs: &[f64], alpha: f64) -> Option<Ends> {
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
    (low > -GRID && high < GRID).then(|| Ends { low: at(low - 1), high: at(high + 1) })
}
