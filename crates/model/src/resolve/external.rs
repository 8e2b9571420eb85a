//! The conditions under which clients can be programs of their own.

use super::ResolveError;
use crate::plan::{Mode, Plan, StepPlan};

/// Refuses what an external driver cannot do.
pub(super) fn check(plan: &Plan) -> Result<(), ResolveError> {
    plan.steps.iter().enumerate().try_for_each(|(index, step)| check_step(plan, index, step))
}

fn check_step(plan: &Plan, index: usize, step: &StepPlan) -> Result<(), ResolveError> {
    let Some(external) = &step.external else { return Ok(()) };
    let refuse = |with: &str, reason| {
        let place = plan.origins.get(&format!("steps.{index}.driver"));
        Err(ResolveError::Conflict {
            place: place.map(|origin| format!("{origin}: ")).unwrap_or_default(),
            first: "driver".into(),
            second: with.into(),
            reason,
        })
    };
    let holds = matches!(step.load.mode, Mode::Consume | Mode::Backlog(_));
    if step.load.workers > 0 {
        refuse(
            "load.workers",
            "an external driver runs beside the program that gives it its orders: leave workers out",
        )
    } else if holds && external.consumer.is_external() {
        refuse(
            "load.mode",
            "an external consumer cannot be held back: use mode mixed, or {producer: ..., consumer: librdkafka}",
        )
    } else {
        Ok(())
    }
}
