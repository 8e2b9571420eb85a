//! The changes of a trial's arm around each of its blocks, and their undo: settings of this host and of the cluster, and commands of
//! the user's.
//!
//! What is to be undone is in the host's journal (`plumb_tune::journal`) before it is done, so that a trial which is killed can be put right
//! by the next one that goes on with it. Commands that restart something remote are the user's own; only their ends are seen to here.

pub(crate) mod hook;
mod left;

pub use hook::HookError;
pub(super) use left::put_right;

use crate::cluster_settings;
use crate::context::RunContext;
use crate::error::{Result, SessionError};
use crate::run_dir::{RunDir, RunDirError};
use crate::watcher::{Event, Watcher};
use hook::{Hook, Secrets};
use plumb_load::LoadError;
use plumb_load::librdkafka::connect::{Cluster, connect};
use plumb_model::change;
use plumb_model::fault::{HasFault, chain};
use plumb_model::plan::{ClusterPlan, Plan, Properties};
use plumb_model::setting_name::ClusterName;
use plumb_model::settings_search::{SearchDimension, split};
use plumb_model::trial::ArmPlan;
use plumb_model::tunable::Owner;
use plumb_tune::host::Host;
use plumb_tune::journal::{
    self, Cause, Journal, JournalError, JournalOwner, PendingCommand, Places, Record, Restored,
};
use plumb_tune::revert::Reverted;
use plumb_tune::setting::{Setting, SettingError};
use plumb_tune::steps::{self, Wanted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Refuses settings that cannot be made here, and a trial on a host that another one changes or left changed, before
/// anything is started.
pub(super) fn check(plan: &Plan) -> Result<()> {
    let host = Host::default();
    if plan.trial.is_some() {
        journal::check(&Places::here(), &host)?;
    }
    if searches_host(plan) {
        journal::check(&Places::here(), &host)?;
    }
    refuse_one_of_several_clusters(plan)?;
    // Those of a cluster are checked once it can be asked.
    let all = arms(plan).map(|arm| arm.host.clone()).chain(searched(plan));
    check_settings(all, &host, |setting| setting.target().owner == change::Owner::Host)
}

/// Refuses a broker's setting in a run on several clusters: its name does not say whose it is, and what a killed run left would be put back
/// on another one's broker.
fn refuse_one_of_several_clusters(plan: &Plan) -> Result<(), SettingError> {
    let paths = plan.paths().all;
    let is_there = |cluster: &&ClusterPlan| matches!(cluster, ClusterPlan::Brokers { .. });
    if !paths.iter().any(is_there) || paths.iter().all(|path| *path == paths[0]) {
        return Ok(());
    }
    match arms(plan).flat_map(|arm| arm.host.keys()).find(|name| ClusterName::new(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(SettingError::Unchangeable {
            name: name.clone(),
            reason: "the run is on several clusters, and the name does not say on which".to_owned(),
        }),
    }
}

/// Refuses settings of the cluster that cannot be made there, before the first block.
pub(super) fn check_cluster(plan: &Plan, step: usize, cluster: &Cluster, context: &RunContext) -> Result<()> {
    let host = surroundings(plan, cluster, context)?;
    let of_step = arm(plan, step).map(|arm| arm.host.clone());
    let wanted = of_step.into_iter().chain(searched(plan));
    check_settings(wanted, &host, |setting| setting.target().owner != change::Owner::Host)
}

fn check_settings(
    all: impl Iterator<Item = Properties>,
    host: &Host,
    is_checked: impl Fn(&Setting) -> bool,
) -> Result<()> {
    for changes in all {
        let mut wanted = steps::in_order(&changes)?;
        wanted.retain(|wanted| is_checked(&wanted.setting));
        steps::check(host, &wanted)?;
    }
    Ok(())
}

/// This host, with the cluster where a plan changes settings of it.
pub(super) fn surroundings(plan: &Plan, cluster: &Cluster, context: &RunContext) -> Result<Host> {
    let host = Host::default();
    Ok(match changes_cluster(plan) {
        false => host,
        true => {
            let cluster = connect(&cluster.bootstrap, &cluster.properties, &context.stop)?;
            host.with_cluster(cluster_settings::of(cluster))
        }
    })
}

fn changes_cluster(plan: &Plan) -> bool {
    let names = arms(plan).flat_map(|arm| arm.host.keys().cloned());
    let mut names = names.chain(searched(plan).into_iter().flat_map(Properties::into_keys));
    names.any(|name| ClusterName::new(&name).is_some())
}

/// The host's journal, in which this trial writes down what it changes. Nobody else changes the host meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct HostJournal {
    journal: Arc<Mutex<Journal>>,
}

impl HostJournal {
    /// One in a place of a test's own.
    #[cfg(test)]
    pub(super) fn at(place: &std::path::Path) -> Self {
        let places = Places { own: place.to_owned(), others: Vec::new() };
        let owner = JournalOwner::Trial { run: place.to_owned(), bootstrap: None };
        let journal = Journal::open(&places, &Host::default(), owner, jiff::Timestamp::now()).unwrap();
        HostJournal { journal: Arc::new(Mutex::new(journal)) }
    }

    fn lock(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of the trial: nobody asks for what is undone.
    pub(super) fn close(self) {
        self.lock().forget();
    }
}

/// Begins the journal of what a plan's arms change on this host; none where they change nothing.
pub(super) fn open_journal(plan: &Plan, dir: &RunDir, context: &RunContext) -> Result<Option<HostJournal>> {
    let changes = arms(plan).any(|arm| !arm.host.is_empty()) || searches_host(plan);
    if !changes && arms(plan).all(|arm| arm.before.is_none() && arm.after.is_none()) {
        return Ok(None);
    }
    let places = Places::here();
    if places.is_one_users() {
        context.note(
            "this user's other trials stay away while this host is changed; those of other users do not see it",
        );
    }
    let run = fs_err::canonicalize(dir.path()).map_err(RunDirError::Read)?;
    let bootstrap = match &plan.cluster {
        ClusterPlan::Brokers { bootstrap, .. } if changes_cluster(plan) => Some(bootstrap.clone()),
        _ => None,
    };
    let open = |places: &Places| {
        let owner = JournalOwner::Trial { run: run.clone(), bootstrap: bootstrap.clone() };
        Journal::open(places, &Host::default(), owner, jiff::Timestamp::now())
    };
    let journal = match open(&places) {
        // Commands may be those of a user who may write nowhere but there, and change nothing here.
        Err(error @ JournalError::Write { .. }) if !changes => {
            context.note(&format!(
                "warning: {error}: should this trial be killed, no other is told that a command `after` is still to run \
                 ({})",
                error.hint().unwrap_or_default()
            ));
            open(&left::beside(dir.path()))?
        }
        opened => opened?,
    };
    Ok(Some(HostJournal { journal: Arc::new(Mutex::new(journal)) }))
}

/// The change to this host that a trial which was killed left, or that one which goes on makes now, as a sentence; none where
/// there is none.
pub(super) fn changed_by_others() -> Option<String> {
    match journal::check(&Places::here(), &Host::default()) {
        Err(error @ (JournalError::Busy { .. } | JournalError::Left { .. })) => Some(error.to_string()),
        _ => None,
    }
}

/// What a search may change of this host, each setting by itself.
fn searched(plan: &Plan) -> Vec<Properties> {
    let dimensions = plan.settings_search.iter().flat_map(|search| &search.dimensions);
    let change = |dimension: &SearchDimension| {
        let (owner, name) = split(&dimension.setting)?;
        let value = dimension.values.iter().enumerate().find(|(at, _)| *at != dimension.current)?.1;
        (owner == Owner::Host).then(|| [(name.to_owned(), value.clone())].into())
    };
    dimensions.filter_map(change).collect()
}

fn searches_host(plan: &Plan) -> bool {
    !searched(plan).is_empty()
}

fn arms(plan: &Plan) -> impl Iterator<Item = &ArmPlan> {
    plan.trial.iter().flat_map(|trial| &trial.arms)
}

/// True if a run left something to undo.
pub(super) fn is_left(dir: &RunDir) -> bool {
    !left::of(dir.path()).is_empty()
}

/// The arm that a step is; none outside of a trial.
pub(super) fn arm(plan: &Plan, step: usize) -> Option<&ArmPlan> {
    let trial = plan.trial.as_ref()?;
    let step = if step == trial.again { trial.arms.first()?.step } else { step };
    trial.arms.iter().find(|arm| arm.step == step)
}

/// Every setting of this host and of the cluster that any arm changes, as it is now.
pub(super) fn host_settings(plan: &Plan, host: &Host) -> Properties {
    let names = arms(plan).flat_map(|arm| arm.host.keys().cloned());
    let names = names.chain(searched(plan).into_iter().flat_map(Properties::into_keys));
    let read = |name: String| {
        let setting = Setting::new(&name).ok()?;
        // A key of a broker that was never set reads as that: its way back is to take it away again.
        let value = match ClusterName::new(&name) {
            Some(_) => setting.read(host),
            None => setting.effective(host),
        };
        Some((name, value.ok()?))
    };
    names.filter_map(read).collect()
}

/// What an arm changes, and where that is written down.
pub(super) struct Surroundings<'a> {
    pub(super) host: &'a Host,
    pub(super) journal: Option<&'a HostJournal>,
}

/// A block's surroundings, made as its arm wants them. They are undone by [`ArmChanges::leave`], and at the latest when this is
/// dropped.
pub(super) struct ArmChanges {
    journal: Option<HostJournal>,
    host: Host,
    secrets: Secrets,
    watcher: Arc<dyn Watcher>,
}

impl ArmChanges {
    /// Makes them. No message repeats a secret of the client's properties.
    pub(super) fn enter(
        arm: &ArmPlan,
        round: u32,
        cluster: &Cluster,
        surroundings: &Surroundings<'_>,
        context: &RunContext,
    ) -> Result<Self> {
        let made = ArmChanges {
            journal: surroundings.journal.cloned(),
            host: surroundings.host.clone(),
            secrets: Secrets::of(&cluster.properties),
            watcher: Arc::clone(&context.watcher),
        };
        let bootstrap = cluster.bootstrap.as_str();
        made.make(arm, round, bootstrap)?;
        if let Some(command) = &arm.before {
            let hook = Hook { when: "before", command, arm: &arm.name, pair: round + 1, bootstrap };
            match hook.run(Some(&context.stop), &made.secrets) {
                Err(HookError::Stopped) => return Err(LoadError::Stopped.into()),
                ended => ended?,
            }
        }
        Ok(made)
    }

    /// Changes the arm's settings, and writes down the command that has to come after the block.
    fn make(&self, arm: &ArmPlan, round: u32, bootstrap: &str) -> Result<()> {
        let Some(journal) = &self.journal else { return Ok(()) };
        let mut journal = journal.lock();
        if let Some(command) = arm.after.clone() {
            let (arm, bootstrap) = (arm.name.clone(), bootstrap.to_owned());
            journal.append(Record::CommandBegun(PendingCommand {
                arm,
                pair: round + 1,
                bootstrap,
                command,
            }))?;
        }
        let wanted: Vec<Wanted> = steps::in_order(&arm.host)?;
        steps::make_all(&self.host, &mut journal, &wanted).map_err(SessionError::from)
    }

    /// Undoes them.
    pub(super) fn leave(mut self) -> Result<()> {
        self.undo()
    }

    fn undo(&mut self) -> Result<()> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        undo(&self.host, &mut journal.lock(), Cause::BlockOver, &self.secrets, &*self.watcher)
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

/// Runs the command that comes after the block, then puts the settings back. Each is tried whatever became of the others; the first error is
/// told. What is not done stays in the journal, for the next to try again.
fn undo(
    host: &Host,
    journal: &mut Journal,
    cause: Cause,
    secrets: &Secrets,
    watcher: &dyn Watcher,
) -> Result<()> {
    let mut first_error: Result<()> = Ok(());
    if let Some(pending) = journal.state().command.clone() {
        let PendingCommand { arm, pair, bootstrap, command } = &pending;
        let hook = Hook { when: "after", command, arm, pair: *pair, bootstrap };
        // It runs however the block ended: a stop does not end it.
        first_error = hook.run(None, secrets).map_err(SessionError::from);
        match &first_error {
            Ok(()) => journal.append(Record::CommandDone)?,
            Err(_) => watcher.event(&Event::Note(&format!(
                "warning: what the command after a block of {arm} is to undo is not undone; --resume runs it again"
            ))),
        }
    }
    if journal.state().outstanding().next().is_some() {
        let reverted = plumb_tune::revert::revert(host, journal, cause)?;
        first_error = first_error.and(told(&reverted, watcher).map_err(SessionError::from));
    }
    first_error
}

/// Says of each setting that is not as it was what to do; the first is the error.
fn told(reverted: &Reverted, watcher: &dyn Watcher) -> Result<(), SettingError> {
    let mut first_error = Ok(());
    for step in reverted.left() {
        let name = &step.setting;
        let by_hand = step.before.as_ref().and_then(|before| Some(Setting::new(name).ok()?.by_hand(before)));
        let why = match &step.outcome {
            Restored::Foreign { reads } => {
                format!("somebody else set it to {reads:?} meanwhile, and it is left so")
            }
            Restored::Gone { reason } | Restored::Failed { reason } => reason.clone(),
            Restored::Restored | Restored::Unchanged => continue,
        };
        let by_hand = by_hand.map(|command| format!("; put it back by hand: {command}")).unwrap_or_default();
        watcher.event(&Event::Note(&format!("warning: {name} is not as it was: {why}{by_hand}")));
        if first_error.is_ok() {
            first_error = Err(SettingError::NotAsBefore { name: name.clone(), reason: why });
        }
    }
    first_error
}
