//! A search for the highest rate that holds a goal, in words.

use crate::number::{count, plain, rate, time};
use plumb_model::plan::{Goal, GoalLatency};
use plumb_model::search::{SearchBound, SearchResult, SearchTrial, TrialPurpose, TrialVerdict};

/// `Highest rate with p99 of the acknowledge latency at most 20.0 ms`.
pub(crate) fn heading(search: &SearchResult) -> String {
    format!("Highest rate with {}", goal(&search.goal))
}

/// `p99 of the acknowledge latency at most 20.0 ms`.
pub(crate) fn goal(goal: &Goal) -> String {
    let latency = match goal.latency {
        GoalLatency::Acknowledge => "acknowledge",
        GoalLatency::EndToEnd => "end-to-end",
    };
    format!("{} of the {latency} latency at most {}", quantile(goal.quantile), time(goal.limit.0 as f64))
}

/// `p99`, `p99.9`.
pub(crate) fn quantile(quantile: f64) -> String {
    format!("p{}", plain(quantile * 100.0))
}

/// What was found, and why there is no more.
pub(crate) fn outcome(search: &SearchResult) -> String {
    let found = match (search.rate_low_per_s, search.rate_high_per_s) {
        (Some(low), Some(high)) => {
            format!("{} messages/s were confirmed to hold it, {} not to", rate(low), rate(high))
        }
        (Some(low), None) => {
            format!("{} messages/s were confirmed to hold it, no higher rate not to", rate(low))
        }
        (None, Some(high)) => format!("No rate was confirmed to hold it; {} messages/s do not", rate(high)),
        (None, None) => "No rate was confirmed to hold it".to_owned(),
    };
    let why = match search.bounded_by {
        Some(SearchBound::Path) => "; the path is the bound",
        Some(SearchBound::Generator) => "; the generator is the bound, so the path may hold more",
        Some(SearchBound::RateMost) => "; no higher rate can be asked for",
        Some(SearchBound::NothingHolds) => "; not even the lowest rate tried holds it",
        Some(SearchBound::Unsettled) => "; equal rates held it and did not, so the interval is wide",
        None => "; the search was not over",
    };
    format!("{found}{why}.")
}

/// What a trial was for.
pub(crate) fn purpose(purpose: TrialPurpose) -> &'static str {
    match purpose {
        TrialPurpose::Climb => "climb",
        TrialPurpose::Narrow => "narrow",
        TrialPurpose::Descend => "from above",
        TrialPurpose::Confirm => "confirm",
    }
}

/// What came of it, with the reasons.
pub(crate) fn verdict(trial: &SearchTrial) -> String {
    let word = match trial.verdict {
        TrialVerdict::Holds => "holds",
        TrialVerdict::Fails => "fails",
        TrialVerdict::GeneratorBound => "generator bound",
        TrialVerdict::TooFew => "too few samples",
    };
    let reasons =
        if trial.reasons.is_empty() { String::new() } else { format!(": {}", trial.reasons.join("; ")) };
    format!("{word}{reasons} ({} samples)", count(trial.samples))
}
