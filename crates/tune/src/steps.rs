//! One change made, and one put back.

use crate::host::{ClusterSettings, Host};
use crate::inverse::{self, inverse, resets_others};
use crate::journal::{Journal, JournalError, Record, Restored, StepState};
use crate::setting::{Setting, SettingError};
use plumb_model::change::{Assignment, Change};
use plumb_model::fault::chain;
use std::collections::BTreeMap;
use thiserror::Error;

/// A change that could not be made.
#[derive(Debug, Error)]
pub enum StepError {
    /// The setting did not take it.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// It could not be written down, so it was not made.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A setting and the value that it is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The setting.
    pub setting: Setting,
    /// The value.
    pub value: String,
}

/// Settings by their names, with their values, in the order in which they are changed: what resets others first.
///
/// # Errors
/// Where a name is none of a setting.
pub fn in_order(values: &BTreeMap<String, String>) -> Result<Vec<Wanted>, SettingError> {
    let wanted =
        |(name, value): (&String, &String)| Ok(Wanted { setting: Setting::new(name)?, value: value.clone() });
    let mut ordered = values.iter().map(wanted).collect::<Result<Vec<Wanted>, SettingError>>()?;
    ordered.sort_by_key(|wanted| !resets_others(&wanted.setting));
    Ok(ordered)
}

/// Refuses settings that cannot be changed or put back, or of which one undoes another. What a setting is now may be written to it.
///
/// # Errors
/// With the first that cannot.
pub fn check(host: &Host, wanted: &[Wanted]) -> Result<(), SettingError> {
    for Wanted { setting, value } in wanted {
        inverse::check_change(setting, host, value)?;
    }
    let settings: Vec<Setting> = wanted.iter().map(|wanted| wanted.setting.clone()).collect();
    inverse::check_together(&settings)
}

/// Makes changes, and sees that all of them are in effect.
///
/// # Errors
/// With the first that is not; what was made before it is in the journal.
pub fn make_all(host: &Host, journal: &mut Journal, wanted: &[Wanted]) -> Result<(), StepError> {
    // Ways back to the host as it is before any of them: one may reset what another changes.
    let of = |wanted: &Wanted| change(&wanted.setting, host, &wanted.value);
    let changes = wanted.iter().map(of).collect::<Result<Vec<Change>, SettingError>>()?;
    for change in &changes {
        make(host, journal, change)?;
    }
    for Wanted { setting, value } in wanted {
        setting.in_effect(host, value)?;
    }
    Ok(())
}

/// A change of a setting to a value, with the way back from the host as it is now.
///
/// # Errors
/// Where the host has no such setting.
pub fn change(setting: &Setting, host: &Host, value: &str) -> Result<Change, SettingError> {
    let back = inverse(setting, host)?;
    let inverse = back.into_iter().map(|(part, value)| Assignment { key: part.name().to_owned(), value });
    Ok(Change {
        inverse: inverse.collect(),
        ..Change::plain(setting.target(), Some(setting.read(host)?), Some(value.to_owned()))
    })
}

/// Makes a change, written down before it is made; one that this host cannot have is written down as that.
pub(crate) fn make(host: &Host, journal: &mut Journal, change: &Change) -> Result<(), StepError> {
    let setting = Setting::new(&change.target.key)?;
    let step = journal.state().next_step();
    let identity = setting.identity(host);
    journal.append(Record::Begun { step, change: change.clone(), identity })?;
    let Some(after) = &change.after else {
        return Ok(journal.append(Record::Skipped { step, reason: "it names no value".to_owned() })?);
    };
    match setting.write(host, after) {
        Ok(reads) => {
            let effective = setting.effective(host).ok().filter(|effective| *effective != reads);
            Ok(journal.append(Record::Done { step, reads, effective })?)
        }
        Err(error @ SettingError::Unchangeable { .. }) => {
            Ok(journal.append(Record::Skipped { step, reason: error.to_string() })?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Puts a change back, unless somebody else has changed the setting since. Where the machine was started anew since, what ends with that has
/// ended: the values of the former start are not forced on this one.
pub(crate) fn restore(host: &Host, step: &StepState, started_anew: bool) -> Restored {
    let known = |setting: Setting| match &step.identity {
        Some(identity) => setting.of_known(host, identity),
        None => setting,
    };
    let setting = match Setting::new(&step.change.target.key) {
        Ok(setting) => known(setting),
        Err(error) => return Restored::Failed { reason: chain(&error).join(": ") },
    };
    let reads = match setting.read(host) {
        Ok(reads) => reads,
        // A broker that does not answer now has kept what was changed: that is still to be put back.
        Err(error @ (SettingError::NoCluster { .. } | SettingError::NotTold { .. }))
            if !host.cluster().is_some_and(ClusterSettings::has_ended) =>
        {
            return Restored::Failed { reason: chain(&error).join(": ") };
        }
        Err(error) => return Restored::Gone { reason: chain(&error).join(": ") },
    };
    if setting.identity(host) != step.identity {
        return Restored::Gone { reason: "another thing has its name now".to_owned() };
    }
    let back = match parts(&step.change, known) {
        Ok(back) => back,
        Err(error) => return Restored::Failed { reason: chain(&error).join(": ") },
    };
    let is_back =
        |part: &Part<'_>| part.setting.read(host).is_ok_and(|reads| part.setting.is_met(part.value, &reads));
    if back.iter().all(is_back) {
        return as_before(host, &setting, &step.change, Restored::Unchanged);
    }
    if started_anew && setting.ends_with_the_boot() {
        return Restored::Foreign { reads };
    }
    // A change that was begun and not seen to end is ours, whatever the driver made of the value.
    // Where it reads as before already, only what it had reset is to be put back.
    let is_before = step.change.before.as_ref().is_some_and(|before| setting.reads_alike(before, &reads));
    if let Some(ours) = &step.reads
        && !is_before
        && !setting.reads_alike(ours, &reads)
    {
        return Restored::Foreign { reads };
    }
    for part in &back {
        if is_back(part) {
            continue;
        }
        if let Err(error) = part.setting.write(host, part.value) {
            return Restored::Failed { reason: chain(&error).join(": ") };
        }
    }
    as_before(host, &setting, &step.change, Restored::Restored)
}

/// The outcome, where the setting reads as before the change. The way back is text in a file: where it does not lead there, that is said.
fn as_before(host: &Host, setting: &Setting, change: &Change, outcome: Restored) -> Restored {
    let Some(before) = &change.before else { return outcome };
    let leads_there = |to: &Assignment| to.key == change.target.key && setting.reads_alike(before, &to.value);
    // Then it was read already.
    if change.inverse.iter().any(leads_there) {
        return outcome;
    }
    match setting.read(host) {
        Ok(reads) if setting.reads_alike(before, &reads) => outcome,
        Ok(reads) => Restored::Failed {
            reason: format!("the way back that is written down leads to {reads} and not to {before}"),
        },
        Err(error) => Restored::Failed { reason: chain(&error).join(": ") },
    }
}

/// A setting that goes back, and its value.
struct Part<'c> {
    setting: Setting,
    value: &'c str,
}

fn parts(change: &Change, known: impl Fn(Setting) -> Setting) -> Result<Vec<Part<'_>>, SettingError> {
    let part = |to: &Assignment| Ok(known(Setting::new(&to.key)?));
    change.inverse.iter().map(|to| part(to).map(|setting| Part { setting, value: &to.value })).collect()
}
