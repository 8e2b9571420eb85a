//! One block of one step: its topic, its clients, the readings beside it, and its part of the document.

use super::devices;
use super::document::{DoneBlock, Record};
use super::fold::StepFold;
use super::readings::BlockReader;
use super::settings_search::GiveUp;
use super::slot::Slot;
use super::space::Space;
use super::target::Target;
use super::utc::timestamp;
use crate::context::RunContext;
use crate::error::{Result, SessionError};
use crate::external;
use crate::run_dir::{RunDir, RunDirError};
use crate::watcher::Event;
use crate::workers::WorkerCrew;
use jiff::Timestamp;
use plumb_load::LoadError;
use plumb_load::block::{self, BlockSpec};
use plumb_load::observation::Observation;
use plumb_load::random::Random;
use plumb_load::remote::{LostWorker, WorkerOutcome};
use plumb_load::schedule::Share;
use plumb_model::document::WorkerBlock;
use plumb_model::metric::PACKETS_LOST;
use plumb_model::observation::measured_cpu_ns;
use plumb_model::plan::{Mode, StepPlan, TopicPlan};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two writings of the document while a block runs.
const WRITE_EVERY: Duration = Duration::from_secs(3);
/// At least so many times as long as writing took passes before it is written again.
const WRITE_RARITY: u32 = 200;

/// A block to run.
pub(super) struct Job {
    /// Its step, as it runs.
    pub(super) step: StepPlan,
    pub(super) slot: Slot,
    /// Grows over the run: the round of a drawn order, the number of a search's try. Brokers are started anew by it, and commands
    /// around blocks are told it.
    pub(super) turn: u32,
    pub(super) share: Share,
    /// The plan's seed.
    pub(super) seed: u64,
    /// True if it is shown while it runs: its figures so far go into the run's document.
    pub(super) shown: bool,
    /// Its title for a person while it runs.
    pub(super) title: String,
    /// Ends the name of its topic.
    pub(super) topic: String,
    /// True if the topic is the block's alone, and is deleted with it.
    pub(super) own_topic: bool,
    /// The latency at which it ends before its time.
    pub(super) give_up: Option<GiveUp>,
    /// True if brokers that give no answer any more are an error: that says nothing of its settings, and no other block is begun.
    pub(super) needs_answers: bool,
}

/// The places that take the figures of a block.
pub(super) struct Figures<'a> {
    pub(super) record: &'a mut Record,
    /// The step's place in the record's document.
    pub(super) step: usize,
    pub(super) fold: &'a mut StepFold,
    pub(super) dir: &'a mut RunDir,
}

impl Figures<'_> {
    /// True if the block that was measured last ended before its time.
    pub(super) fn last_block_was_cut_short(&self) -> bool {
        self.record.document.steps[self.step].blocks.last().is_some_and(|block| block.cut_short)
    }
}

/// The surroundings of a block, and the places that take its figures.
pub(super) struct Place<'a> {
    pub(super) figures: Figures<'a>,
    pub(super) target: &'a mut Target,
    pub(super) space: &'a mut Space,
    pub(super) context: &'a RunContext,
    /// The time before a send at which sleeping ends and spinning begins.
    pub(super) spin_ns: u64,
    /// The number of times that the brokers had been started anew.
    pub(super) broker_start: u32,
}

/// Ends the names of topics. A block that writes as much as it can, or reads all there is, has a topic of its own, so that
/// every block meets the same disk; others of a step share one.
pub(super) fn topic(step: &StepPlan, slot: Slot, resumed: usize) -> String {
    let mut name = (slot.index + 1).to_string();
    if has_own_topic(step) {
        name.push_str(&format!("-{}", slot.position));
    }
    if resumed > 0 {
        name.push_str(&format!("-r{resumed}"));
    }
    name
}

/// True if each block of a step has a topic of its own.
pub(super) fn has_own_topic(step: &StepPlan) -> bool {
    let fills = step.load.saturating() || matches!(step.load.mode, Mode::Consume | Mode::Backlog(_));
    fills && matches!(step.topic, TopicPlan::Own { .. })
}

/// Runs a block. False when the user stopped it before its first measured message: nothing is noted of it then.
pub(super) fn run(job: &Job, place: &mut Place<'_>) -> Result<bool> {
    let done = measure(job, place);
    let is_of_brokers = matches!(done, Ok(_) | Err(SessionError::Load(_)));
    if !job.needs_answers || !is_of_brokers || place.context.is_stopped() {
        return done;
    }
    let cluster = &place.target.cluster;
    match cluster.silence() {
        Some(silent_for) => {
            Err(LoadError::Silent { bootstrap: cluster.bootstrap.clone(), silent_for }.into())
        }
        None => done,
    }
}

fn measure(job: &Job, place: &mut Place<'_>) -> Result<bool> {
    let Place { figures, target, space, context, .. } = place;
    let Figures { record, step: index, fold, dir } = figures;
    let (step, slot, index) = (&job.step, job.slot, *index);
    let room = match job.own_topic {
        true => Some(space.wait_for_room(target, context)?),
        false => None,
    };
    let topic = target.topic(&job.topic, &step.topic)?;
    // What a block sent before the run went on must not be taken for what it sends again.
    let resumed = record.document.run.resumed.len() as u64;
    let part = u64::from(slot.position) + (resumed << 32);
    let group = format!("plumb-{}-{}-{part}", record.document.run.id, slot.index + 1);
    let programs = external::programs(step)?;
    let spec = BlockSpec {
        run: Random::for_part(record.run_number(), part).bits(),
        group: &group,
        step,
        topic: &topic.name,
        partitions: topic.leaders.len(),
        share: job.share,
        seed: Random::for_part(job.seed, u64::from(slot.position) + 1_000).bits(),
        spin_ns: place.spin_ns,
        programs: programs.as_ref(),
    };
    let until_device = devices::until_device(&spec, target, context)?;
    let started_at = Timestamp::now();
    context.tell(&Event::Block { title: &job.title, step: slot.index, share: &spec.share });
    let decides = record.document.plan.trial.as_ref().map(|trial| trial.primary.as_str());
    let mut reader = BlockReader::begin(target, decides == Some(PACKETS_LOST));
    fold.begin_block(slot.round);
    let mut write_error = None;
    let block_end = BlockEnd::default();
    let mut next_write = Instant::now() + WRITE_EVERY;
    let result = {
        let mut sink = |observation: Observation<'_>| match observation {
            Observation::ScheduleBegins => fold.schedule_begins(),
            Observation::MeasuredPartBegins => reader.measured_part_begins(),
            Observation::SecondBegins(second) => reader.second_begins(second),
            Observation::MeasuredPartEnds => reader.measured_part_ends(),
            Observation::Second(part) => {
                context.tell(&Event::Second(part));
                let mut keep = || -> Result<(), RunDirError> {
                    fold.take(part, dir)?;
                    let is_due =
                        |give_up: &&GiveUp| !part.warm_up && f64::from(part.second) >= give_up.after_s;
                    if job.give_up.as_ref().filter(is_due).is_some_and(|give_up| give_up.is_hopeless(fold)) {
                        block_end.end();
                    }
                    let begun = Instant::now();
                    if job.shown && begun >= next_write {
                        record.in_progress(index, fold);
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
        let workers = context.workers.as_deref().map(WorkerCrew::links);
        let workers = workers.as_deref().map_or(&[][..], Vec::as_slice);
        let workers = &workers[..workers.len().min(step.load.workers as usize)];
        let mut run = |stop: &AtomicBool| block::run_with(workers, &target.cluster, &spec, stop, &mut sink);
        match job.give_up {
            None => run(target.stop()),
            Some(_) => block_end.or_that_of(target.stop(), run),
        }
    };
    target.cluster.delete_group(&group);
    if let Some(error) = write_error {
        return Err(error.into());
    }
    let outcome = match result {
        // A stop before the first measured message leaves nothing to note.
        Err(LoadError::Stopped) => return Ok(false),
        Err(LoadError::WorkerLost { worker, reason }) => {
            context.lose(LostWorker { name: worker, reason });
            return Ok(false);
        }
        other => other?,
    };
    if let Some(lost) = &outcome.lost_worker {
        context.lose(lost.clone());
    }
    let readings = reader.end();
    let mut block = fold.end_block(&outcome, &readings.cpu, dir)?;
    block.position = slot.position;
    block.cut_short = outcome.stopped;
    block.started_at = timestamp(started_at);
    block.request_times = readings.request_times.clone();
    block.host = readings.host.clone();
    block.host_losses = readings.losses.clone();
    block.broker_io = readings.broker_io;
    block.programs = outcome.programs.clone();
    block.workers = outcome.workers.iter().map(worker_block).collect();
    block.lost_worker = outcome.lost_worker.as_ref().map(|lost| format!("{}: {}", lost.name, lost.reason));
    let own_cpu_ns = readings.own.as_ref().and_then(|own| own.cpu_ns);
    let programs_s = measured_cpu_ns(&block.programs).map(|ns| ns as f64 / 1e9);
    block.client_cpu_s = client_cpu_s(own_cpu_ns, &block.workers)
        .zip(programs_s)
        .map(|(own_s, programs_s)| own_s + programs_s);
    block.broker_cpu_s = readings.broker_cpu_s;
    block.broker_start = place.broker_start;
    block.until_device = until_device;
    let done = DoneBlock { result: block, outcome, readings, target, topic: &topic };
    record.block_done(index, fold, done);
    if let Some(room) = room {
        space.note_use(target, &room);
        target.delete(&job.topic);
    }
    Ok(true)
}

fn worker_block(outcome: &WorkerOutcome) -> WorkerBlock {
    let count = |clients: usize| u32::try_from(clients).unwrap_or(u32::MAX);
    WorkerBlock {
        name: outcome.name.clone(),
        producers: count(outcome.segment.producers.len()),
        consumers: count(outcome.segment.consumers.len()),
        intended: outcome.intended,
        sent: outcome.sent,
        slip_mean_ns: outcome.slip_mean_ns,
        cpu_s: outcome.cpu_ns.map(|ns| ns as f64 / 1e9),
        clock_error_ns: outcome.clock_error_ns(),
        round_trip_ns: outcome.round_trip_ns,
    }
}

/// CPU seconds of the generating program in a block's measured part: of all its processes.
fn client_cpu_s(own_cpu_ns: Option<u64>, workers: &[WorkerBlock]) -> Option<f64> {
    match workers {
        [] => own_cpu_ns.map(|ns| ns as f64 / 1e9),
        workers => workers.iter().map(|worker| worker.cpu_s).sum(),
    }
}

/// The end of a block before its time, of the block alone.
#[derive(Debug, Default)]
struct BlockEnd {
    block: AtomicBool,
    is_over: AtomicBool,
}

impl BlockEnd {
    /// The longest that a block goes on after its run's stop.
    const LATEST: Duration = Duration::from_millis(20);

    fn end(&self) {
        self.block.store(true, Ordering::Relaxed);
    }

    /// Runs a block with a stop that is the block's or the run's, whichever comes first.
    fn or_that_of<T>(&self, run_stop: &AtomicBool, run: impl FnOnce(&AtomicBool) -> T) -> T {
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !self.is_over.load(Ordering::Relaxed) && !self.block.load(Ordering::Relaxed) {
                    self.block.fetch_or(run_stop.load(Ordering::Relaxed), Ordering::Relaxed);
                    std::thread::sleep(Self::LATEST);
                }
            });
            let _over = Over(&self.is_over);
            run(&self.block)
        })
    }
}
