//! What an arm of a trial changes around each of its blocks, and its way back: kernel settings of this host, and commands
//! of the user's.
//!
//! What is to be undone is on disk before it is done, so that a trial which is killed can be put right by the next one that
//! goes on with it. Commands that restart something remote are the user's own; only their ends are seen to here.

mod hook;
mod host_setting;
mod undo;

pub(crate) use hook::HookError;
pub(crate) use host_setting::HostSettingError;

use crate::run_dir::{self, RunDir};
use anyhow::Result;
use hook::Hook;
use host_setting::{HostFiles, Setting};
use plumb_load::LoadError;
use plumb_model::plan::{Plan, Properties};
use plumb_model::trial::ArmPlan;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use undo::Undo;

/// Refuses settings that cannot be made here, before anything is started.
pub(super) fn check(plan: &Plan) -> Result<(), HostSettingError> {
    let arms = plan.trial.iter().flat_map(|trial| &trial.arms);
    for (name, value) in arms.flat_map(|arm| &arm.host) {
        Setting::new(name)?.check(&HostFiles::default(), value)?;
    }
    Ok(())
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
    crate::printer::note(&format!("undoing what the part that was killed left: {}", undo.summary()));
    undo.carry_out(&HostFiles::default(), directory, &[])
}
