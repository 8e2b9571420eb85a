//! Who decides which block comes next. [`blocks`](super::blocks) asks, and does all that surrounds a block.
//!
//! A plan with fixed steps has an order that is drawn at its start ([`order`](super::order)); a search for a rate decides after each
//! block ([`search`](super::search)).

use super::block::Job;
use super::checkpoint::CandidateCheckpoint;
use super::document::Record;
use super::fold::StepFold;
use super::measured::Measured;
use super::order::DrawnOrder;
use super::search::{Candidate, RateSearch};
use crate::context::RunContext;
use crate::error::Result;
use crate::run_dir::RunDir;

/// Decides which block comes next.
pub(crate) trait NextBlock {
    /// The block to run now; none when nothing is left.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    fn next(&mut self, measured: &mut Measured, context: &RunContext) -> Result<Option<Planned>>;

    /// Takes back the block that [`NextBlock::next`] gave, once it is over. Not called where it ended with an error.
    fn ended(&mut self, job: &Job, ended: Ended, measured: &mut Measured) -> Outcome;

    /// What is kept beside a step to go on from: what was measured apart from it.
    fn candidates(&self, step: usize, dir: &RunDir) -> Vec<CandidateCheckpoint>;
}

/// A block to run.
pub(crate) struct Planned {
    pub(super) job: Job,
    /// What its figures go into, where that is not the run's document.
    pub(super) apart: Option<Apart>,
}

/// Figures of one step at a setting of its own, apart from the run's document.
pub(crate) struct Apart {
    /// Its document has this step alone.
    pub(super) record: Record,
    pub(super) fold: StepFold,
}

/// How a block ended.
pub(crate) struct Ended {
    /// What its figures went into, where that is not the run's document.
    pub(super) apart: Option<Apart>,
    /// Whether it was measured: false where the user stopped it before its first measured message.
    pub(super) measured: bool,
    /// Whether the user wants the run to end.
    pub(super) stopped: bool,
}

/// What a block was for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its figures are its step's.
    Block,
    /// It tried a setting; what came of it in a line.
    Tried(String),
    /// It does not count: the user stopped it.
    Nothing,
}

/// Who decides for the plan of this record. `candidates`: what a search had run at full length when it was stopped, by step.
pub(super) fn of_plan(record: &Record, candidates: Vec<Vec<Candidate>>) -> Box<dyn NextBlock> {
    match record.document.plan.goal {
        Some(goal) => Box::new(RateSearch::new(&record.document, goal, candidates)),
        None => Box::new(DrawnOrder::new(&record.document)),
    }
}
