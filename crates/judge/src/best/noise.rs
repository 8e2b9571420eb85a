//! How far equal blocks differ: the settings that there are, at first and again.

use super::*;

/// Blocks of the settings that there are at the start, which no search ends before; twice as many when the first two do not agree.
pub const BLOCKS: usize = 2;

/// A search whose race would not show a halving of the objective is not worth its blocks.
const GAIN_LEAST: f64 = 0.5;

/// Failed blocks after which settings of which none could be measured are given up.
const FAILURES_MOST: usize = 3;

/// Standard errors of a mean that four of five searches show beyond a threshold.
pub(super) const POWER_Z: f64 = 0.84;

/// What runs in each round of a race where nothing is dropped: three candidates and the settings that there are.
const ENTRANTS: usize = 4;

/// Blocks of the settings that there are, until it is known whether the budget can show anything.
pub(super) fn step(state: &State) -> Option<Next> {
    let plan = state.plan;
    if plan.budget < BLOCKS + 1 + race::BLOCKS_LEAST {
        return Some(state.ended(BestEnding::TooFewBlocks));
    }
    let attempt = || Some(state.attempt(&plan.default, BestPurpose::Noise));
    let blocks = state.of(BestPurpose::Noise).count();
    let first: Vec<f64> =
        state.of(BestPurpose::Noise).filter_map(|tried| tried.outcome.ln_objective()).collect();
    if first.is_empty() {
        return match blocks {
            // Presets tell whether anything runs at all.
            FAILURES_MOST.. => None,
            _ => attempt(),
        };
    }
    if blocks < BLOCKS || first.len() < BLOCKS && blocks < 2 * BLOCKS {
        return attempt();
    }
    let noisy = |sd: f64| smallest_gain(sd, plan) < GAIN_LEAST;
    match spread_of(&first) {
        Some(sd) if noisy(sd) && blocks < 2 * BLOCKS => attempt(),
        Some(sd) if noisy(sd) => Some(state.before(BestPurpose::Preset).ended(BestEnding::TooNoisy)),
        _ => None,
    }
}

/// Standard deviation of the logarithm of the objective between blocks of the settings that there are.
pub(super) fn spread(state: &State) -> Option<f64> {
    spread_of(&state.ln_objectives(&state.plan.default))
}

/// The smallest gain that a race of this budget shows in four of five searches, as a ratio.
pub(super) fn smallest_gain(sd: f64, plan: &BestPlan) -> f64 {
    let rounds = (plan.race_blocks() as f64 / ENTRANTS as f64).max(race::ROUNDS_LEAST as f64);
    let error = sd * (2.0 / rounds).sqrt();
    (-(race::gain_needed(error) + POWER_Z * error)).exp()
}

/// From the differences of all pairs, so that one burst among three blocks or more does not decide: the lower quartile of
/// their sizes over that of a normal law of variance 2 (Rousseeuw and Croux 1993).
fn spread_of(logs: &[f64]) -> Option<f64> {
    let mut gaps: Vec<f64> =
        logs.iter().enumerate().flat_map(|(i, a)| logs[..i].iter().map(move |b| (a - b).abs())).collect();
    gaps.sort_by(f64::total_cmp);
    let quartile = gaps.get(gaps.len() / 4)?;
    Some(match gaps.len() {
        // The median size of one difference.
        1 => quartile / 0.954,
        _ => quartile / 0.451,
    })
}
