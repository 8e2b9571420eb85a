//! The answer so far of a search that ended with an error: the reason, and how it goes on.

use plumb_model::figure::counted;
use plumb_model::search_report::{SearchOutcome, SearchReport};

/// The answer with the error, and with the command with which it goes on.
#[must_use]
pub fn ended_with_error(mut report: SearchReport, error: &str, way_on: &str) -> SearchReport {
    let error = error.trim_end_matches('.');
    let is_of_search = report.outcome == SearchOutcome::Interrupted && report.ending.is_none();
    match report.summary.first_mut().filter(|_| is_of_search) {
        Some(first) => {
            let blocks = counted(report.blocks.len(), "block");
            *first = format!(
                "The search ended with an error after {blocks}: {error}. What it saw so far is no result."
            );
        }
        None => report.summary.push(format!("It ended with an error then: {error}.")),
    }
    report.summary.push(format!("It goes on with: {way_on}"));
    report.error = Some(error.to_owned());
    report
}
