//! Configs of a topic that would refuse the load's own records: better known before there is a topic.

use super::ResolveError;
use super::trail::Trail;
use crate::plan::{Keys, StepPlan, TopicPlan};
use crate::property::{same_value, usual_name};

/// Refuses configs of an own topic with which the broker would take none of the step's records.
///
/// `place`: where a value was written.
pub(super) fn check(step: &StepPlan, at: &str, trail: &Trail) -> Result<(), ResolveError> {
    let TopicPlan::Own { configs, .. } = &step.topic else { return Ok(()) };
    let place = |key: &str| {
        let origin = trail.origins.get(&format!("{at}.topic.configs.{key}"));
        origin.map(|origin| format!("{origin}: ")).unwrap_or_default()
    };
    let compacts = configs.get("cleanup.policy").is_some_and(|policy| policy.contains("compact"));
    if compacts && step.load.keys == Keys::None {
        return Err(ResolveError::Conflict {
            place: place("cleanup.policy"),
            first: "topic.configs.cleanup.policy: compact".to_owned(),
            second: "load.keys: none".to_owned(),
            reason: "a compacted topic takes only records that have a key",
        });
    }
    let limit = configs.get("max.message.bytes").and_then(|limit| limit.parse::<u64>().ok());
    let largest = step.load.size.largest().0;
    if let Some(limit) = limit.filter(|limit| *limit < largest && !compresses(step)) {
        return Err(ResolveError::OutOfBounds {
            place: place("max.message.bytes"),
            path: "topic.configs.max.message.bytes".to_owned(),
            got: limit.to_string(),
            expected: format!("more than {largest}, the largest value of the load"),
            reason: "the broker refuses a batch that is larger",
        });
    }
    Ok(())
}

/// True if batches may be smaller than their records.
fn compresses(step: &StepPlan) -> bool {
    let kind = step.producer.iter().find(|(key, _)| usual_name(key) == "compression.type");
    kind.is_some_and(|(_, value)| !same_value(value, "none"))
}
