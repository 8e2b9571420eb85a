//! Changes put back, the last one first. What somebody else has changed since is left and told.

use crate::host::Host;
use crate::journal::{Cause, Journal, JournalError, JournalState, Record, Restored, StepState};
use crate::steps;
use jiff::Timestamp;

/// What became of changes that were to be put back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reverted {
    /// Each change that was looked at, in the order in which that was done.
    pub steps: Vec<RevertedStep>,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct RevertedStep {
    /// The setting's name.
    pub setting: String,
    /// Its value before the change.
    pub before: Option<String>,
    /// What became of it.
    pub outcome: Restored,
}

impl Reverted {
    /// Those that are not as they were before.
    pub fn left(&self) -> impl Iterator<Item = &RevertedStep> {
        self.steps.iter().filter(|step| !matches!(step.outcome, Restored::Restored | Restored::Unchanged))
    }

    /// In words: `all 3 changes before it were put back`.
    pub fn words(&self) -> String {
        let left: Vec<&str> = self.left().map(|step| step.setting.as_str()).collect();
        match (self.steps.len(), &left[..]) {
            (0, _) => "nothing was changed".to_owned(),
            (1, []) => "the one change that was begun is put back".to_owned(),
            (all, []) => format!("all {all} changes that were begun are put back"),
            (all, left) => format!(
                "{} of {all} changes that were begun are put back, not {}",
                all - left.len(),
                left.join(", ")
            ),
        }
    }
}

/// Puts back all that a journal's changes left. Each is tried whatever became of the others, and also where it can no longer be written down:
/// a full disk must not keep a host changed. Doing it twice is the same as once.
///
/// # Errors
/// Where it could not be written down, after all of it was tried.
pub fn revert(host: &Host, journal: &mut Journal, cause: Cause) -> Result<Reverted, JournalError> {
    let outstanding: Vec<StepState> = journal.state().outstanding().rev().cloned().collect();
    let mut reverted = Reverted::default();
    let mut written = journal.append(Record::Reverting { at: Timestamp::now(), cause });
    for step in outstanding {
        let outcome = steps::restore(host, &step);
        let record = Record::Restored { step: step.step, outcome: outcome.clone() };
        written = written.and_then(|()| journal.append(record));
        reverted.steps.push(RevertedStep::of(&step, outcome));
    }
    written?;
    if journal.state().outstanding().next().is_none() {
        journal.append(Record::Reverted { at: Timestamp::now() })?;
    }
    Ok(reverted)
}

/// Puts back what a journal said before it was lost.
pub(crate) fn revert_without_journal(host: &Host, state: &JournalState) -> Reverted {
    let steps = state.outstanding().rev().map(|step| RevertedStep::of(step, steps::restore(host, step)));
    Reverted { steps: steps.collect() }
}

impl RevertedStep {
    fn of(step: &StepState, outcome: Restored) -> Self {
        let setting = step.change.target.key.clone();
        RevertedStep { setting, before: step.change.before.clone(), outcome }
    }
}
