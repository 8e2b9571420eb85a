//! The paths under test of a run: one that all steps share, and others for steps that have brokers of their own.
//!
//! In a trial whose arms differ in their brokers, the labs of all arms are up at the same time, so that pairs stay
//! neighbours in time, and all of them are started anew together: what one start of a JVM has and another has not is then in
//! every arm alike, and in the noise floor.

use super::resumable;
use super::target::Target;
use super::unmeasured::{self, RunPart};
use crate::context::RunContext;
use crate::error::Result;
use plumb_model::document::RunDocument;
use plumb_model::plan::{ClusterPlan, Plan};

/// All paths under test.
pub(super) struct Targets {
    all: Vec<Target>,
    /// For each step, which of them it runs on.
    of_step: Vec<usize>,
    /// The number of times that the brokers had been started anew.
    pub(super) broker_start: u32,
    /// The stretch between two planned starts that the last block was in; none before the first block.
    stretch: Option<u32>,
}

impl Targets {
    /// Starts the labs, connects to the brokers.
    pub(super) fn ready(plan: &Plan, document: &RunDocument, context: &RunContext) -> Result<Self> {
        let blocks = document.steps.iter().flat_map(|step| &step.blocks);
        let starts_before = blocks.map(|block| block.broker_start + 1).max().unwrap_or(0);
        let is_lab = matches!(plan.cluster, ClusterPlan::Lab { .. });
        let mut targets = Targets {
            all: Vec::new(),
            of_step: Vec::new(),
            broker_start: if is_lab { starts_before } else { 0 },
            stretch: None,
        };
        targets.start(plan, &document.run.id, context)?;
        resumable::check_cluster(plan, document, targets.all[0].cluster.id.as_deref())?;
        if !document.run.resumed.is_empty() {
            targets.all.iter().try_for_each(Target::delete_what_was_left)?;
        }
        Ok(targets)
    }

    fn start(&mut self, plan: &Plan, run_id: &str, context: &RunContext) -> Result<()> {
        let paths = plan.paths();
        self.of_step = paths.of_step;
        for cluster in paths.all {
            self.all.push(Target::ready(cluster, run_id, context)?);
        }
        Ok(())
    }

    /// The path of a step.
    pub(super) fn of(&mut self, step: usize) -> &mut Target {
        &mut self.all[self.of_step[step]]
    }

    /// The path that the document's environment describes: the one that steps share, or else that of the first step.
    pub(super) fn shared(&self, plan: &Plan) -> &Target {
        let step = plan.steps.iter().position(|step| step.cluster.is_none()).unwrap_or(0);
        &self.all[self.of_step[step]]
    }

    /// Warms every path up with a load like that of the first step which runs on it.
    pub(super) fn settle(&mut self, plan: &Plan, part: &RunPart, context: &RunContext) -> Result<()> {
        for at in 0..self.all.len() {
            let Some(step) = self.of_step.iter().position(|target| *target == at) else { continue };
            unmeasured::settle(plan, step, part, &mut self.all[at], context)?;
        }
        Ok(())
    }

    /// True if the plan has the brokers started anew before a block of this round. The first block of all needs no start.
    pub(super) fn restart_is_due(&mut self, plan: &Plan, round: u32) -> bool {
        let every = plan.trial.as_ref().map_or(0, |trial| trial.restart_every);
        let Some(stretch) = round.checked_div(every) else { return false };
        let before = self.stretch.replace(stretch);
        before.is_some_and(|before| before != stretch)
    }

    /// Takes all labs down and starts them anew.
    pub(super) fn restart(&mut self, plan: &Plan, run_id: &str, context: &RunContext) -> Result<()> {
        context.phase("starting the brokers anew");
        self.all.clear();
        self.of_step.clear();
        self.broker_start += 1;
        self.start(plan, run_id, context)
    }
}
