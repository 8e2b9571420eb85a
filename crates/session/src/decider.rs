//! The decider of a plan: a drawn order, or a search for a rate.

use super::document::Record;
use super::next_block::NextBlock;
use super::order::DrawnOrder;
use super::search::{Candidate, RateSearch};

/// The decider for the plan of this record. `candidates`: the full-length runs of a search that was stopped, by step.
pub(super) fn of_plan(record: &Record, candidates: Vec<Vec<Candidate>>) -> Box<dyn NextBlock> {
    match record.document.plan.goal {
        Some(goal) => Box::new(RateSearch::new(&record.document, goal, candidates)),
        None => Box::new(DrawnOrder::new(&record.document)),
    }
}
