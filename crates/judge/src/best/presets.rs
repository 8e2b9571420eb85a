//! Settings that are known to suit some loads, once each in random order, and the settings that there are again.

use super::*;

/// The part of the random choices.
const ORDER: u64 = 1;

/// The next preset that may be tried.
pub(super) fn step(state: &State) -> Option<Next> {
    if state.has(BestPurpose::Explore) || state.has(BestPurpose::Race) {
        return None;
    }
    let plan = state.plan;
    let explores = plan.budget >= EXPLORING_LEAST;
    // With a budget that explores, room for the settings that there are once more.
    let end = plan.race_from().saturating_sub(usize::from(explores));
    let tried: Vec<&Point> = state.of(BestPurpose::Preset).map(|tried| &tried.point).collect();
    let mut left = order(state)
        .into_iter()
        .filter(|preset| !(tried.contains(&preset) || explores && state.waits_too_long(preset)));
    if let Some(preset) = left.next().filter(|_| state.tries.len() < end && !state.has(BestPurpose::Default))
    {
        return Some(state.attempt(&preset, BestPurpose::Preset));
    }
    (explores && state.has_reference() && !tried.is_empty() && !state.has(BestPurpose::Default))
        .then(|| state.attempt(&plan.default, BestPurpose::Default))
}

/// Each once, less the settings that there are and those that are ruled out.
fn order(state: &State) -> Vec<Point> {
    let allowed = state.allowed();
    let mut presets = allowed.presets();
    presets.retain(|preset| *preset != state.plan.default && allowed.may_try(preset));
    state.random(ORDER).shuffle(&mut presets);
    presets
}
