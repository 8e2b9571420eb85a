//! Changes made in their order, each written down first and seen to be in effect; a failure puts back what was made before it.

use crate::host::Host;
use crate::inverse;
use crate::journal::{Cause, Journal, JournalError, Record};
use crate::revert;
use crate::setting::{Setting, SettingError};
use crate::steps::{self, StepError};
use jiff::Timestamp;
use plumb_model::change::Change;
use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use thiserror::Error;

/// Changes that were not made. What was made of them before is put back, as far as the words say.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum ApplyError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{name} is not as it was when the plan was made: expected {expected:?}, got {got:?}")]
    Drifted { name: String, expected: String, got: String },
    #[error("change {step} of {of} failed; {}", undone.words())]
    Step {
        step: usize,
        of: usize,
        undone: revert::Reverted,
        #[source]
        source: StepError,
    },
    #[error("stopped before change {step} of {of}; {}", undone.words())]
    Stopped { step: usize, of: usize, undone: revert::Reverted },
}

impl HasFault for ApplyError {
    fn fault(&self) -> Fault {
        match self {
            ApplyError::Setting(error) => error.fault(),
            ApplyError::Journal(error) => error.fault(),
            _ => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            ApplyError::Setting(error) => error.hint(),
            ApplyError::Journal(error) => error.hint(),
            ApplyError::Drifted { .. } => Some("make the plan again: plumb tune plan --out FILE".into()),
            ApplyError::Step { source: StepError::Setting(error), .. } => error.hint(),
            ApplyError::Step { source: StepError::Journal(error), .. } => error.hint(),
            ApplyError::Stopped { .. } => None,
        }
    }

    fn is_stop(&self) -> bool {
        matches!(self, ApplyError::Stopped { .. })
    }
}

/// What happens while changes are made, for whoever shows it.
pub trait Progress {
    /// A change is going to be made; `step` counts from 1.
    fn begins(&mut self, step: usize, of: usize, change: &Change);

    /// True if the user wants it to stop.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody looks.
#[cfg(test)]
pub(crate) struct Unseen;

#[cfg(test)]
impl Progress for Unseen {
    fn begins(&mut self, _step: usize, _of: usize, _change: &Change) {}
}

/// The same changes with ways back from the host as it is: a plan is a file, and somebody may have edited it.
///
/// # Errors
/// Where a setting is not there.
pub fn with_ways_back(host: &Host, changes: &[Change]) -> Result<Vec<Change>, ApplyError> {
    let of = |change: &Change| {
        let setting = Setting::new(&change.target.key)?;
        match &change.after {
            Some(after) => steps::change(&setting, host, after),
            None => Ok(change.clone()),
        }
    };
    Ok(changes.iter().map(of).collect::<Result<_, SettingError>>()?)
}

/// Refuses changes that cannot be made or put back here, before anything is changed.
///
/// # Errors
/// With the first that cannot.
pub fn check(host: &Host, changes: &[Change]) -> Result<(), ApplyError> {
    let mut settings = Vec::new();
    for change in changes {
        let setting = Setting::new(&change.target.key)?;
        let Some(after) = &change.after else { continue };
        inverse::check_change(&setting, host, after)?;
        let got = setting.read(host)?;
        if let Some(expected) = change.before.as_ref().filter(|before| !setting.reads_alike(before, &got)) {
            return Err(ApplyError::Drifted {
                name: setting.name().to_owned(),
                expected: expected.clone(),
                got,
            });
        }
        settings.push(setting);
    }
    Ok(inverse::check_together(&settings)?)
}

/// True if every setting already is what the changes ask for.
///
/// # Errors
/// Where the host has no such setting.
pub fn are_made(host: &Host, changes: &[Change]) -> Result<bool, SettingError> {
    for change in changes {
        let setting = Setting::new(&change.target.key)?;
        let Some(after) = &change.after else { return Ok(false) };
        if !setting.is_met(after, &setting.read(host)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes changes in their order.
///
/// # Errors
/// Where one cannot be made: those before it are put back.
pub fn apply(
    host: &Host,
    journal: &mut Journal,
    changes: &[Change],
    progress: &mut dyn Progress,
) -> Result<(), ApplyError> {
    let of = changes.len();
    for (at, change) in changes.iter().enumerate() {
        let step = at + 1;
        if progress.is_stopped() {
            let undone = put_back(host, journal, Cause::Stopped);
            return Err(ApplyError::Stopped { step, of, undone });
        }
        progress.begins(step, of, change);
        if let Err(source) = steps::make(host, journal, change) {
            let undone = put_back(host, journal, Cause::StepFailed);
            return Err(ApplyError::Step { step, of, undone, source });
        }
    }
    // One of them may have reset another.
    if let Err((step, source)) = all_in_effect(host, journal) {
        let undone = put_back(host, journal, Cause::StepFailed);
        return Err(ApplyError::Step { step, of, undone, source: source.into() });
    }
    if let Err(error) = journal.append(Record::Applied { at: Timestamp::now() }) {
        let undone = put_back(host, journal, Cause::StepFailed);
        return Err(ApplyError::Step { step: of, of, undone, source: error.into() });
    }
    Ok(())
}

/// Puts back what was made. What of it cannot be written down is put back all the same, and once: after that it is whoever's.
fn put_back(host: &Host, journal: &mut Journal, cause: Cause) -> revert::Reverted {
    revert::try_all(host, journal, cause).reverted
}

fn all_in_effect(host: &Host, journal: &Journal) -> Result<(), (usize, SettingError)> {
    for made in journal.state().outstanding() {
        let failed = |error| (made.step as usize, error);
        let setting = Setting::new(&made.change.target.key).map_err(failed)?;
        let reads = setting.read(host).map_err(failed)?;
        if let Some(expected) = made.reads.as_ref().filter(|ours| !setting.reads_alike(ours, &reads)) {
            let (name, expected) = (setting.name().to_owned(), expected.clone());
            return Err(failed(SettingError::NotInEffect { name, expected, got: reads }));
        }
    }
    Ok(())
}
