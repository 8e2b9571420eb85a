//! Runs a plan: the cluster made ready, blocks in a random order, everything folded into the document as it goes.
//!
//! The document is on disk from the first moment and rewritten after every block and every few seconds, so that a run
//! that is killed leaves one that loads; what it had done by then is kept beside it, so that it can go on. What the run
//! made on the cluster (topics, groups) it deletes, however it ends.

mod around;
mod beside;
mod block;
mod ceiling;
mod cpu;
mod devices;
mod document;
mod fold;
mod kept;
mod log_dirs;
mod memory;
mod metrics;
mod order;
mod reachable;
mod read_back;
mod resume;
mod search;
mod space;
mod sums;
mod target;
mod targets;
mod watch;

use crate::client_config;
use crate::install_dir;
use crate::printer;
use crate::progress::Progress;
use crate::run_dir::RunDir;
use anyhow::Result;
use around::Around;
pub(crate) use around::{HookError, HostSettingError, JournalError};
use block::{Job, Place};
pub(crate) use ceiling::forget as forget_ceilings;
use document::Record;
use fold::StepFold;
pub(crate) use fold::histogram_of;
use jiff::Timestamp;
use kept::KeptStep;
pub(crate) use memory::TooLittleMemory;
use order::{Slot, order, share};
use plumb_load::calibrate::calibrate;
use plumb_load::librdkafka::java::ClientConfig;
use plumb_model::document::{RunDocument, RunState, StepResult};
use plumb_model::plan::{Plan, StepPlan};
pub(crate) use resume::ResumeError;
use search::Candidate;
use space::Space;
pub(crate) use space::TooLittleSpace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::Target;
pub(crate) use target::heap_mib;
use targets::Targets;

/// A run that is over.
pub(crate) struct Finished {
    pub(crate) document: RunDocument,
    pub(crate) page: PathBuf,
    /// Directories of what there is to install, one for each winner.
    pub(crate) installs: Vec<PathBuf>,
    /// How to go on with the run, with the command, where it was stopped before its end.
    pub(crate) way_on: Option<String>,
}

impl Finished {
    /// Says where the page is, and how to go on: last, because whoever stopped a run looks at the last lines.
    pub(crate) fn say_what_is_there(&self) {
        printer::remark(&format!("report: {}", self.page.display()));
        for place in &self.installs {
            printer::note(&format!("to install: {}", place.join("README.md").display()));
        }
        if let Some(command) = &self.way_on {
            printer::note(command);
        }
    }
}

/// A run under way.
struct Run {
    record: Record,
    dir: RunDir,
    /// What the figures of each step are made of.
    folds: Vec<StepFold>,
    /// What a search has run at full length, by step.
    candidates: Vec<Vec<Candidate>>,
    space: Space,
}

/// Runs a plan.
pub(crate) fn run(plan: Plan, out: Option<&Path>, stop: &Arc<AtomicBool>) -> Result<Finished> {
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
    carry(Run { record, dir, folds, candidates, space: Space::default() }, &config, stop)
}

/// Goes on with a run that was stopped or killed.
pub(crate) fn resume(directory: &Path, stop: &Arc<AtomicBool>) -> Result<Finished> {
    resume::check_host(directory)?;
    around::put_right(resume::directory(directory))?;
    let run = resume::open(directory)?;
    let config = check(&run.record.document.plan)?;
    carry(run, &config, stop)
}

/// Measures what is left to measure, and ends the document.
fn carry(mut run: Run, config: &ClientConfig, stop: &Arc<AtomicBool>) -> Result<Finished> {
    let progress = Progress::new(&run.record.document);
    let result = run.measure((&config.properties, stop, &progress));
    progress.end();
    run.record.finish(match &result {
        Err(error) if !crate::errors::is_stop(error) => {
            RunState::Failed { error: crate::errors::chain(error).join(": ") }
        }
        _ if stop.load(Ordering::Relaxed) => RunState::Interrupted,
        _ => RunState::Complete,
    });
    if let (Err(error), RunState::Failed { .. }) = (result, &run.record.document.run.state) {
        keep_what_was_measured(&run.dir, &run.record.document);
        return Err(error);
    }
    run.dir.write_document(&run.record.document)?;
    let page = run.dir.write_page(&run.record.document)?;
    let way_on = match run.record.document.run.state {
        RunState::Complete => {
            run.forget_state()?;
            None
        }
        _ => Some(way_on(&run.record.document.plan, &run.dir)),
    };
    let installs = match way_on {
        None => install_dir::write(&run.dir.path().join(install_dir::NAME), &run.record.document)?,
        Some(_) => Vec::new(),
    };
    Ok(Finished { document: run.record.document, page, installs, way_on })
}

/// Refuses what cannot be carried out here, before anything is made or started. The client properties file of the plan.
pub(crate) fn check(plan: &Plan) -> Result<ClientConfig> {
    let config = client_config::read(config_path(plan))?;
    for step in &plan.steps {
        plumb_load::block::check(step, &config.properties)?;
    }
    target::check(plan)?;
    memory::check(plan)?;
    around::check(plan)?;
    Ok(config)
}

/// A run that failed keeps its document when it measured something, and leaves nothing when it did not.
fn keep_what_was_measured(dir: &RunDir, document: &RunDocument) {
    let nothing = |step: &StepResult| step.series.is_empty() && step.search.is_none();
    let nothing_to_undo = !around::is_left(dir);
    if nothing_to_undo && document.run.resumed.is_empty() && document.steps.iter().all(nothing) {
        dir.discard();
    } else if dir.write_document(document).is_ok() {
        printer::note(&format!("what was measured before the error: {}", dir.path().display()));
        printer::note(&way_on(&document.plan, dir));
    }
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

fn config_path(plan: &Plan) -> Option<&str> {
    match &plan.cluster {
        plumb_model::plan::ClusterPlan::Brokers { config, .. } => config.as_deref(),
        plumb_model::plan::ClusterPlan::Lab { .. } => None,
    }
}

/// Start of the names of a step's files.
fn stem(index: usize, step: &StepPlan) -> String {
    format!("{:02}-{}", index + 1, crate::run_dir::file_name(&step.name))
}

type Context<'a> = (&'a plumb_model::plan::Properties, &'a Arc<AtomicBool>, &'a Progress);

impl Run {
    /// Everything between the first and the last word of the document.
    fn measure(&mut self, context: Context<'_>) -> Result<()> {
        let (_, stop, progress) = context;
        let plan = self.record.document.plan.clone();
        let _claim = around::claim(&plan, &self.dir)?;
        self.record.describe_host();
        if plan.trial.is_none() {
            let changed = &mut self.record.document.environment.changed_by_trial;
            *changed = changed.take().or_else(around::changed_by_others);
        }
        // Whoever goes on with the run has to know its host before it undoes anything there.
        self.dir.write_document(&self.record.document)?;
        // Before there is a lab, so that no broker of ours starts beside it.
        if let Some(host) = self.record.document.environment.host.clone()
            && self.record.document.instrument.ceilings.is_empty()
        {
            let ceilings = ceiling::ceilings(&plan, &host, (stop, progress))?;
            self.record.document.instrument.ceilings = ceilings;
        }
        let mut targets = Targets::ready(&plan, &self.record.document, context)?;
        self.describe(&plan, &mut targets);
        let spin_ns = self.calibrated();
        let again = match self.record.document.run.resumed.len() {
            0 => String::new(),
            times => format!("-r{times}"),
        };
        let run = self.record.run_number();
        targets.settle((&plan, &again), run, (spin_ns, stop, progress))?;
        if let Some(goal) = plan.goal {
            return self.search_all((&plan, goal), spin_ns, (targets.of(0), stop, progress));
        }
        for slot in self.left(&plan) {
            if !stop.load(Ordering::Relaxed) && targets.restart_is_due(&plan, slot.round) {
                let id = self.record.document.run.id.clone();
                targets.restart(&plan, &id, context)?;
                self.describe(&plan, &mut targets);
                targets.settle((&plan, &again), run, (spin_ns, stop, progress))?;
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.surrounded_block(&plan, slot, spin_ns, (&mut targets, context))?;
            if let Some(reason) = self.decided(slot) {
                printer::note(&format!("plumb: decided after {} pairs: {reason}", slot.round + 1));
                break;
            }
        }
        for index in 0..plan.steps.len() {
            if self.record.document.steps[index].twin.is_some() {
                continue;
            }
            let context = (spin_ns, &**stop, progress);
            if let Some(times) = beside::twin((&plan, &again), index, targets.of(index), run, context)? {
                self.record.twin_done(index, times);
                self.keep(index)?;
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
        (targets, context): (&mut Targets, Context<'_>),
    ) -> Result<()> {
        let (security, stop, progress) = context;
        let broker_start = targets.broker_start;
        let target = targets.of(slot.index);
        let around = match around::arm(plan, slot.index) {
            None => None,
            Some(arm) => {
                let bootstrap = target.cluster.bootstrap.clone();
                Some(Around::enter((arm, slot.round), &bootstrap, &self.dir, security, stop)?)
            }
        };
        self.record.document.steps[slot.index].effective.host = around::host_settings(plan);
        let done = self.block((plan, broker_start), slot, spin_ns, (target, stop, progress));
        let undone = around.map_or(Ok(()), Around::leave);
        match (done, undone) {
            (Err(error), Err(left)) if crate::errors::is_stop(&error) => Err(left),
            (Err(error), Err(left)) => {
                printer::note(&format!("warning: {}", crate::errors::chain(&left).join(": ")));
                Err(error)
            }
            (done, undone) => done.and(undone),
        }
    }

    /// One block of the plan.
    fn block(
        &mut self,
        (plan, broker_start): (&Plan, u32),
        slot: Slot,
        spin_ns: u64,
        (target, stop, progress): (&mut Target, &AtomicBool, &Progress),
    ) -> Result<()> {
        let step = &plan.steps[slot.index];
        let resumed = self.record.document.run.resumed.len();
        let job = Job {
            step,
            slot,
            share: share(&step.load, plan.blocks, slot.round),
            seed: plan.seed,
            spin_ns,
            shown: true,
            title: progress.title(slot.position, step),
            topic: block::topic(step, slot, resumed),
            own_topic: block::has_own_topic(step),
            broker_start,
            resumed,
        };
        let mut place = Place {
            record: &mut self.record,
            fold: &mut self.folds[slot.index],
            dir: &mut self.dir,
            target,
            space: &mut self.space,
            stop,
            progress,
        };
        if block::run(&job, &mut place)? {
            if let Some(block) = self.record.document.steps[slot.index].blocks.last() {
                progress.block_done(&job.title, (slot.index, step), block);
            }
            self.keep(slot.index)?;
        }
        self.dir.write_document(&self.record.document)?;
        Ok(())
    }

    /// Keeps a step as it is after a block, so that the run can go on from here. A block that was cut short is not done.
    fn keep(&self, index: usize) -> Result<()> {
        let result = &self.record.document.steps[index];
        if result.blocks.iter().any(|block| block.cut_short) {
            return Ok(());
        }
        let fold = &self.folds[index];
        let step = KeptStep {
            run: self.record.document.run.id.clone(),
            result: result.clone(),
            span: self.record.spans[index],
            fold: fold.state(&self.dir),
            candidates: self.candidates[index].iter().map(|candidate| candidate.kept(&self.dir)).collect(),
        };
        if self.record.document.plan.trial.is_some() {
            self.dir.rename_state(&kept::file(fold.stem()), &kept::file_before(fold.stem()))?;
        }
        kept::write(&self.dir, fold.stem(), &step)?;
        Ok(())
    }

    /// A complete run does not go on.
    fn forget_state(&self) -> Result<()> {
        for fold in &self.folds {
            self.dir.remove_state(&kept::file(fold.stem()))?;
            self.dir.remove_state(&kept::file_before(fold.stem()))?;
        }
        Ok(())
    }
}
