//! The goal of a search.

use super::ResolveError;
use super::trail::Trail;
use crate::plan::{Goal, GoalLatency, Length, Mode, StepPlan};
use crate::scenario::GoalWords;

/// The latency that a goal is about, where the words leave it open: what the load shows. `path`: where the goal stands.
pub(super) fn goal(
    path: &str,
    words: Option<GoalWords>,
    steps: &[StepPlan],
    trail: &mut Trail,
) -> Result<Option<Goal>, ResolveError> {
    let Some(words) = words else { return Ok(None) };
    let place = trail.sources.get(path).map(|origin| format!("{origin}: ")).unwrap_or_default();
    let consumed = steps.iter().all(|step| step.load.consumers > 0);
    let conflict = |second: &str, reason| {
        Err(ResolveError::Conflict {
            place: place.clone(),
            first: path.to_owned(),
            second: second.to_owned(),
            reason,
        })
    };
    if !consumed && words.latency == Some(GoalLatency::EndToEnd) {
        return conflict("load.consumers: 0", "end-to-end latency ends at a consumer");
    }
    if steps.iter().any(|step| !matches!(step.load.mode, Mode::Mixed | Mode::Produce)) {
        return conflict("load.mode", "a latency holds or not while messages are produced at a rate");
    }
    if steps.iter().any(|step| matches!(step.load.length, Length::Count(_))) {
        return conflict("load.count", "a search tries many rates, and each for a time: say load.duration");
    }
    let latency =
        words.latency.unwrap_or(if consumed { GoalLatency::EndToEnd } else { GoalLatency::Acknowledge });
    let goal = Goal { latency, quantile: words.quantile, limit: words.limit };
    Ok(trail.scenario(path, Some(Some(goal)), || None))
}
