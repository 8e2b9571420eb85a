//! What a journal says, folded from its records.

use super::record::{Cause, JournalOwner, Opened, PendingCommand, Record, Restored};
use super::{JournalError, SCHEMA_VERSION};
use crate::guard::ProcessStart;
use crate::host::Host;
use crate::setting::Setting;
use jiff::Timestamp;
use plumb_model::change::{Change, way_back};
use plumb_model::setting_name::ClusterName;
use serde::Deserialize;
use std::path::Path;

/// The changes of a journal and what became of them.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalState {
    /// Its head.
    pub opened: Opened,
    /// The changes that were begun, in their order.
    pub steps: Vec<StepState>,
    /// The command that has yet to be run.
    pub command: Option<PendingCommand>,
    /// The process that watches over the changes.
    pub guard: Option<ProcessStart>,
    /// When all changes had been made.
    pub applied: Option<Timestamp>,
    /// When the user confirmed them.
    pub confirmed: Option<Timestamp>,
    /// Why and when they began to be put back, the last time.
    pub reverting: Option<Cause>,
    /// When all that could be put back was.
    pub reverted: Option<Timestamp>,
    /// Bytes of whole records.
    pub(super) whole_bytes: u64,
}

/// A change and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepState {
    /// Its number, from 1.
    pub step: u32,
    /// What it changes, and the way back.
    pub change: Change,
    /// What the changed thing is known by beside its name.
    pub identity: Option<String>,
    /// What it read after the change; none: it is not known whether the change was made.
    pub reads: Option<String>,
    /// What was in effect, where that was something else.
    pub effective: Option<String>,
    /// The reason why it was not made.
    pub skipped: Option<String>,
    /// What became of it when it was put back, the last time.
    pub restored: Option<Restored>,
}

impl StepState {
    /// True if it may have changed the host and was not put back.
    pub fn is_outstanding(&self) -> bool {
        self.skipped.is_none() && !self.restored.as_ref().is_some_and(Restored::is_settled)
    }
}

impl JournalState {
    pub(super) fn of(opened: Opened) -> Self {
        JournalState {
            opened,
            steps: Vec::new(),
            command: None,
            guard: None,
            applied: None,
            confirmed: None,
            reverting: None,
            reverted: None,
            whole_bytes: 0,
        }
    }

    pub(super) fn add(&mut self, record: Record) {
        match record {
            Record::Opened(_) => {}
            Record::Guarded { pid, start } => self.guard = Some(ProcessStart { pid, start }),
            Record::Begun { step, change, identity } => {
                (self.reverting, self.reverted) = (None, None);
                let (reads, effective, skipped, restored) = (None, None, None, None);
                self.steps.push(StepState { step, change, identity, reads, effective, skipped, restored });
            }
            Record::Done { step, reads, effective } => self.at(step, |found| {
                found.reads = Some(reads);
                found.effective = effective;
            }),
            Record::Skipped { step, reason } => self.at(step, |found| found.skipped = Some(reason)),
            Record::CommandBegun(command) => self.command = Some(command),
            Record::CommandDone => self.command = None,
            Record::Applied { at } => self.applied = Some(at),
            Record::Confirmed { at } => self.confirmed = Some(at),
            Record::Reverting { cause, .. } => self.reverting = Some(cause),
            Record::Restored { step, outcome } => self.at(step, |found| found.restored = Some(outcome)),
            Record::Reverted { at } => self.reverted = Some(at),
        }
    }

    fn at(&mut self, step: u32, change: impl FnOnce(&mut StepState)) {
        if let Some(found) = self.steps.iter_mut().find(|found| found.step == step) {
            change(found);
        }
    }

    /// The changes that may be in the host, in the order in which they were made.
    pub fn outstanding(&self) -> impl DoubleEndedIterator<Item = &StepState> {
        self.steps.iter().filter(|step| step.is_outstanding())
    }

    /// True if nothing is left to undo.
    pub fn is_settled(&self) -> bool {
        self.command.is_none() && self.outstanding().next().is_none()
    }

    /// True if whoever changed the host ended without keeping the changes or putting them back. Settings that end with the kernel's start are
    /// not left after another one.
    pub fn is_left(&self, host: &Host) -> bool {
        let kept = matches!(self.opened.owner, JournalOwner::Plan { confirm_within_s: None, .. })
            && self.applied.is_some()
            && self.reverting.is_none();
        if self.command.is_some() {
            return true;
        }
        if kept || self.confirmed.is_some() && self.reverting.is_none() || self.reverted.is_some() {
            return false;
        }
        let started_anew = self.started_anew(host);
        // The brokers of a trial's own lab end with it.
        let of_own_lab = |step: &StepState| {
            matches!(self.opened.owner, JournalOwner::Trial { bootstrap: None, .. })
                && ClusterName::new(&step.change.target.key).is_some()
        };
        let is_here = |step: &StepState| {
            let outlives_the_boot =
                || Setting::new(&step.change.target.key).is_ok_and(|setting| !setting.ends_with_the_boot());
            !of_own_lab(step) && (!started_anew || outlives_the_boot())
        };
        self.outstanding().any(is_here)
    }

    /// True if less is written than was before: records are only added, so somebody cut it.
    pub(crate) fn is_cut(&self, before: &JournalState) -> bool {
        self.whole_bytes < before.whole_bytes
    }

    /// True if the process that watches over it belongs to another list of processes than this one, where its number means nothing.
    pub fn is_guarded_elsewhere(&self, host: &Host) -> bool {
        self.opened.processes.is_some() && self.opened.processes != host.process_namespace()
    }

    /// True if the kernel was started anew since.
    pub fn started_anew(&self, host: &Host) -> bool {
        self.opened.boot_id.is_some() && self.opened.boot_id != host.boot_id()
    }

    /// True if it changed the network settings of another network namespace than this process is in, in the same start of the kernel.
    pub fn is_of_another_network(&self, host: &Host) -> bool {
        let here = host.network_namespace();
        !self.started_anew(host)
            && self.opened.network.is_some()
            && here.is_some()
            && self.opened.network != here
    }

    /// The number of the next change.
    pub(crate) fn next_step(&self) -> u32 {
        self.steps.last().map_or(1, |step| step.step + 1)
    }

    /// The commands that undo what is left, or keep it, in words. `journal`: its file.
    pub fn way_out(&self, journal: &Path) -> String {
        let id = &self.opened.id;
        match &self.opened.owner {
            JournalOwner::Trial { run, .. } if run.exists() => self.way_out_of_trial(run),
            JournalOwner::Trial { .. } => self.way_out_of_lost_trial(journal),
            JournalOwner::Plan { .. } if self.reverting.is_some() => {
                format!("plumb tune revert {id} tries again what could not be put back")
            }
            // Half of a plan is nothing to keep.
            JournalOwner::Plan { .. } if self.applied.is_none() => {
                format!("plumb tune revert {id} puts them back")
            }
            JournalOwner::Plan { .. } => {
                format!("plumb tune confirm {id} keeps them, plumb tune revert {id} puts them back")
            }
        }
    }

    fn way_out_of_trial(&self, run: &Path) -> String {
        let (run, id) = (run.display(), &self.opened.id);
        match (self.outstanding().next().is_some(), self.command.is_some()) {
            (false, true) => format!("plumb trial run --resume {run} runs the command and goes on with it"),
            _ => format!(
                "plumb trial run --resume {run} puts them back and goes on with it; plumb tune revert {id} puts back settings alone"
            ),
        }
    }

    /// The way out of a trial whose directory is gone, so that nothing can go on with it.
    fn way_out_of_lost_trial(&self, journal: &Path) -> String {
        let settings = self.outstanding().next().map(|_| {
            let id = &self.opened.id;
            format!("plumb tune revert {id} puts the settings back")
        });
        let command = self.command.as_ref().map(|pending| {
            let journal = journal.display();
            format!("see that {:?} is run, then remove {journal}", pending.command)
        });
        let parts: Vec<String> = settings.into_iter().chain(command).collect();
        format!("its directory is gone: {}", parts.join("; "))
    }

    /// What is left, in words: `before it: vm.swappiness = 60; perhaps to be run: the command after a block of "low"`.
    pub fn left(&self) -> String {
        let changes: Vec<Change> = self.outstanding().map(|step| step.change.clone()).collect();
        let before: Vec<String> =
            way_back(&changes).into_iter().map(|to| format!("{} = {}", to.key, to.value)).collect();
        let before = (!before.is_empty()).then(|| format!("before it: {}", before.join(", ")));
        let run = self.command.iter();
        let run =
            run.map(|command| format!("perhaps to be run: the command after a block of {:?}", command.arm));
        before.into_iter().chain(run).collect::<Vec<_>>().join("; ")
    }
}

/// A record's form, whatever else its version has.
#[derive(Deserialize)]
struct Head {
    schema_version: u32,
    plumb_version: String,
}

/// Folds the records of a journal. The last line may be torn; one before it may not.
pub(super) fn fold(path: &Path, bytes: &[u8]) -> Result<JournalState, JournalError> {
    let damaged = |line: usize, reason: String| JournalError::Damaged { path: path.to_owned(), line, reason };
    let mut state: Option<JournalState> = None;
    let mut whole_bytes = 0;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let is_last = lines.peek().is_none();
        let record = match serde_json::from_slice::<Record>(line) {
            // What is not ended was not synced, so what it announces was not done.
            _ if is_last && !line.ends_with(b"\n") => break,
            Ok(record) => record,
            Err(error) => {
                if let Ok(head) = serde_json::from_slice::<Head>(line)
                    && head.schema_version > SCHEMA_VERSION
                {
                    return Err(JournalError::Later { path: path.to_owned(), version: head.plumb_version });
                }
                return Err(damaged(at + 1, error.to_string()));
            }
        };
        whole_bytes += line.len() as u64;
        match (&mut state, record) {
            (None, Record::Opened(opened)) if opened.schema_version > SCHEMA_VERSION => {
                return Err(JournalError::Later { path: path.to_owned(), version: opened.plumb_version });
            }
            (None, Record::Opened(opened)) => state = Some(JournalState::of(opened)),
            (None, _) => return Err(damaged(at + 1, "it does not begin with its head".to_owned())),
            (Some(state), record) => state.add(record),
        }
    }
    let mut state = state.ok_or_else(|| JournalError::CutOff { path: path.to_owned() })?;
    state.whole_bytes = whole_bytes;
    Ok(state)
}
