//! What an arm of a trial changes around each of its blocks, and its way back: kernel settings of this host, and commands
//! of the user's.
//!
//! What is to be undone is on disk before it is done, so that a trial which is killed can be put right by the next one that
//! goes on with it. Commands that restart something remote are the user's own; only their ends are seen to here.

mod hook;
mod host_setting;
mod journal;
mod undo;

pub(crate) use hook::HookError;
pub(crate) use host_setting::HostSettingError;
pub(crate) use journal::JournalError;

use crate::client_config;
use crate::run_dir::{self, RunDir};
use anyhow::Result;
use hook::Hook;
use host_setting::{HostFiles, Setting};
use journal::Claim;
use plumb_load::LoadError;
use plumb_model::plan::{Plan, Properties};
use plumb_model::trial::ArmPlan;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use undo::Undo;

/// Refuses settings that cannot be made here, and a trial on a host that another one changes or left changed, before
/// anything is started.
pub(super) fn check(plan: &Plan) -> Result<()> {
    if plan.trial.is_some() {
        journal::check(&journal::place())?;
    }
    let arms = plan.trial.iter().flat_map(|trial| &trial.arms);
    for (name, value) in arms.flat_map(|arm| &arm.host) {
        Setting::new(name)?.check(&HostFiles::default(), value)?;
    }
    Ok(())
}

/// Keeps other trials away from the settings of this host that a plan's arms change; none where they change none.
pub(super) fn claim(plan: &Plan, dir: &RunDir) -> Result<Option<Claim>, JournalError> {
    let before = host_settings(plan);
    if before.is_empty() {
        return Ok(None);
    }
    Claim::new(&journal::place(), dir, &before).map(Some)
}

/// Whether a run left something to undo.
pub(super) fn is_left(dir: &RunDir) -> bool {
    undo::is_left(dir.path())
}

/// The arm that a step is; none outside of a trial.
pub(super) fn arm(plan: &Plan, step: usize) -> Option<&ArmPlan> {
    let trial = plan.trial.as_ref()?;
    let step = if step == trial.again { trial.arms.first()?.step } else { step };
    trial.arms.iter().find(|arm| arm.step == step)
}

/// Every setting of this host that any arm changes, as it is now.
pub(super) fn host_settings(plan: &Plan) -> Properties {
    let names = plan.trial.iter().flat_map(|trial| &trial.arms).flat_map(|arm| arm.host.keys());
    let read = |name: &String| {
        let value = Setting::new(name).and_then(|setting| setting.read(&HostFiles::default())).ok()?;
        Some((name.clone(), value))
    };
    names.filter_map(read).collect()
}

/// A block's surroundings, made as its arm wants them. They are undone by [`Around::leave`], and at the latest when this is
/// dropped.
pub(super) struct Around {
    undo: Option<Undo>,
    place: PathBuf,
    secrets: Vec<String>,
}

impl Around {
    /// Makes them. `secrets`: values that no message may repeat.
    pub(super) fn enter(
        (arm, round): (&ArmPlan, u32),
        bootstrap: &str,
        dir: &RunDir,
        secrets: &Properties,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let mut around = Around { undo: None, place: dir.path().to_owned(), secrets: hook::secrets(secrets) };
        if arm.before.is_none() && arm.after.is_none() && arm.host.is_empty() {
            return Ok(around);
        }
        let files = HostFiles::default();
        let undo = Undo::of((arm, round), bootstrap, &files)?;
        undo.write(dir)?;
        around.undo = Some(undo);
        for (name, value) in &arm.host {
            Setting::new(name)?.write(&files, value)?;
        }
        if let Some(command) = &arm.before {
            let hook = Hook { when: "before", command, arm: &arm.name, pair: round + 1, bootstrap };
            match hook.run(Some(stop), &around.secrets) {
                Err(HookError::Stopped) => return Err(LoadError::Stopped.into()),
                ended => ended?,
            }
        }
        Ok(around)
    }

    /// Undoes them.
    pub(super) fn leave(mut self) -> Result<()> {
        self.undo
            .take()
            .map_or(Ok(()), |undo| undo.carry_out(&HostFiles::default(), &self.place, &self.secrets))
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        // The error that brought it here is the one to tell; this one must not be lost either.
        if let Some(undo) = self.undo.take()
            && let Err(error) = undo.carry_out(&HostFiles::default(), &self.place, &self.secrets)
        {
            crate::printer::note(&format!("warning: {}", crate::errors::chain(&error).join(": ")));
        }
    }
}

/// Undoes what a trial that was killed left changed. Its directory is locked meanwhile: one that still runs is left alone.
pub(super) fn put_right(directory: &Path) -> Result<()> {
    let _lock = run_dir::lock(directory)?;
    let Some(undo) = Undo::read(directory)? else { return Ok(()) };
    let plan = run_dir::read_document(directory)?.plan;
    let secrets = hook::secrets(&client_config::read(super::config_path(&plan))?.properties);
    crate::printer::note(&format!("undoing what the part that was killed left: {}", undo.summary()));
    undo.carry_out(&HostFiles::default(), directory, &secrets)
}
