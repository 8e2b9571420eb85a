//! Going on with a run that was stopped or killed: what it had done is taken as it was kept, or the reason is given why
//! it cannot go on.
//!
//! A block counts as done when it is in its step's kept file; a block that was under way is run anew, at its place in the
//! order and with its seeds. In a trial the whole round is: blocks hours apart, or on different starts of brokers, are no pair.

use super::checkpoint::{self, CandidateCheckpoint, Span, StepCheckpoint};
use super::document::Record;
use super::fold::StepFold;
use super::measured::Measured;
use super::next_block::{self, Apart};
use super::search::{Candidate, candidate_stem};
use super::space::Space;
use crate::arm_changes;
use crate::context::RunContext;
use crate::error::Result;
use crate::run::{Run, stem};
use crate::run_dir::{RunDir, RunDirError, read_document};
use crate::watcher::Watcher;
use plumb_model::document::{RunDocument, RunState};
use plumb_model::facts::{Fact, HostFacts};
use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::{ClusterPlan, Plan, StepPlan};
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thiserror::Error;

/// A run that cannot go on.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum ResumeError {
    #[error("{path} is complete: nothing is left to do")]
    Complete { path: String },
    #[error("{path} was begun by plumb {expected}; this is {got}")]
    OtherVersion { path: String, expected: String, got: &'static str },
    #[error("{path} was begun on another host: its {what} was {expected}, here it is {got}")]
    OtherHost { path: String, what: &'static str, expected: String, got: String },
    #[error("{path} was begun on cluster {expected}; {bootstrap} is cluster {got}")]
    OtherCluster { path: String, bootstrap: String, expected: String, got: String },
    #[error("{path} is not of this run, or is damaged")]
    Damaged { path: String },
    #[error("{path} says what is to be undone on this host, and is damaged")]
    UndoDamaged {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

impl HasFault for ResumeError {
    fn fault(&self) -> Fault {
        match self {
            ResumeError::OtherCluster { .. } => Fault::Target,
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            ResumeError::Complete { .. } => "plumb report shows it",
            ResumeError::OtherVersion { .. } => {
                "go on with the plumb that began it: two may not measure alike. Or start it anew"
            }
            ResumeError::OtherHost { .. } | ResumeError::OtherCluster { .. } => {
                "blocks of two machines or clusters cannot stand in one run: go on where it was begun, or start it anew"
            }
            ResumeError::UndoDamaged { .. } => {
                "put the host's settings back by hand, then remove the file: host-settings.json in /run/plumb (or \
                 PLUMB_RUNTIME_DIR, or plumb below XDG_RUNTIME_DIR) says what they were"
            }
            ResumeError::Damaged { .. } => "start it anew; what it measured is in its report",
        };
        Some(hint.into())
    }
}

/// A run's directory. The document itself may be named, as everywhere.
fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !path.is_dir() => parent,
        _ => path,
    }
}

/// Opens a run's directory to go on with it. A run that is over, of another version or of another host is refused before
/// anything is touched; then what a killed part left changed on this host is put right, and only then the plan is checked: its
/// check refuses a host with such changes.
pub(super) fn open(path: &Path, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Result<Run> {
    let document = read_document(path)?;
    let directory = directory(path);
    check(&document, directory)?;
    check_host(&document, directory)?;
    arm_changes::put_right(directory, watcher)?;
    let security = crate::check(&document.plan)?.properties;
    let context = RunContext::new(security, stop, watcher);
    let (steps, taken_back) = kept_steps(&document, directory, &context)?;
    let mut log_bytes = BTreeMap::new();
    for step in steps.iter().flatten() {
        let folds = [&step.fold].into_iter().chain(step.candidates.iter().map(|candidate| &candidate.fold));
        folds.for_each(|fold| log_bytes.extend(fold.log_bytes.clone()));
    }
    let dir = RunDir::reopen(directory, &log_bytes)?;
    for stem in taken_back {
        dir.remove_state(&checkpoint::file(&stem))?;
        dir.rename_state(&checkpoint::file_before(&stem), &checkpoint::file(&stem))?;
    }
    run(document, steps, dir, context)
}

/// The run as it was after the last block of each step.
fn run(
    mut document: RunDocument,
    steps: Vec<Option<StepCheckpoint>>,
    dir: RunDir,
    context: RunContext,
) -> Result<Run> {
    let path = dir.path().display().to_string();
    let damaged = |_| ResumeError::Damaged { path: path.clone() };
    let (mut folds, mut spans, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
    for (index, kept) in steps.into_iter().enumerate() {
        let plan = &document.plan.steps[index];
        let (level, stem) = (document.plan.level, stem(index, plan));
        let in_trial = document.plan.trial.is_some();
        let for_trial = |fold: StepFold| if in_trial { fold.leaving_warm_up_out() } else { fold };
        let Some(kept) = kept else {
            document.steps[index] = super::document::empty_result(plan);
            folds.push(for_trial(StepFold::new(level, stem)));
            spans.push(Span::default());
            candidates.push(Vec::new());
            continue;
        };
        let fold = StepFold::restore(level, stem, &kept.fold, &kept.result).map_err(damaged)?;
        folds.push(for_trial(fold));
        spans.push(kept.span);
        document.steps[index] = kept.result;
        candidates.push(kept.candidates);
    }
    let record = Record::resumed(document, spans);
    let level = record.document.plan.level;
    let restore = |(index, kept): (usize, Vec<CandidateCheckpoint>)| -> Result<Vec<Candidate>> {
        let mut all = Vec::new();
        for candidate in kept {
            let rate_per_s = candidate.rate_per_s;
            let stem = candidate_stem(index, &record.document.plan.steps[index], rate_per_s);
            let fold = StepFold::restore(level, stem, &candidate.fold, &candidate.result).map_err(damaged)?;
            let mut scratch = record.scratch(index, rate_per_s);
            scratch.spans = vec![candidate.span];
            scratch.replace(0, candidate.result);
            all.push(Candidate { rate_per_s, runs: Apart { record: scratch, fold } });
        }
        Ok(all)
    };
    let candidates = candidates.into_iter().enumerate().map(restore).collect::<Result<_>>()?;
    let order = next_block::of_plan(&record, candidates);
    Ok(Run { measured: Measured { record, folds, dir }, order, space: Space::default(), context })
}

/// What does not change between the parts of a run.
fn check(document: &RunDocument, directory: &Path) -> Result<(), ResumeError> {
    let path = directory.display().to_string();
    if document.run.state == RunState::Complete {
        return Err(ResumeError::Complete { path });
    }
    let got = env!("CARGO_PKG_VERSION");
    if document.run.plumb_version != got {
        return Err(ResumeError::OtherVersion { path, expected: document.run.plumb_version.clone(), got });
    }
    if document.steps.len() != document.plan.steps.len() {
        return Err(ResumeError::Damaged { path });
    }
    Ok(())
}

/// A run goes on where it was begun. This comes before anything is undone: on another host that would be a change, and the way
/// back would be lost.
fn check_host(document: &RunDocument, directory: &Path) -> Result<()> {
    let path = directory.display().to_string();
    let Some(before) = &document.environment.host else { return Ok(()) };
    let now = host_facts(&HostRoot::default(), &SystemCommands::default());
    for Likeness { what, expected, got } in identity(before, &now) {
        if expected != got {
            return Err(ResumeError::OtherHost { path, what, expected, got }.into());
        }
    }
    Ok(())
}

/// Something of a host that does not change while it is the same one.
struct Likeness {
    what: &'static str,
    expected: String,
    got: String,
}

/// What makes a host the same one, as far as both know it.
fn identity(before: &HostFacts, now: &HostFacts) -> Vec<Likeness> {
    fn pair<T: ToString>(what: &'static str, before: &Fact<T>, now: &Fact<T>) -> Option<Likeness> {
        Some(Likeness { what, expected: before.value()?.to_string(), got: now.value()?.to_string() })
    }
    let pairs = [
        pair("machine id's digest", &before.host_digest, &now.host_digest),
        pair("processor", &before.cpu_model, &now.cpu_model),
        pair("number of processors", &before.logical_cpus, &now.logical_cpus),
        pair("memory", &before.memory_total_bytes, &now.memory_total_bytes),
        pair("kernel", &before.kernel_release, &now.kernel_release),
    ];
    pairs.into_iter().flatten().collect()
}

/// The cluster has to be the one on which the run was begun. A lab is a new one each time, made alike.
pub(super) fn check_cluster(
    plan: &Plan,
    document: &RunDocument,
    id: Option<&str>,
) -> Result<(), ResumeError> {
    let ClusterPlan::Brokers { bootstrap, .. } = &plan.cluster else { return Ok(()) };
    match (document.environment.cluster.id.as_deref(), id) {
        (Some(expected), Some(got)) if expected != got => Err(ResumeError::OtherCluster {
            path: document.run.name.clone(),
            bootstrap: bootstrap.clone(),
            expected: expected.to_owned(),
            got: got.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// What was kept of each step, none of one without a done block; and the files' stems of steps that are taken back to before
/// a round that is not whole.
fn kept_steps(
    document: &RunDocument,
    directory: &Path,
    context: &RunContext,
) -> Result<(Vec<Option<StepCheckpoint>>, Vec<String>)> {
    let read = |(plan, name): (&StepPlan, String)| -> Result<Option<StepCheckpoint>> {
        let path = directory.join(name);
        let text = match fs_err::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(RunDirError::Read)?,
        };
        let damaged = || ResumeError::Damaged { path: path.display().to_string() };
        let step: StepCheckpoint = serde_json::from_slice(&text).map_err(|_| damaged())?;
        if step.run != document.run.id || step.result.name != plan.name {
            return Err(damaged().into());
        }
        Ok(Some(step))
    };
    let (mut steps, mut stems) = (Vec::new(), Vec::new());
    for (index, plan) in document.plan.steps.iter().enumerate() {
        let stem = stem(index, plan);
        let step = match read((plan, checkpoint::file(&stem)))? {
            // Killed between putting the former aside and writing the next.
            None => read((plan, checkpoint::file_before(&stem)))?,
            step => step,
        };
        steps.push(step);
        stems.push(stem);
    }
    let mut taken_back = Vec::new();
    if document.plan.trial.is_some() {
        let broken = broken_rounds(&steps);
        for ((step, stem), plan) in steps.iter_mut().zip(stems).zip(&document.plan.steps) {
            if step.as_ref().is_some_and(|step| rounds(step).any(|round| broken.contains(&round))) {
                *step = read((plan, checkpoint::file_before(&stem)))?;
                taken_back.push(stem);
            }
        }
        if !broken_rounds(&steps).is_empty() {
            return Err(ResumeError::Damaged { path: directory.display().to_string() }.into());
        }
        for round in broken {
            context.note(&format!(
                "pair {} was not whole: all its blocks are measured anew, as they have to be neighbours",
                round + 1
            ));
        }
    }
    Ok((steps, taken_back))
}

fn rounds(step: &StepCheckpoint) -> impl Iterator<Item = u32> {
    step.result.blocks.iter().map(|block| block.block)
}

/// Rounds in which some step has a block and another has none.
fn broken_rounds(steps: &[Option<StepCheckpoint>]) -> BTreeSet<u32> {
    let of = |step: &Option<StepCheckpoint>| -> BTreeSet<u32> { step.iter().flat_map(rounds).collect() };
    let any: BTreeSet<u32> = steps.iter().flat_map(of).collect();
    any.into_iter().filter(|round| !steps.iter().all(|step| of(step).contains(round))).collect()
}
