//! The decider of a plan: a drawn order, or a search for a rate or for settings.

use super::document::Record;
use super::next_block::NextBlock;
use super::order::DrawnOrder;
use super::search::{Candidate, RateSearch};
use super::settings_search::SearchBlocks;

/// The decider for the plan of this record. `candidates`: the full-length runs of a search that was stopped, by step.
pub(super) fn of_plan(record: &Record, candidates: Vec<Vec<Candidate>>) -> Box<dyn NextBlock> {
    let plan = &record.document.plan;
    match plan.goal {
        _ if plan.settings_search.is_some() => Box::new(SearchBlocks::default()),
        Some(goal) => Box::new(RateSearch::new(&record.document, goal, candidates)),
        None => Box::new(DrawnOrder::new(&record.document)),
    }
}
