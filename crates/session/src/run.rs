//! Runs a plan: the cluster made ready, its blocks (`blocks.rs`), everything folded into the document as it goes.
//!
//! The document is on disk from the first moment and rewritten after every block and every few seconds, so that a run
//! that is killed leaves one that loads; what it had done by then is kept beside it, so that it can go on. What the run
//! made on the cluster (topics, groups) it deletes, however it ends.

use crate::arm_changes::{self, HostJournal};
use crate::ceiling;
use crate::client_config;
use crate::context::RunContext;
use crate::decider;
use crate::document::Record;
use crate::error::Result;
#[cfg(doc)]
use crate::error::SessionError;
use crate::external;
use crate::fold::StepFold;
use crate::measured::Measured;
use crate::memory;
use crate::next_block::NextBlock;
use crate::reachable;
use crate::resume;
use crate::run_dir::{RunDir, step_stem};
use crate::space::Space;
use crate::target;
use crate::targets::Targets;
use crate::unmeasured::{self, RunPart};
use crate::watcher::{Event, Watcher, WayOn};
use crate::workers::{self, WorkerCrew, WorkersOptions};
use crate::written;
use jiff::Timestamp;
use plumb_load::LoadError;
use plumb_load::calibrate::calibrate;
use plumb_load::librdkafka::java::ClientConfig;
use plumb_load::remote::LostWorker;
use plumb_model::document::{LostBlock, RunDocument, RunState, StepResult};
use plumb_model::fault::{HasFault, chain};
use plumb_model::observation::Counts;
use plumb_model::plan::{Plan, StepPlan};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run that is over.
#[derive(Debug)]
pub struct Finished {
    /// The document.
    pub document: RunDocument,
    /// The directory, still this process's alone.
    pub dir: RunDir,
    /// The command with which the run goes on, and its conditions, where it was stopped before its end.
    pub way_on: Option<String>,
    /// What to go on with where a worker was lost.
    pub(crate) lost: Option<Lost>,
}

/// Losses of workers in a row, without a block that came to its end, after which a run does not go on by itself (ours: more are no
/// accident, and each costs the cluster a block's load).
const LOSSES_IN_A_ROW: u32 = 4;

/// A worker that was lost in a run, and the surroundings in which it may come back.
#[derive(Debug)]
pub(crate) struct Lost {
    worker: LostWorker,
    workers: Arc<WorkerCrew>,
    context: RunContext,
}

/// A run under way.
pub(crate) struct Run {
    pub(crate) measured: Measured,
    pub(crate) order: Box<dyn NextBlock>,
    pub(crate) space: Space,
    pub(crate) context: RunContext,
    /// Where it is written down what the arms of a trial change on this host.
    pub(crate) journal: Option<HostJournal>,
}

/// Runs a plan. `out`: the run's directory; without it one below `runs` is made.
///
/// # Errors
/// [`SessionError`]. What was measured before it is in the run's directory; where nothing was measured, nothing is left.
pub fn run(
    plan: Plan,
    out: Option<&Path>,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Finished> {
    run_with_workers(plan, out, &WorkersOptions::default(), stop, watcher)
}

/// Runs a plan whose clients may be run by workers, which join as `workers` says.
///
/// # Errors
/// As [`run`]; and when the workers do not join in time.
pub fn run_with_workers(
    plan: Plan,
    out: Option<&Path>,
    workers: &WorkersOptions,
    stop: &Arc<AtomicBool>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Finished> {
    let started = Timestamp::now();
    let config = check(&plan)?;
    let dir = RunDir::create(out, started, &plan.name)?;
    let level = plan.level;
    let steps = plan.steps.iter().enumerate();
    let trial = plan.trial.is_some();
    let fold = |(index, step): (usize, &StepPlan)| {
        let fold = StepFold::new(level, step_stem(index, step));
        if trial { fold.leaving_warm_up_out() } else { fold }
    };
    let folds: Vec<StepFold> = steps.map(fold).collect();
    let record = Record::new(plan, started, &config)?;
    if let Err(error) = dir.write_document(&record.document) {
        dir.discard();
        return Err(error.into());
    }
    let context = RunContext::new(config.properties, stop, watcher);
    let order = decider::of_plan(&record, folds.iter().map(|_| Vec::new()).collect());
    let run = Run {
        measured: Measured { record, folds, dir },
        order,
        space: Space::default(),
        context,
        journal: None,
    };
    after_losses(run.carry(workers)?, workers)
}

/// Goes on with a run that lost a worker, each time that it comes back in time: the block in which it was lost is measured anew.
/// Losses without a block between them are no chance: after some the run is left as it is, to be resumed.
pub(crate) fn after_losses(mut finished: Finished, options: &WorkersOptions) -> Result<Finished> {
    let (mut losses, mut blocks) = (0, None);
    while let Some(Lost { worker, workers, context }) = finished.lost.take() {
        let block = lost_block(&finished.document, &worker);
        context.note(&format!("warning: worker {} was lost: {}", worker.name, worker.reason));
        let measured = finished.document.steps.iter().map(|step| step.blocks.len()).sum::<usize>();
        losses = if blocks == Some(measured) { losses + 1 } else { 1 };
        blocks = Some(measured);
        let is_back = match losses {
            LOSSES_IN_A_ROW.. => Err(LoadError::WorkerLost {
                worker: worker.name.clone(),
                reason: format!("{losses} workers were lost one after another and no block came to its end"),
            }
            .into()),
            _ => workers.take_back(&worker, options.back, &context),
        };
        let path = finished.dir.path().to_owned();
        drop(finished);
        let opened = resume::open(&path, &context.stop, &context.watcher);
        workers.ended(&opened);
        let mut run = opened?;
        run.context.workers = Some(workers);
        if let Err(error) = is_back {
            run.measured.record.lost_for_good(block);
            return run.end_with(Err(error), options);
        }
        run.measured.record.went_on_after(block);
        finished = run.carry(options)?;
    }
    Ok(finished)
}

/// The block that ended because a worker was lost, and what is known of it.
fn lost_block(document: &RunDocument, lost: &LostWorker) -> LostBlock {
    let LostWorker { name, reason } = lost.clone();
    let mut blocks =
        document.steps.iter().flat_map(|step| step.blocks.iter().map(move |block| (step, block)));
    // One that was lost before the first message was due has no block.
    let of_it = blocks.find(|(_, block)| block.lost_worker.is_some());
    LostBlock {
        worker: name,
        reason,
        step: of_it.map(|(step, _)| step.name.clone()),
        block: of_it.map(|(_, block)| block.block),
        counts: of_it.map(|(_, block)| block.counts),
    }
}

/// Refuses what cannot be carried out here, before anything is made or started. The client properties file of the plan.
///
/// # Errors
/// [`SessionError`] with what is refused.
pub fn check(plan: &Plan) -> Result<ClientConfig> {
    let config = client_config::read(client_config::path(plan))?;
    for (index, step) in plan.steps.iter().enumerate() {
        let own = client_config::read(client_config::path_of_step(plan, step))?;
        plumb_load::block::check(step, &own.properties)
            .map_err(|error| written::placed(plan, index, error))?;
    }
    for step in &plan.steps {
        external::programs(step)?;
    }
    target::check(plan)?;
    memory::check(plan)?;
    arm_changes::check(plan)?;
    Ok(config)
}

/// A run that failed keeps its document when it measured something, and leaves nothing when it did not.
fn keep_what_was_measured(
    dir: &RunDir,
    document: &RunDocument,
    workers: &WorkersOptions,
    context: &RunContext,
) {
    let nothing_to_undo = !arm_changes::is_left(dir);
    let has_blocks = document.settings_search.as_ref().is_some_and(|search| !search.blocks.is_empty());
    let has_figures = has_blocks || document.steps.iter().any(has_figures);
    if nothing_to_undo && document.run.resumed.is_empty() && !has_figures {
        dir.discard();
    } else if dir.write_document(document).is_ok() {
        context.note(&format!("what was measured before the error: {}", dir.path().display()));
        context.tell(&Event::CanGoOn(&way_on(&document.plan, dir, workers)));
    }
}

/// True if anything of a step was measured. A block has seconds only once its first ones are over; its counts are known at its
/// end without them.
fn has_figures(step: &StepResult) -> bool {
    !step.blocks.is_empty()
        || !step.series.is_empty()
        || step.search.is_some()
        || step.counts != Counts::default()
}

/// The command with which a run goes on, and the conditions for it.
fn way_on(plan: &Plan, dir: &RunDir, workers: &WorkersOptions) -> WayOn {
    let command = match (&plan.trial, &plan.settings_search) {
        (Some(_), _) => "plumb trial run",
        (None, Some(_)) => "plumb search",
        (None, None) => "plumb run",
    };
    // A run keeps neither its port nor what its workers know it by.
    let door = if workers::needed(plan) > 0 { workers.flags() } else { String::new() };
    WayOn {
        command: format!("{command} --resume {}{door}", dir.path().display()),
        unreachable: reachable::unreachable(&plan.cluster).map(str::to_owned),
    }
}

impl Run {
    /// Measures what is left to measure, and ends the document.
    pub(super) fn carry(mut self, workers: &WorkersOptions) -> Result<Finished> {
        self.context.tell(&Event::Begins(&self.measured.record.document));
        let result = self.gather(workers).and_then(|()| self.measure());
        self.context.tell(&Event::Ends);
        self.end_with(result, workers)
    }

    /// Ends the document, and has the workers know how the run ended.
    fn end_with(self, result: Result<()>, options: &WorkersOptions) -> Result<Finished> {
        let crew = self.context.workers.clone();
        let ended = self.end_document(result, options);
        if let Some(crew) = crew {
            crew.ended(&ended);
        }
        ended
    }

    fn end_document(mut self, result: Result<()>, workers: &WorkersOptions) -> Result<Finished> {
        self.measured.record.finish(match &result {
            Err(error) if !error.is_stop() => RunState::Failed { error: chain(error).join(": ") },
            Err(_) => RunState::Interrupted,
            _ if self.context.is_stopped() => RunState::Interrupted,
            _ => RunState::Complete,
        });
        if let (Err(error), RunState::Failed { .. }) = (result, &self.measured.record.document.run.state) {
            let document = &self.measured.record.document;
            keep_what_was_measured(&self.measured.dir, document, workers, &self.context);
            return Err(error);
        }
        self.measured.write()?;
        let way_on = match self.measured.record.document.run.state {
            RunState::Complete => {
                self.measured.forget_state()?;
                None
            }
            _ => Some(way_on(&self.measured.record.document.plan, &self.measured.dir, workers).to_string()),
        };
        let lost = self.context.lost_worker().cloned().zip(self.context.workers.clone());
        let lost = lost.map(|(worker, workers)| Lost { worker, workers, context: self.context.clone() });
        Ok(Finished { document: self.measured.record.document, dir: self.measured.dir, way_on, lost })
    }

    /// Waits for the workers that the plan wants, if they are not there already.
    fn gather(&mut self, options: &WorkersOptions) -> Result<()> {
        let needed = workers::needed(&self.measured.record.document.plan);
        if needed == 0 || self.context.workers.is_some() {
            return Ok(());
        }
        let workers = WorkerCrew::gather(options, needed, &self.context)?;
        self.measured.record.document.environment.workers = workers.facts().to_vec();
        self.context.workers = Some(Arc::new(workers));
        Ok(())
    }

    /// Everything between the first and the last word of the document.
    fn measure(&mut self) -> Result<()> {
        let plan = self.measured.record.document.plan.clone();
        self.journal = arm_changes::open_journal(&plan, &self.measured.dir, &self.context)?;
        let measured = self.measure_plan(&plan);
        if let Some(journal) = self.journal.take() {
            journal.close();
        }
        measured
    }

    fn measure_plan(&mut self, plan: &Plan) -> Result<()> {
        self.measured.record.describe_host();
        if plan.trial.is_none() {
            let changed = &mut self.measured.record.document.environment.changed_by_trial;
            *changed = changed.take().or_else(arm_changes::changed_by_others);
        }
        // Whoever goes on with the run has to know its host before it undoes anything there.
        self.measured.write()?;
        // Before there is a lab, so that no broker of ours starts beside it.
        if let Some(host) = self.measured.record.document.environment.host.clone()
            && self.measured.record.document.instrument.ceilings.is_empty()
        {
            let ceilings = ceiling::ceilings(plan, &host, &self.context)?;
            self.measured.record.document.instrument.ceilings = ceilings;
        }
        let mut targets = Targets::ready(plan, &self.measured.record.document, &self.context)?;
        self.describe(plan, &mut targets);
        for step in 0..plan.steps.len() {
            arm_changes::check_cluster(plan, step, &targets.of(step).cluster, &self.context)?;
        }
        let part = self.part();
        targets.settle(plan, &part, &self.context)?;
        self.run_blocks(plan, &part, &mut targets)?;
        if self.context.is_stopped() {
            return Ok(());
        }
        for index in 0..plan.steps.len() {
            if self.measured.record.document.steps[index].twin.is_some() {
                continue;
            }
            if let Some(times) = unmeasured::twin(plan, index, &part, targets.of(index), &self.context)? {
                self.measured.record.twin_done(index, times);
                self.keep(index)?;
            }
        }
        Ok(())
    }

    /// The clusters, as they describe themselves.
    pub(crate) fn describe(&mut self, plan: &Plan, targets: &mut Targets) {
        self.measured.record.describe(targets.shared(plan));
        for (index, _) in plan.steps.iter().enumerate().filter(|(_, step)| step.cluster.is_some()) {
            self.measured.record.describe_own(index, targets.of(index));
        }
    }

    /// This part of the run: from its beginning, or from where it goes on.
    fn part(&mut self) -> RunPart {
        let suffix = match self.measured.record.document.run.resumed.len() {
            0 => String::new(),
            times => format!("-r{times}"),
        };
        RunPart { run: self.measured.record.run_number(), suffix, spin_ns: self.calibrated() }
    }

    /// The time before a send at which sleeping ends, in nanoseconds. A run that goes on keeps the time with which it began.
    fn calibrated(&mut self) -> u64 {
        let before = &self.measured.record.document.instrument;
        if before.clock_read_ns.is_some() {
            return before.spin_ns;
        }
        let calibration = calibrate();
        self.measured.record.instrument(&calibration);
        calibration.spin_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::document::BlockResult;
    use plumb_model::observation::SecondRow;

    #[test]
    fn a_step_with_a_block_or_counts_and_without_seconds_was_measured() {
        assert!(!has_figures(&StepResult::default()));
        let blocks = vec![BlockResult::default()];
        assert!(has_figures(&StepResult { blocks, ..StepResult::default() }));
        let counts = Counts { acked: 1, ..Counts::default() };
        assert!(has_figures(&StepResult { counts, ..StepResult::default() }));
        let series = vec![SecondRow::default()];
        assert!(has_figures(&StepResult { series, ..StepResult::default() }));
    }
}
