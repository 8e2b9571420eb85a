//! The part of a step's figures that is kept beside the document, so that a run can go on where it was killed.
//!
//! After each block the step's part of the document and its histograms, with their exact sums, go into a file of their
//! own, which is replaced whole. A block is done when it is in there, whatever else the kill left half written.
//!
//! In a trial a round counts as a whole, and blocks before and after a stop are no neighbours in time. So the step before its last block is
//! kept as well: a run that goes on takes a round that is not whole back with it.

use super::fold::FoldState;
use crate::run_dir::{RunDir, RunDirError};
use plumb_model::document::StepResult;
use serde::{Deserialize, Serialize};

/// A step after one of its blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StepCheckpoint {
    /// The run that it belongs to.
    pub(super) run: String,
    /// The step in the document.
    pub(super) result: StepResult,
    pub(super) span: Span,
    pub(super) fold: FoldState,
    /// Settings that were tried on the way to the result, with what they came to: those of a search.
    #[serde(default)]
    pub(super) candidates: Vec<CandidateCheckpoint>,
}

/// The full-length runs at one rate of a search.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CandidateCheckpoint {
    pub(super) rate_per_s: f64,
    pub(super) result: StepResult,
    pub(super) span: Span,
    pub(super) fold: FoldState,
}

/// Time and bytes behind a step's rates, over its blocks so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Span {
    pub(super) planned_ns: u64,
    pub(super) measured_ns: u64,
    pub(super) receiving_ns: u64,
    pub(super) received_bytes: u64,
    pub(super) received_messages: u64,
    pub(super) acked_bytes: u64,
}

/// Name of the file of a step whose logs' names begin with `stem`.
pub(super) fn file(stem: &str) -> String {
    format!("{stem}.state.json")
}

/// Name of the file of the same step before its last block.
pub(super) fn file_before(stem: &str) -> String {
    format!("{stem}.state-before.json")
}

/// Keeps a step.
pub(super) fn write(dir: &RunDir, stem: &str, step: &StepCheckpoint) -> Result<(), RunDirError> {
    let json = serde_json::to_vec(step).map_err(|error| RunDirError::Write(std::io::Error::other(error)))?;
    dir.write_state(&file(stem), &json)
}
