//! Runs a plan: the cluster made ready, blocks in a random order, everything folded into the document as it goes.
//!
//! The document is on disk from the first moment and rewritten after every block and every few seconds, so that a run
//! that is killed leaves one that loads. What the run made on the cluster (topics, groups) it deletes, however it ends.

mod beside;
mod devices;
mod document;
mod fold;
mod log_dirs;
mod target;
mod watch;

use crate::client_config;
use crate::progress::Progress;
use crate::run_dir::RunDir;
use anyhow::Result;
use document::Record;
use fold::StepFold;
use jiff::Timestamp;
use plumb_load::block::{self, BlockSpec};
use plumb_load::calibrate::calibrate;
use plumb_load::librdkafka::java::ClientConfig;
use plumb_load::observation::Observation;
use plumb_load::random::Random;
use plumb_load::schedule::Share;
use plumb_model::document::{RunDocument, RunState};
use plumb_model::plan::{Length, LoadPlan, Plan};
use plumb_model::units::Nanos;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use target::Target;
pub(crate) use target::heap_mib;
use watch::Watch;

/// Time between two writings of the document while a block runs.
const WRITE_EVERY: Duration = Duration::from_secs(3);
/// At least so many times as long as writing took passes before it is written again.
const WRITE_RARITY: u32 = 200;

/// A run that is over.
pub(crate) struct Finished {
    pub(crate) document: RunDocument,
    pub(crate) page: PathBuf,
}

/// Runs a plan.
pub(crate) fn run(plan: Plan, out: Option<&Path>, stop: &Arc<AtomicBool>) -> Result<Finished> {
    let started = Timestamp::now();
    let config = checked_config(&plan)?;
    let mut dir = RunDir::create(out, started, &plan.name)?;
    let mut record = Record::new(plan, started, &config)?;
    if let Err(error) = dir.write_document(&record.document) {
        dir.discard();
        return Err(error.into());
    }
    let progress = Progress::new(&record.document.plan);
    let mut folds: Vec<StepFold> = Vec::new();
    let result = measure(&mut record, &mut dir, &mut folds, (&config.properties, stop, &progress));
    progress.end();
    record.finish(match &result {
        Err(error) if !crate::errors::is_stop(error) => {
            RunState::Failed { error: crate::errors::chain(error).join(": ") }
        }
        _ if stop.load(Ordering::Relaxed) => RunState::Interrupted,
        _ => RunState::Complete,
    });
    if let (Err(error), RunState::Failed { .. }) = (result, &record.document.run.state) {
        keep_what_was_measured(&dir, &record.document);
        return Err(error);
    }
    dir.write_document(&record.document)?;
    let page = dir.write_page(&record.document)?;
    Ok(Finished { document: record.document, page })
}

/// Goes on with a run that was stopped or killed.
pub(crate) fn resume(directory: &Path, _stop: &Arc<AtomicBool>) -> Result<Finished> {
    let hint = "start it anew: nothing of it was lost";
    Err(crate::errors::UsageError::new(format!("{} cannot go on yet", directory.display()), hint).into())
}

/// The client properties file of a plan, after the client library accepted every property that the plan would set.
pub(crate) fn checked_config(plan: &Plan) -> Result<ClientConfig> {
    let config = client_config::read(config_path(plan))?;
    for step in &plan.steps {
        block::check(step, &config.properties)?;
    }
    Ok(config)
}

/// A run that failed keeps its document when it measured something, and leaves nothing when it did not.
fn keep_what_was_measured(dir: &RunDir, document: &RunDocument) {
    if document.steps.iter().all(|step| step.series.is_empty()) {
        dir.discard();
    } else if dir.write_document(document).is_ok() {
        crate::printer::note(&format!("what was measured before the error: {}", dir.path().display()));
    }
}

fn config_path(plan: &Plan) -> Option<&str> {
    match &plan.cluster {
        plumb_model::plan::ClusterPlan::Brokers { config, .. } => config.as_deref(),
        plumb_model::plan::ClusterPlan::Lab { .. } => None,
    }
}

type Context<'a> = (&'a plumb_model::plan::Properties, &'a Arc<AtomicBool>, &'a Progress);

/// Everything between the first and the last word of the document.
fn measure(
    record: &mut Record,
    dir: &mut RunDir,
    folds: &mut Vec<StepFold>,
    context: Context<'_>,
) -> Result<()> {
    let (_, stop, progress) = context;
    let plan = record.document.plan.clone();
    let mut target = Target::ready(&plan, &record.document.run.id, context)?;
    record.describe(&target);
    let calibration = calibrate();
    record.instrument(&calibration);
    for index in 0..plan.steps.len() {
        let stem = format!("{:02}-{}", index + 1, crate::run_dir::file_name(&plan.steps[index].name));
        folds.push(StepFold::new(plan.level, stem));
    }
    beside::settle(&plan, &mut target, record.run_number(), (calibration.spin_ns, stop, progress))?;
    let mut position = 0;
    for round in 0..plan.blocks {
        for index in Random::for_part(plan.seed, u64::from(round)).order(plan.steps.len()) {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let job = Job { plan: &plan, index, round, position, spin_ns: calibration.spin_ns };
            run_block(&job, record, dir, (&mut folds[index], &mut target, stop, progress))?;
            dir.write_document(&record.document)?;
            position += 1;
        }
    }
    for index in 0..plan.steps.len() {
        let (run, spin_ns) = (record.run_number(), calibration.spin_ns);
        if let Some(times) = beside::twin(&plan, index, &mut target, run, (spin_ns, stop, progress))? {
            record.twin_done(index, times);
        }
    }
    Ok(())
}

/// One block of one step.
struct Job<'a> {
    plan: &'a Plan,
    index: usize,
    round: u32,
    position: u32,
    spin_ns: u64,
}

type BlockContext<'a> = (&'a mut StepFold, &'a mut Target, &'a AtomicBool, &'a Progress);

fn run_block(
    job: &Job<'_>,
    record: &mut Record,
    dir: &mut RunDir,
    (fold, target, stop, progress): BlockContext<'_>,
) -> Result<()> {
    let step = &job.plan.steps[job.index];
    let topic = target.topic(&(job.index + 1).to_string(), &step.topic)?;
    let run = Random::for_part(record.run_number(), u64::from(job.position)).number();
    let group = format!("plumb-{}-{}", record.document.run.id, job.position);
    let spec = BlockSpec {
        run,
        group: &group,
        step,
        topic: &topic.name,
        partitions: topic.leaders.len(),
        share: share(&step.load, job.plan.blocks, job.round),
        seed: Random::for_part(job.plan.seed, u64::from(job.position) + 1_000).number(),
        spin_ns: job.spin_ns,
    };
    let until_device = devices::until_device(&spec, target, (stop, progress))?;
    let started_at = Timestamp::now();
    progress.block(job.position, &step.name, &spec.share);
    let mut watch = Watch::begin(target);
    fold.begin_block(job.round);
    let mut write_error = None;
    let mut next_write = Instant::now() + WRITE_EVERY;
    let result = {
        let record = &mut *record;
        let mut sink = |observation: Observation<'_>| match observation {
            Observation::ScheduleBegins => fold.schedule_begins(),
            Observation::MeasuredPartBegins => watch.measured_part_begins(),
            Observation::MeasuredPartEnds => watch.measured_part_ends(),
            Observation::Second(part) => {
                progress.second(part);
                let mut keep = || -> Result<(), crate::run_dir::RunDirError> {
                    fold.take(part, dir)?;
                    let begun = Instant::now();
                    if begun >= next_write {
                        record.in_progress(job.index, fold);
                        dir.write_progress(&record.document)?;
                        // The longer it takes, the rarer it comes: it must not be what is measured.
                        next_write = Instant::now() + WRITE_EVERY.max(begun.elapsed() * WRITE_RARITY);
                    }
                    Ok(())
                };
                if write_error.is_none() {
                    write_error = keep().err();
                }
            }
        };
        block::run(&target.cluster, &spec, stop, &mut sink)
    };
    target.cluster.delete_group(&group);
    if let Some(error) = write_error {
        return Err(error.into());
    }
    let outcome = match result {
        // A stop before the first measured message leaves nothing to note.
        Err(plumb_load::LoadError::Stopped) => return Ok(()),
        other => other?,
    };
    let watched = watch.end();
    let mut block = fold.end_block(&outcome, dir)?;
    block.position = job.position;
    block.cut_short = outcome.stopped;
    block.started_at = document::timestamp(started_at);
    block.request_times = watched.request_times.clone();
    block.host = watched.host.clone();
    block.broker_io = watched.broker_io;
    block.until_device = until_device;
    progress.block_done(job.position, &step.name, &block);
    record.block_done(job.index, fold, (block, outcome, watched), (target, &topic));
    Ok(())
}

/// The block's share of the step's measured part; the first blocks get what does not divide.
fn share(load: &LoadPlan, blocks: u32, round: u32) -> Share {
    let (blocks, round) = (u64::from(blocks), u64::from(round));
    match load.length {
        Length::Count(count) => Share::Count(count / blocks + u64::from(round < count % blocks)),
        Length::Duration(time) => Share::Time(Nanos(time.0 / blocks)),
    }
}
