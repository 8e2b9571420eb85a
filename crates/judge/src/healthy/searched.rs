//! A run that searched for the highest rate that holds a goal, without the figures of any rate.

use super::healthy;
use plumb_model::document::RunDocument;
use plumb_model::plan::{Goal, GoalLatency};
use plumb_model::search::{SearchBound, SearchResult, Try, TryOutcome, TryPurpose};
use plumb_model::units::Nanos;

const GOAL: Goal = Goal { latency: GoalLatency::Acknowledge, quantile: 0.99, limit: Nanos(20_000_000) };

/// The run with this search in its only step.
pub(crate) fn searched(search: SearchResult) -> RunDocument {
    let mut document = healthy();
    document.plan.goal = Some(search.goal);
    document.plan.steps.truncate(1);
    document.steps.truncate(1);
    document.steps[0].search = Some(search);
    document
}

/// A search that is over.
pub(crate) fn search(rate_low_per_s: Option<f64>, bounded_by: SearchBound, tries: Vec<Try>) -> SearchResult {
    SearchResult { goal: GOAL, rate_low_per_s, rate_high_per_s: None, bounded_by: Some(bounded_by), tries }
}

/// A full-length try on a quiet host.
pub(crate) fn tried(rate_per_s: f64, outcome: TryOutcome) -> Try {
    Try {
        rate_per_s,
        purpose: TryPurpose::Confirm,
        outcome,
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        measured_s: 10.0,
        achieved_per_s: Some(rate_per_s),
        quantile_ns: Some(if outcome == TryOutcome::Holds { 10_000_000 } else { 60_000_000 }),
        samples: 2_000,
        processor_wait_share: Some(0.1),
        steal_share: Some(0.0),
        reasons: Vec::new(),
    }
}
