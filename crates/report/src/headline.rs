//! The latency that a run is for: end to end, or acknowledge where nobody receives.

use crate::figures::Pick;
use crate::queues;
use plumb_model::document::{BlockResult, RunDocument, StepResult};
use plumb_model::observation::{Distribution, SecondLatency, SecondRow};
use plumb_model::plan::Mode;

/// The latency of the main table and the charts.
#[derive(Clone, Copy)]
pub(crate) struct Headline {
    pub(crate) heading: &'static str,
    /// Its beginning and end, in words.
    pub(crate) meaning: &'static str,
    /// True if published tables of end-to-end latency can stand beside it.
    pub(crate) end_to_end: bool,
    pub(crate) of_step: Pick<Distribution>,
    pub(crate) of_block: fn(&BlockResult) -> &Distribution,
    pub(crate) of_second: fn(&SecondRow) -> &SecondLatency,
}

const END_TO_END: Headline = Headline {
    heading: "End-to-end latency",
    meaning: "from the intended send time to the return from poll",
    end_to_end: true,
    of_step: |step| &step.latency.end_to_end,
    of_block: |block| &block.end_to_end,
    of_second: |row| &row.end_to_end,
};

const ACKNOWLEDGE: Headline = Headline {
    heading: "Acknowledge latency",
    meaning: "from the intended send time to the delivery report; nobody receives in this run",
    end_to_end: false,
    of_step: |step| &step.latency.acknowledge,
    of_block: |block| &block.acknowledge,
    of_second: |row| &row.acknowledge,
};

/// End to end, unless no step of the run has a consumer.
pub(crate) fn of(document: &RunDocument) -> Headline {
    let steps = timed(document);
    match !steps.is_empty() && steps.iter().all(|(_, step)| !consumes(document, step)) {
        true => ACKNOWLEDGE,
        false => END_TO_END,
    }
}

/// True if the plan has a consumer for the step.
pub(crate) fn consumes(document: &RunDocument, step: &StepResult) -> bool {
    let plan = document.plan.steps.iter().find(|plan| plan.name == step.name);
    plan.is_none_or(|plan| plan.load.consumers > 0 && plan.load.mode != Mode::Produce)
}

/// True if messages went as fast as possible: no latency is shown then, not even an empty cell for one.
pub(crate) fn saturates(document: &RunDocument, step: &StepResult) -> bool {
    let plan = document.plan.steps.iter().find(|plan| plan.name == step.name);
    plan.is_some_and(|plan| plan.load.saturating())
}

/// True if the step's times are latencies of the path: not where messages went as fast as possible, nor where a queue is shown.
fn has_latency(document: &RunDocument, step: &StepResult) -> bool {
    !saturates(document, step) && !queues::shows_queue(document, step)
}

/// The steps that have a latency, each with its place in the document.
pub(crate) fn timed(document: &RunDocument) -> Vec<(usize, &StepResult)> {
    document.steps.iter().enumerate().filter(|(_, step)| has_latency(document, step)).collect()
}
