//! Going on with a run that was stopped or killed: its kept part is taken over, or the reason is given why it cannot go on.
//!
//! A block counts as done when it is in its step's kept file; a block that was under way is run anew, at its place in the order
//! and with its seeds. In a trial the whole round is: blocks hours apart, or on different starts of brokers, are no pair.

use super::checkpoint::{self, CandidateCheckpoint, Span, StepCheckpoint};
use super::decider;
use super::document::Record;
use super::fold::StepFold;
use super::measured::Measured;
use super::next_block::Apart;
use super::resumable::{ResumeError, check, check_host};
use super::search::{Candidate, at_rate, candidate_stem};
use super::space::Space;
use crate::arm_changes;
use crate::context::RunContext;
use crate::error::Result;
#[cfg(doc)]
use crate::error::SessionError;
use crate::run::{Finished, Run, after_losses};
use crate::run_dir::{RunDir, RunDirError, read_document, step_stem};
use crate::watcher::Watcher;
use crate::workers::WorkersOptions;
use plumb_model::document::RunDocument;
use plumb_model::plan::StepPlan;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Goes on with a run that was stopped or killed.
///
/// # Errors
/// [`SessionError`], as for [`run`](crate::run()); [`ResumeError`] where it cannot go on.
pub fn resume(directory: &Path, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Result<Finished> {
    resume_with_workers(directory, &WorkersOptions::default(), stop, watcher)
}

/// Goes on with a run whose clients may be run by workers, which join as `workers` says.
///
/// # Errors
/// As [`resume`]; and when the workers do not join in time.
pub fn resume_with_workers(
    directory: &Path,
    workers: &WorkersOptions,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Finished> {
    after_losses(open(directory, stop, watcher)?.carry(workers)?, workers)
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
pub(crate) fn open(path: &Path, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Result<Run> {
    let document = read_document(path)?;
    let directory = directory(path);
    check(&document, directory)?;
    check_host(&document, directory)?;
    arm_changes::put_right(directory, watcher)?;
    let security = crate::run::check(&document.plan)?.properties;
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
        let (level, stem) = (document.plan.level, step_stem(index, plan));
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
            let mut scratch = record.scratch(at_rate(&record.document.plan.steps[index], rate_per_s));
            scratch.spans = vec![candidate.span];
            scratch.replace(0, candidate.result);
            all.push(Candidate { rate_per_s, runs: Apart { record: scratch, fold } });
        }
        Ok(all)
    };
    let candidates = candidates.into_iter().enumerate().map(restore).collect::<Result<_>>()?;
    let order = decider::of_plan(&record, candidates);
    Ok(Run {
        measured: Measured { record, folds, dir },
        order,
        space: Space::default(),
        context,
        journal: None,
    })
}

/// The kept part of each step, none of one without a done block; with the files' stems of steps that are taken back to before a
/// round that is not whole.
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
        let stem = step_stem(index, plan);
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
