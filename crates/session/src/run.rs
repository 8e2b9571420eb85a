//! Runs a plan: the cluster made ready, blocks in a random order, everything folded into the document as it goes.
//!
//! The document is on disk from the first moment and rewritten after every block and every few seconds, so that a run
//! that is killed leaves one that loads; what it had done by then is kept beside it, so that it can go on. What the run
//! made on the cluster (topics, groups) it deletes, however it ends.

use crate::arm_changes::{self, ArmChanges};
use crate::block::{self, Job, Place};
use crate::ceiling;
use crate::checkpoint::{self, StepCheckpoint};
use crate::client_config;
use crate::context::RunContext;
use crate::document::Record;
use crate::error::Result;
#[cfg(doc)]
use crate::error::SessionError;
use crate::fold::StepFold;
use crate::memory;
use crate::order::{Slot, order, share};
use crate::reachable;
use crate::resume as resumption;
use crate::run_dir::{self, RunDir};
use crate::search::Candidate;
use crate::space::Space;
use crate::target::{self, Target};
use crate::targets::Targets;
use crate::unmeasured::{self, RunPart};
use crate::watcher::{Event, Watcher};
use jiff::Timestamp;
use plumb_load::calibrate::calibrate;
use plumb_load::librdkafka::java::ClientConfig;
use plumb_model::document::{RunDocument, RunState, StepResult};
use plumb_model::fault::{HasFault, chain};
use plumb_model::observation::Counts;
use plumb_model::plan::{ClusterPlan, Plan, StepPlan};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A run that is over.
#[derive(Debug)]
pub struct Finished {
    /// What it came to.
    pub document: RunDocument,
    /// Where it is, still this process's alone.
    pub dir: RunDir,
    /// How to go on with the run, with the command, where it was stopped before its end.
    pub way_on: Option<String>,
}

/// A run under way.
pub(crate) struct Run {
    pub(crate) record: Record,
    pub(crate) dir: RunDir,
    /// What the figures of each step are made of.
    pub(crate) folds: Vec<StepFold>,
    /// What a search has run at full length, by step.
    pub(crate) candidates: Vec<Vec<Candidate>>,
    pub(crate) space: Space,
    pub(crate) context: RunContext,
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
    let started = Timestamp::now();
    let config = check(&plan)?;
    let dir = RunDir::create(out, started, &plan.name)?;
    let level = plan.level;
    let steps = plan.steps.iter().enumerate();
    let trial = plan.trial.is_some();
    let fold = |(index, step): (usize, &StepPlan)| {
        let fold = StepFold::new(level, stem(index, step));
        if trial { fold.leaving_warm_up_out() } else { fold }
    };
    let folds: Vec<StepFold> = steps.map(fold).collect();
    let candidates = folds.iter().map(|_| Vec::new()).collect();
    let record = Record::new(plan, started, &config)?;
    if let Err(error) = dir.write_document(&record.document) {
        dir.discard();
        return Err(error.into());
    }
    let context = RunContext::new(config.properties, stop, watcher);
    Run { record, dir, folds, candidates, space: Space::default(), context }.carry()
}

/// Goes on with a run that was stopped or killed.
///
/// # Errors
/// [`SessionError`], as for [`run`]; [`ResumeError`](crate::ResumeError) where it cannot go on.
pub fn resume(directory: &Path, stop: &Arc<AtomicBool>, watcher: &Arc<dyn Watcher>) -> Result<Finished> {
    resumption::open(directory, stop, watcher)?.carry()
}

/// Refuses what cannot be carried out here, before anything is made or started. The client properties file of the plan.
///
/// # Errors
/// [`SessionError`] with what is refused.
pub fn check(plan: &Plan) -> Result<ClientConfig> {
    let config = client_config::read(config_path(plan))?;
    for step in &plan.steps {
        plumb_load::block::check(step, &config.properties)?;
    }
    target::check(plan)?;
    memory::check(plan)?;
    arm_changes::check(plan)?;
    Ok(config)
}

/// A run that failed keeps its document when it measured something, and leaves nothing when it did not.
fn keep_what_was_measured(dir: &RunDir, document: &RunDocument, context: &RunContext) {
    let nothing_to_undo = !arm_changes::is_left(dir);
    if nothing_to_undo && document.run.resumed.is_empty() && !document.steps.iter().any(has_figures) {
        dir.discard();
    } else if dir.write_document(document).is_ok() {
        context.note(&format!("what was measured before the error: {}", dir.path().display()));
        context.note(&way_on(&document.plan, dir));
    }
}

/// Whether anything of a step was measured. A block has seconds only once its first ones are over; what it counted is known at its
/// end without them.
fn has_figures(step: &StepResult) -> bool {
    !step.blocks.is_empty()
        || !step.series.is_empty()
        || step.search.is_some()
        || step.counts != Counts::default()
}

/// How to go on with a run: the command, and what has to be so before.
fn way_on(plan: &Plan, dir: &RunDir) -> String {
    let command = if plan.trial.is_some() { "plumb trial run" } else { "plumb run" };
    let command = format!("{command} --resume {}", dir.path().display());
    match reachable::unreachable(&plan.cluster) {
        None => format!("it can go on: {command}"),
        Some(brokers) => {
            format!("no broker of {brokers} takes a connection now; once one does, it can go on: {command}")
        }
    }
}

pub(crate) fn config_path(plan: &Plan) -> Option<&str> {
    match &plan.cluster {
        ClusterPlan::Brokers { config, .. } => config.as_deref(),
        ClusterPlan::Lab { .. } => None,
    }
}

/// Start of the names of a step's files.
pub(crate) fn stem(index: usize, step: &StepPlan) -> String {
    format!("{:02}-{}", index + 1, run_dir::file_name(&step.name))
}

/// What a block is called while it runs.
fn title(plan: &Plan, slot: Slot) -> String {
    let (position, steps) = (u64::from(slot.position), plan.steps.len() as u64);
    let name = &plan.steps[slot.index].name;
    if plan.trial.is_none() {
        return format!("block {}/{}  {name}", position + 1, u64::from(plan.blocks) * steps);
    }
    let (pair, in_round) = (position / steps + 1, position % steps + 1);
    format!("pair {pair}/{}, block {in_round}/{steps}  {name}", plan.blocks)
}

impl Run {
    /// Measures what is left to measure, and ends the document.
    fn carry(mut self) -> Result<Finished> {
        self.context.tell(&Event::Begins(&self.record.document));
        let result = self.measure();
        self.context.tell(&Event::Ends);
        self.record.finish(match &result {
            Err(error) if !error.is_stop() => RunState::Failed { error: chain(error).join(": ") },
            _ if self.context.is_stopped() => RunState::Interrupted,
            _ => RunState::Complete,
        });
        if let (Err(error), RunState::Failed { .. }) = (result, &self.record.document.run.state) {
            keep_what_was_measured(&self.dir, &self.record.document, &self.context);
            return Err(error);
        }
        self.dir.write_document(&self.record.document)?;
        let way_on = match self.record.document.run.state {
            RunState::Complete => {
                self.forget_state()?;
                None
            }
            _ => Some(way_on(&self.record.document.plan, &self.dir)),
        };
        Ok(Finished { document: self.record.document, dir: self.dir, way_on })
    }

    /// Everything between the first and the last word of the document.
    fn measure(&mut self) -> Result<()> {
        let plan = self.record.document.plan.clone();
        let _claim = arm_changes::claim(&plan, &self.dir, &self.context)?;
        self.record.describe_host();
        if plan.trial.is_none() {
            let changed = &mut self.record.document.environment.changed_by_trial;
            *changed = changed.take().or_else(arm_changes::changed_by_others);
        }
        // Whoever goes on with the run has to know its host before it undoes anything there.
        self.dir.write_document(&self.record.document)?;
        // Before there is a lab, so that no broker of ours starts beside it.
        if let Some(host) = self.record.document.environment.host.clone()
            && self.record.document.instrument.ceilings.is_empty()
        {
            let ceilings = ceiling::ceilings(&plan, &host, &self.context)?;
            self.record.document.instrument.ceilings = ceilings;
        }
        let mut targets = Targets::ready(&plan, &self.record.document, &self.context)?;
        self.describe(&plan, &mut targets);
        let part = self.part();
        targets.settle(&plan, &part, &self.context)?;
        if plan.goal.is_some() {
            return self.search_all(&plan, part.spin_ns, targets.of(0));
        }
        self.run_blocks(&plan, &part, &mut targets)?;
        if self.context.is_stopped() {
            return Ok(());
        }
        for index in 0..plan.steps.len() {
            if self.record.document.steps[index].twin.is_some() {
                continue;
            }
            if let Some(times) = unmeasured::twin(&plan, index, &part, targets.of(index), &self.context)? {
                self.record.twin_done(index, times);
                self.keep(index)?;
            }
        }
        Ok(())
    }

    /// The blocks that are left, until there are none, the user stops, or the trial is decided.
    fn run_blocks(&mut self, plan: &Plan, part: &RunPart, targets: &mut Targets) -> Result<()> {
        for slot in self.left(plan) {
            if !self.context.is_stopped() && targets.restart_is_due(plan, slot.round) {
                targets.restart(plan, &self.record.document.run.id, &self.context)?;
                self.describe(plan, targets);
                targets.settle(plan, part, &self.context)?;
            }
            if self.context.is_stopped() {
                return Ok(());
            }
            self.surrounded_block(plan, slot, part.spin_ns, targets)?;
            if let Some(reason) = self.decided(slot) {
                self.context.note(&format!("plumb: decided after {} pairs: {reason}", slot.round + 1));
                return Ok(());
            }
        }
        Ok(())
    }

    /// The clusters, as they describe themselves.
    fn describe(&mut self, plan: &Plan, targets: &mut Targets) {
        self.record.describe(targets.first());
        for (index, _) in plan.steps.iter().enumerate().filter(|(_, step)| step.cluster.is_some()) {
            self.record.describe_own(index, targets.of(index));
        }
    }

    /// This part of the run: from its beginning, or from where it goes on.
    fn part(&mut self) -> RunPart {
        let suffix = match self.record.document.run.resumed.len() {
            0 => String::new(),
            times => format!("-r{times}"),
        };
        RunPart { run: self.record.run_number(), suffix, spin_ns: self.calibrated() }
    }

    /// How long before a send to stop sleeping. A run that goes on keeps to what it began with.
    fn calibrated(&mut self) -> u64 {
        let before = &self.record.document.instrument;
        if before.clock_read_ns.is_some() {
            return before.spin_ns;
        }
        let calibration = calibrate();
        self.record.instrument(&calibration);
        calibration.spin_ns
    }

    /// The blocks that are not done, in their order.
    fn left(&self, plan: &Plan) -> Vec<Slot> {
        let steps = &self.record.document.steps;
        let done: BTreeSet<u32> =
            steps.iter().flat_map(|step| &step.blocks).map(|block| block.position).collect();
        order(plan).into_iter().filter(|slot| !done.contains(&slot.position)).collect()
    }

    /// Why a trial that stops when it is decided may stop after this block; none before its round is whole.
    fn decided(&self, slot: Slot) -> Option<String> {
        let document = &self.record.document;
        let in_round = |step: &StepResult| step.blocks.iter().any(|block| block.block == slot.round);
        document.steps.iter().all(in_round).then(|| plumb_judge::trial::decided(document))?
    }

    /// One block of the plan, in the surroundings that its arm wants.
    fn surrounded_block(
        &mut self,
        plan: &Plan,
        slot: Slot,
        spin_ns: u64,
        targets: &mut Targets,
    ) -> Result<()> {
        let broker_start = targets.broker_start;
        let target = targets.of(slot.index);
        let changes = match arm_changes::arm(plan, slot.index) {
            None => None,
            Some(arm) => {
                Some(ArmChanges::enter(arm, slot.round, &target.cluster.bootstrap, &self.dir, &self.context)?)
            }
        };
        self.record.document.steps[slot.index].effective.host = arm_changes::host_settings(plan);
        let job = Job { broker_start, ..self.job(plan, slot, spin_ns) };
        let done = self.block(&job, target);
        let done = target.check_lab().and(done);
        let undone = changes.map_or(Ok(()), ArmChanges::leave);
        match (done, undone) {
            (Err(error), Err(left)) if error.is_stop() => Err(left),
            (Err(error), Err(left)) => {
                self.context.note(&format!("warning: {}", chain(&left).join(": ")));
                Err(error)
            }
            (done, undone) => done.and(undone),
        }
    }

    /// What a block of the plan is.
    fn job<'a>(&self, plan: &'a Plan, slot: Slot, spin_ns: u64) -> Job<'a> {
        let step = &plan.steps[slot.index];
        let resumed = self.record.document.run.resumed.len();
        Job {
            step,
            slot,
            share: share(&step.load, plan.blocks, slot.round),
            seed: plan.seed,
            spin_ns,
            shown: true,
            title: title(plan, slot),
            topic: block::topic(step, slot, resumed),
            own_topic: block::has_own_topic(step),
            broker_start: 0,
            resumed,
        }
    }

    /// Runs a block of the plan.
    fn block(&mut self, job: &Job<'_>, target: &mut Target) -> Result<()> {
        let index = job.slot.index;
        let mut place = Place {
            record: &mut self.record,
            fold: &mut self.folds[index],
            dir: &mut self.dir,
            target,
            space: &mut self.space,
            context: &self.context,
        };
        if block::run(job, &mut place)? {
            if let Some(block) = self.record.document.steps[index].blocks.last() {
                let done = Event::BlockDone { title: &job.title, step: index, plan: job.step, block };
                self.context.tell(&done);
            }
            self.keep(index)?;
        }
        self.dir.write_document(&self.record.document)?;
        Ok(())
    }

    /// Keeps a step as it is after a block, so that the run can go on from here. A block that was cut short is not done.
    pub(crate) fn keep(&self, index: usize) -> Result<()> {
        let result = &self.record.document.steps[index];
        if result.blocks.iter().any(|block| block.cut_short) {
            return Ok(());
        }
        let fold = &self.folds[index];
        let step = StepCheckpoint {
            run: self.record.document.run.id.clone(),
            result: result.clone(),
            span: self.record.spans[index],
            fold: fold.state(&self.dir),
            candidates: self.candidates[index].iter().map(|candidate| candidate.kept(&self.dir)).collect(),
        };
        if self.record.document.plan.trial.is_some() {
            self.dir.rename_state(&checkpoint::file(fold.stem()), &checkpoint::file_before(fold.stem()))?;
        }
        checkpoint::write(&self.dir, fold.stem(), &step)?;
        Ok(())
    }

    /// A complete run does not go on.
    fn forget_state(&self) -> Result<()> {
        for fold in &self.folds {
            self.dir.remove_state(&checkpoint::file(fold.stem()))?;
            self.dir.remove_state(&checkpoint::file_before(fold.stem()))?;
        }
        Ok(())
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
