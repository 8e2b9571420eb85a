//! The loop over the blocks of a run, whoever decides which comes next: brokers started anew where the plan wants that, the
//! changes of an arm around its blocks, the block, its figures in the document and on disk, and the events for watchers.

use super::block::{self, Figures, Job, Place};
use super::next_block::{Apart, Ended, Outcome, Planned};
use super::run::Run;
use super::target::Target;
use super::targets::Targets;
use super::unmeasured::RunPart;
use crate::arm_changes::{self, ArmChanges, Surroundings};
use crate::error::{Result, SessionError};
use crate::watcher::Event;
use plumb_model::fault::{HasFault, chain};
use plumb_model::plan::{Plan, Properties};

/// The conditions of the whole run while a block runs.
#[derive(Debug, Clone, Copy)]
struct Conditions {
    spin_ns: u64,
    broker_start: u32,
}

impl Run {
    /// Runs the blocks that are left, until there are none or the user stops.
    pub(super) fn run_blocks(&mut self, plan: &Plan, part: &RunPart, targets: &mut Targets) -> Result<()> {
        while let Some(planned) = self.order.next(&mut self.measured, &self.context)? {
            if !self.context.is_stopped() && targets.restart_is_due(plan, planned.job.turn) {
                targets.restart(plan, &self.measured.record.document.run.id, &self.context)?;
                self.describe(plan, targets);
                targets.settle(plan, part, &self.context)?;
            }
            if self.context.is_stopped() {
                return Ok(());
            }
            let conditions = Conditions { spin_ns: part.spin_ns, broker_start: targets.broker_start };
            let target = targets.of(planned.job.slot.index);
            self.surrounded_block(plan, planned, target, conditions)?;
        }
        Ok(())
    }

    /// One block, in the surroundings that its arm wants.
    fn surrounded_block(
        &mut self,
        plan: &Plan,
        planned: Planned,
        target: &mut Target,
        conditions: Conditions,
    ) -> Result<()> {
        let (index, turn) = (planned.job.slot.index, planned.job.turn);
        let cluster = &target.cluster;
        let host = arm_changes::surroundings(plan, cluster, &self.context)?;
        let surroundings = Surroundings { host: &host, journal: self.journal.as_ref() };
        let enter = |arm| ArmChanges::enter(arm, turn, cluster, &surroundings, &self.context);
        let changes = planned.arm.as_ref().or_else(|| arm_changes::arm(plan, index)).map(enter).transpose();
        let changes = match changes {
            Ok(changes) => changes,
            Err(error) => return self.not_run(&planned.job, error),
        };
        let settings = arm_changes::host_settings(plan, &host);
        let done = self.block(settings, planned, target, conditions);
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

    /// Runs a block, and keeps what it came to.
    fn block(
        &mut self,
        settings: Properties,
        planned: Planned,
        target: &mut Target,
        conditions: Conditions,
    ) -> Result<()> {
        let Planned { job, mut apart, .. } = planned;
        let step = job.slot.index;
        let figures = match &mut apart {
            None => self.measured.figures(step),
            Some(Apart { record, fold }) => Figures { record, step: 0, fold, dir: &mut self.measured.dir },
        };
        figures.record.document.steps[figures.step].effective.host = settings;
        let Conditions { spin_ns, broker_start } = conditions;
        let (space, context) = (&mut self.space, &self.context);
        let mut place = Place { figures, target, space, context, spin_ns, broker_start };
        let measured = match block::run(&job, &mut place) {
            Ok(measured) => measured,
            Err(error) => return self.not_run(&job, error),
        };
        // A block that was cut short is not done: a run that goes on runs it anew.
        let whole = measured && !place.figures.last_block_was_cut_short();
        let ended = Ended { apart, measured, stopped: self.context.is_stopped() };
        let outcome = self.order.ended(&job, ended, &mut self.measured);
        match &outcome {
            Outcome::Nothing => {}
            Outcome::Tried(_) => self.tell_tried(&job, &outcome),
            Outcome::Block => {
                if let Some(block) = self.measured.record.document.steps[step].blocks.last() {
                    let done = Event::BlockDone { title: &job.title, step, plan: &job.step, block };
                    self.context.tell(&done);
                }
            }
        }
        if whole && outcome != Outcome::Nothing {
            self.keep(step)?;
        }
        self.measured.write()
    }

    /// Goes on without a block that ended with an error, where that is the block's own.
    fn not_run(&mut self, job: &Job, error: SessionError) -> Result<()> {
        let outcome = self.order.failed(job, error, &mut self.measured)?;
        self.tell_tried(job, &outcome);
        self.measured.write()
    }

    fn tell_tried(&self, job: &Job, outcome: &Outcome) {
        if let Outcome::Tried(outcome) = outcome {
            self.context.tell(&Event::Tried { title: &job.title, outcome });
        }
    }

    /// Keeps a step as it is now, so that the run can go on from here.
    pub(super) fn keep(&self, step: usize) -> Result<()> {
        self.measured.keep(step, self.order.candidates(step, &self.measured.dir))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm_changes::HostJournal;
    use crate::context::RunContext;
    use crate::decider;
    use crate::document::Record;
    use crate::fold::StepFold;
    use crate::measured::Measured;
    use crate::run_dir::RunDir;
    use crate::space::Space;
    use crate::watcher::Watcher;
    use jiff::Timestamp;
    use plumb_lab::sink::{SinkBroker, SinkOptions};
    use plumb_load::librdkafka::java::ClientConfig;
    use plumb_model::plan::Properties;
    use plumb_model::resolve::{Sources, resolve};
    use plumb_model::trial::{Against, ArmPlan, TrialPlan};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Stops a run after so many tries of its search.
    struct StopAfter {
        tries: AtomicUsize,
        stop: Arc<AtomicBool>,
    }

    impl Watcher for StopAfter {
        fn event(&self, event: &Event<'_>) {
            if matches!(event, Event::Tried { .. }) && self.tries.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    /// A search for a rate whose only step is an arm with commands.
    fn plan(bootstrap: &str, calls: &Path) -> Plan {
        let file = format!(
            "cluster: {{bootstrap: \"{bootstrap}\"}}\nload: {{duration: 200ms, warm_up: 0s, size: 100B}}\ngoal: p50=10s\n"
        );
        let scenario = serde_saphyr::from_str(&file).unwrap();
        let mut plan = resolve(&scenario, &Sources::new()).unwrap();
        let call = |word: &str| Some(format!("echo {word} $PLUMB_PAIR >> {}", calls.display()));
        let arm = ArmPlan {
            name: "a".into(),
            step: 0,
            differences: Properties::new(),
            before: call("before"),
            after: call("after"),
            host: Properties::new(),
        };
        plan.trial = Some(TrialPlan {
            arms: vec![arm],
            again: 1,
            against: Against::Reference,
            primary: "end_to_end.p50".into(),
            margin: 0.03,
            until_decided: false,
            restart_every: 0,
            accept: Vec::new(),
        });
        plan
    }

    #[test]
    fn the_commands_of_an_arm_run_around_every_try_of_a_search() {
        let sink = SinkBroker::start(SinkOptions::default()).unwrap();
        let place = tempfile::tempdir().unwrap();
        let calls = place.path().join("calls.txt");
        let plan = plan(&sink.bootstrap(), &calls);
        let stop = Arc::<AtomicBool>::default();
        let stop_after = StopAfter { tries: AtomicUsize::new(2), stop: Arc::clone(&stop) };
        let watcher: Arc<dyn Watcher> = Arc::new(stop_after);
        let context = RunContext::new(Properties::new(), &stop, &watcher);
        let dir = RunDir::create(Some(&place.path().join("run")), Timestamp::now(), "search").unwrap();
        let record = Record::new(plan.clone(), Timestamp::now(), &ClientConfig::default()).unwrap();
        let mut targets = Targets::ready(&plan, &record.document, &context).unwrap();
        let folds = vec![StepFold::new(plan.level, "01-a".to_owned())];
        let order = decider::of_plan(&record, vec![Vec::new()]);
        let measured = Measured { record, folds, dir };
        let journal = Some(HostJournal::at(&place.path().join("journal")));
        let mut run = Run { measured, order, space: Space::default(), context, journal };
        let part = RunPart { run: 1, suffix: String::new(), spin_ns: 0 };

        run.run_blocks(&plan, &part, &mut targets).unwrap();

        let called = std::fs::read_to_string(&calls).unwrap();
        assert_eq!(called, "before 1\nafter 1\nbefore 2\nafter 2\n");
        let search = run.measured.record.document.steps[0].search.as_ref().unwrap();
        assert_eq!(search.tries.len(), 2);
    }
}
