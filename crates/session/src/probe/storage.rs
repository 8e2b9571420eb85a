//! The storage behind directories, its rates of commits and streams, and the doubts about these figures.

mod fold;
mod plan;
mod rate;
mod reference;
mod rounds;

use super::rounds::FailedTurn;
use super::{Probed, window::Window};
use crate::context::RunContext;
use crate::error::Result;
use crate::watcher::{Event, Watcher};
use plan::Plan;
use plumb_model::finding::Severity;
use plumb_model::plan::Properties;
use plumb_model::probe::ProbeKind;
use plumb_model::probe::storage::{CommitMethod, StorageProbe, StorageTarget};
use plumb_model::units::{Bytes, Nanos};
use plumb_probe::storage::{Directory, StorageError};
use rounds::StorageRounds;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The settings of a storage probe.
#[derive(Debug, Clone)]
pub struct StorageSettings {
    /// The directories, the first of which the others are compared with.
    pub paths: Vec<PathBuf>,
    /// Ways to commit. Empty: all.
    pub methods: Vec<CommitMethod>,
    /// True if files are overwritten only, and not appended to.
    pub overwrite: bool,
    /// Bytes of a commit.
    pub blocks: Vec<Bytes>,
    /// Numbers of threads that commit, each to a file of its own. Empty: one, and several for fsync.
    pub committers: Vec<u32>,
    /// Commits under way at the same time in an io_uring. Empty: one and eight.
    pub queue_depths: Vec<u32>,
    /// Size of a file that is overwritten.
    pub file: Bytes,
    /// True if sequential reads and writes are measured as well.
    pub streams: bool,
    /// Measured time of each case on each path, all rounds together.
    pub duration: Nanos,
    /// The number of turns of each case; at least 1.
    pub rounds: u32,
    /// Of the order.
    pub seed: u64,
}

/// Probes directories.
///
/// # Errors
/// When a path cannot be probed, or the settings exclude each other.
pub fn probe(
    settings: &StorageSettings,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Probed<StorageProbe>> {
    let plan = Plan::of(settings)?;
    let context = RunContext::new(Properties::new(), stop, watcher);
    let open = |path: &PathBuf| Directory::open(path).map(|directory| directory.stopped_by(stop));
    let directories = settings.paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let window = Window::open();
    let turns = plan.turns(directories.len());
    let estimate_s = plan.estimate_s(&turns, directories.len());
    context.tell(&Event::ProbeBegins { what: "probing storage", estimate_s });
    let mut rounds = StorageRounds::prepare(&plan, &directories, &context)?;
    let error = match super::rounds::run(&mut rounds, &turns, &context) {
        // Nothing was measured.
        Err(FailedTurn { error, position: 0 }) => return Err(error.into()),
        ended => ended.err().map(|failed| failed.error),
    };
    context.tell(&Event::Ends);
    let ended_by = error.as_ref().map(|error| error as _);
    let mut document = StorageProbe {
        conditions: window.close_after(ProbeKind::Storage, !context.is_stopped(), ended_by),
        plan: plan.shown(),
        targets: rounds.results(),
        reference: reference::devices(),
    };
    plumb_judge::storage::judge(&mut document);
    let complete = document.conditions.complete;
    let bare = document.targets.iter().find(|target| complete && is_bare(target));
    Ok(Probed {
        complete,
        found: complete && document.targets.iter().any(contradicts),
        error: error.or_else(|| bare.map(nothing_measured)).map(Into::into),
        document,
    })
}

/// True if none of the ways to commit that were asked for could be measured.
fn is_bare(target: &StorageTarget) -> bool {
    target.commits.iter().all(|commit| commit.rate_per_s.is_none())
}

fn nothing_measured(target: &StorageTarget) -> StorageError {
    let mut reasons: Vec<String> = Vec::new();
    for commit in &target.commits {
        let reason = commit.unavailable.as_deref().unwrap_or("nothing was committed");
        let said = format!("{}: {reason}", commit.case.method.name());
        if !reasons.contains(&said) {
            reasons.push(said);
        }
    }
    StorageError::NothingMeasured { path: (&target.path).into(), reasons: reasons.join("; ") }
}

/// True if a figure is not what its name promises.
fn contradicts(target: &StorageTarget) -> bool {
    let commits = target.commits.iter().flat_map(|commit| &commit.findings);
    commits.chain(&target.findings).any(|finding| finding.severity > Severity::Note)
}
