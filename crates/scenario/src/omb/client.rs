//! What the client that drives the load does not take of an import: told at the keys that ask for it, and not once they were called taken.

use super::fate::{Fate, Fates, KeyFate};
use super::obstacles;
use plumb_load::LoadError;
use plumb_load::one_sided::PRODUCER;
use plumb_model::fault::UsageError;
use plumb_model::plan::{Origin, Plan, Properties, StepPlan};
use plumb_model::property::usual_name;

/// A property that a client refuses.
struct Refused {
    role: &'static str,
    name: String,
    reason: String,
}

/// Refuses the keys of which the client of an import's plan does not take what they come to.
///
/// # Errors
/// All that stands in the way, where anything does.
pub fn refuse_by_client(plan: &Plan, fates: &mut Fates) -> Result<(), UsageError> {
    let mut plan = plan.clone();
    for at in 0..plan.steps.len() {
        // The client tells one property at a time: without that one it tells the next.
        while let Some(refused) = refused(&plan.steps[at]) {
            let place = plan.place_of_property(at, refused.role, &refused.name).cloned();
            let (Some(place), true) = (place, leave_out(&mut plan.steps[at], &refused)) else { break };
            refuse(fates, &place, &refused);
        }
    }
    obstacles(fates, Vec::new()).map_or(Ok(()), Err)
}

/// Refuses the key at whose place something was refused for good: `d.yaml:10: what`. None where that is no key's place.
pub fn refuse_by_place(message: &str, fates: &mut Fates) -> Option<UsageError> {
    let found = fates.0.iter_mut().find_map(|key| {
        let reason = message.strip_prefix(&format!("{}: ", key.place))?.to_owned();
        Some((key, reason))
    });
    let (key, reason) = found?;
    key.fate = Fate::Refused { reason };
    obstacles(fates, Vec::new())
}

/// The first property that the clients of a step refuse; none where they take all, or refuse something else.
fn refused(step: &StepPlan) -> Option<Refused> {
    let error = plumb_load::block::check(step, &Properties::new()).err()?;
    match error {
        LoadError::Property { role: Some(role), key, reason, .. } => {
            Some(Refused { role, name: key, reason })
        }
        LoadError::OfOtherRole { role, key, of } => {
            let reason = format!("it is one of {of}s, and the client's {role}s ignore it");
            Some(Refused { role, name: key, reason })
        }
        LoadError::Properties { role: Some(role), reason } => {
            let own = if role == PRODUCER { &step.producer } else { &step.consumer };
            let name = own.keys().find(|key| reason.contains(&format!("`{}`", usual_name(key))))?;
            Some(Refused { role, name: name.clone(), reason })
        }
        _ => None,
    }
}

/// Takes a property out of a step, by whichever of its names it is there; false where it is not.
fn leave_out(step: &mut StepPlan, refused: &Refused) -> bool {
    let own = if refused.role == PRODUCER { &mut step.producer } else { &mut step.consumer };
    let before = own.len();
    own.retain(|key, _| usual_name(key) != usual_name(&refused.name));
    own.len() < before
}

fn refuse(fates: &mut Fates, place: &Origin, refused: &Refused) {
    let place = place.to_string();
    let comes_to = format!("{} ", refused.role);
    let is_it = |key: &&mut KeyFate| {
        let to = match &key.fate {
            Fate::Taken { to } | Fate::Translated { to, .. } => to,
            Fate::WithoutMeaning { .. } | Fate::Refused { .. } => return false,
        };
        key.place.to_string() == place && to.starts_with(&comes_to)
    };
    if let Some(key) = fates.0.iter_mut().find(is_it) {
        key.fate = Fate::Refused { reason: format!("the client does not take it: {}", refused.reason) };
    }
}
