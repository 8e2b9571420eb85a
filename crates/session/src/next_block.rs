//! The trait of a decider, which chooses the next block. [`blocks`](super::blocks) asks it, and does everything around a block.
//!
//! A plan with fixed steps has an order that is drawn at its start ([`order`](super::order)); a search for a rate decides after
//! each block ([`search`](super::search)).

use super::block::Job;
use super::checkpoint::CandidateCheckpoint;
use super::document::Record;
use super::fold::StepFold;
use super::measured::Measured;
use crate::context::RunContext;
use crate::error::{Result, SessionError};
use crate::run_dir::RunDir;
use plumb_model::trial::ArmPlan;

/// Decides which block comes next.
pub(crate) trait NextBlock {
    /// The block to run now; none when nothing is left.
    ///
    /// # Errors
    /// The run's directory cannot be written.
    fn next(&mut self, measured: &mut Measured, context: &RunContext) -> Result<Option<Planned>>;

    /// Takes back the block that [`NextBlock::next`] gave, once it is over. Not called where it ended with an error: see [`NextBlock::failed`].
    fn ended(&mut self, job: &Job, ended: Ended, measured: &mut Measured) -> Outcome;

    /// Takes back the block where it ended with an error. An error that is the block's own is no end of the run.
    ///
    /// # Errors
    /// The block's error, where the run cannot go on with it.
    fn failed(&mut self, _: &Job, error: SessionError, _: &mut Measured) -> Result<Outcome> {
        Err(error)
    }

    /// The measurements apart from a step's figures that are kept beside it, to go on from.
    fn candidates(&self, step: usize, dir: &RunDir) -> Vec<CandidateCheckpoint>;
}

/// A block to run.
pub(crate) struct Planned {
    pub(super) job: Job,
    /// The record that takes its figures, where that is not the run's document.
    pub(super) apart: Option<Apart>,
    /// The surroundings that it wants, where they are not those of the step's arm.
    pub(super) arm: Option<ArmPlan>,
}

/// Figures of one step at a setting of its own, apart from the run's document.
pub(crate) struct Apart {
    /// Its document has this step alone.
    pub(super) record: Record,
    pub(super) fold: StepFold,
}

/// The end of a block.
pub(crate) struct Ended {
    /// The record that took its figures, where that is not the run's document.
    pub(super) apart: Option<Apart>,
    /// True if it was measured: false where the user stopped it before its first measured message.
    pub(super) measured: bool,
    /// True if the user wants the run to end.
    pub(super) stopped: bool,
}

/// The use of a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its figures are its step's.
    Block,
    /// It tried a setting; what came of it in a line.
    Tried(String),
    /// It does not count: the user stopped it.
    Nothing,
}
