//! The changes of a trial's arm around each of its blocks, and their undo: kernel settings of this host, and commands of the
//! user's.
//!
//! The undo is on disk before the change is made, so that a trial which is killed can be put right by the next one that goes on
//! with it. Commands that restart something remote are the user's own; only their ends are seen to here.

pub(crate) mod hook;
pub(crate) mod host_setting;
mod inverse;
mod journal;
pub(crate) mod journal_error;
mod undo;

pub use hook::HookError;
pub use host_setting::HostSettingError;
pub use journal_error::JournalError;

use crate::client_config;
use crate::context::RunContext;
use crate::error::Result;
use crate::run_dir::{self, RunDir};
use crate::watcher::{Event, Watcher};
use hook::{Hook, Secrets};
use host_setting::{HostFiles, Setting};
use journal::{Claim, Left, Places};
use plumb_load::LoadError;
use plumb_model::fault::{HasFault, chain};
use plumb_model::plan::{Plan, Properties};
use plumb_model::trial::ArmPlan;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use undo::Undo;

/// Refuses settings that cannot be made here, and a trial on a host that another one changes or left changed, before
/// anything is started.
pub(super) fn check(plan: &Plan) -> Result<()> {
    if plan.trial.is_some() {
        journal::check(&Places::here())?;
    }
    for arm in arms(plan) {
        let changes = undo::changes(arm)?;
        for (setting, value) in &changes {
            inverse::check_change(setting, &HostFiles::default(), value)?;
        }
        let settings: Vec<Setting> = changes.into_iter().map(|(setting, _)| setting).collect();
        inverse::check_together(&settings)?;
    }
    Ok(())
}

/// Keeps other trials away from what a plan's arms change on this host; none where they change nothing.
pub(super) fn claim(plan: &Plan, dir: &RunDir, context: &RunContext) -> Result<Option<Claim>, JournalError> {
    let commands = arms(plan).filter(|arm| arm.after.is_some()).map(|arm| arm.name.clone()).collect();
    let left = Left { before: ways_back(plan), commands };
    if left.before.is_empty() && arms(plan).all(|arm| arm.before.is_none() && arm.after.is_none()) {
        return Ok(None);
    }
    let places = Places::here();
    if places.is_one_users() {
        context.note(
            "this user's other trials stay away while this host is changed; those of other users do not see it",
        );
    }
    match Claim::new(&places, dir, &left) {
        // Commands may be those of a user who may write nowhere but at home, and change nothing here.
        Err(error @ JournalError::Write { .. }) if left.before.is_empty() => {
            context.note(&format!(
                "warning: {error}: should this trial be killed, no other is told that a command `after` is still to run \
                 ({})",
                error.hint().unwrap_or_default()
            ));
            Ok(None)
        }
        claimed => claimed.map(Some),
    }
}

/// The change to this host that a trial which was killed left, or that one which goes on makes now, as a sentence; none where
/// there is none.
pub(super) fn changed_by_others() -> Option<String> {
    match journal::check(&Places::here()) {
        Err(error @ (JournalError::Busy { .. } | JournalError::Left { .. })) => Some(error.to_string()),
        _ => None,
    }
}

fn arms(plan: &Plan) -> impl Iterator<Item = &ArmPlan> {
    plan.trial.iter().flat_map(|trial| &trial.arms)
}

/// The values with which the settings of this host that any arm changes are put back.
fn ways_back(plan: &Plan) -> Properties {
    let settings = arms(plan).flat_map(|arm| arm.host.keys()).filter_map(|name| Setting::new(name).ok());
    let back = settings.filter_map(|setting| inverse::inverse(&setting, &HostFiles::default()).ok());
    back.flatten().map(|(setting, value)| (setting.name, value)).collect()
}

/// True if a run left something to undo.
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
    let names = arms(plan).flat_map(|arm| arm.host.keys());
    let read = |name: &String| {
        let value = Setting::new(name).and_then(|setting| setting.read(&HostFiles::default())).ok()?;
        Some((name.clone(), value))
    };
    names.filter_map(read).collect()
}

/// A block's surroundings, made as its arm wants them. They are undone by [`ArmChanges::leave`], and at the latest when this is
/// dropped.
pub(super) struct ArmChanges {
    undo: Option<Undo>,
    place: PathBuf,
    secrets: Secrets,
    watcher: Arc<dyn Watcher>,
}

impl ArmChanges {
    /// Makes them. No message repeats a secret of the client's properties.
    pub(super) fn enter(
        arm: &ArmPlan,
        round: u32,
        bootstrap: &str,
        dir: &RunDir,
        context: &RunContext,
    ) -> Result<Self> {
        let mut made = ArmChanges {
            undo: None,
            place: dir.path().to_owned(),
            secrets: Secrets::of(&context.security),
            watcher: Arc::clone(&context.watcher),
        };
        let files = HostFiles::default();
        if let Some(undo) = Undo::of(arm, round, bootstrap, &files)? {
            undo.write(dir)?;
            made.undo = Some(undo);
        }
        let changes = undo::changes(arm)?;
        for (setting, value) in &changes {
            setting.write(&files, value)?;
        }
        // One of them may have reset another.
        for (setting, value) in &changes {
            setting.in_effect(&files, value)?;
        }
        if let Some(command) = &arm.before {
            let hook = Hook { when: "before", command, arm: &arm.name, pair: round + 1, bootstrap };
            match hook.run(Some(&context.stop), &made.secrets) {
                Err(HookError::Stopped) => return Err(LoadError::Stopped.into()),
                ended => ended?,
            }
        }
        Ok(made)
    }

    /// Undoes them.
    pub(super) fn leave(mut self) -> Result<()> {
        self.undo()
    }
}

impl ArmChanges {
    fn undo(&mut self) -> Result<()> {
        let Some(undo) = self.undo.take() else { return Ok(()) };
        undo.carry_out(&HostFiles::default(), &self.place, &self.secrets, &*self.watcher)
    }
}

impl Drop for ArmChanges {
    fn drop(&mut self) {
        // The error that brought it here is the one to tell; this one must not be lost either.
        if let Err(error) = self.undo() {
            self.watcher.event(&Event::Note(&format!("warning: {}", chain(&error).join(": "))));
        }
    }
}

/// Undoes what a trial that was killed left changed on this host, whatever else keeps it from going on. Its directory is
/// locked meanwhile: one that still runs is left alone.
pub(super) fn put_right(directory: &Path, watcher: &Arc<dyn Watcher>) -> Result<()> {
    let _lock = run_dir::lock(directory)?;
    let Some(undo) = Undo::read(directory)? else { return Ok(()) };
    let plan = run_dir::read_document(directory)?.plan;
    let config = client_config::read(client_config::path(&plan));
    let secrets = config.map_or(Secrets::Unknown, |config| Secrets::of(&config.properties));
    watcher.event(&Event::Note(&format!("undoing what the part that was killed left: {}", undo.summary())));
    undo.carry_out(&HostFiles::default(), directory, &secrets, &**watcher)
}
