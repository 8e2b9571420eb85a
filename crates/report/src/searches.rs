//! A search for the highest rate that holds a goal, in words.

use plumb_model::figure::{count, plain, rate, time};
use plumb_model::plan::{Goal, GoalLatency};
use plumb_model::search::{SearchBound, SearchResult, Try, TryOutcome, TryPurpose};

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

/// The result, and the reason why there is no more.
pub(crate) fn outcome(search: &SearchResult) -> String {
    let held = held(search);
    let found = match (search.rate_low_per_s, search.rate_high_per_s) {
        (Some(low), Some(high)) => {
            format!("{} messages/s were confirmed to hold it, {} not to", rate(low), rate(high))
        }
        (Some(low), None) => {
            format!("{} messages/s were confirmed to hold it, no higher rate not to", rate(low))
        }
        (None, _) if !held.is_empty() => {
            format!("No rate was confirmed to hold it: {}", held.join(", "))
        }
        (None, Some(high)) => format!("No rate was confirmed to hold it; {} messages/s do not", rate(high)),
        (None, None) => "No rate was confirmed to hold it".to_owned(),
    };
    let why = match search.bounded_by {
        Some(SearchBound::Path) => "; the path is the bound",
        Some(SearchBound::Generator) => "; the generator is the bound, so the path may hold more",
        Some(SearchBound::RateMost) => "; no higher rate can be asked for",
        Some(SearchBound::NothingHolds) if !held.is_empty() => "; what was seen once was not seen again",
        Some(SearchBound::NothingHolds) => "; not even the lowest rate tried holds it",
        Some(SearchBound::Unsettled) => "; equal rates held it and did not, so the interval is wide",
        None => "; the search was not over",
    };
    format!("{found}{why}.")
}

/// Each rate at which any try held, in how many of its tries, the lowest first.
fn held(search: &SearchResult) -> Vec<String> {
    let mut tries: Vec<&Try> = search.tries.iter().collect();
    tries.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    // Rates are made by multiplying and dividing, so equal ones may differ in their last digits.
    let rates = tries.chunk_by(|a, b| b.rate_per_s - a.rate_per_s < 1e-9 * a.rate_per_s);
    let rates = rates.filter_map(|of_rate| {
        let held = of_rate.iter().filter(|tried| tried.outcome == TryOutcome::Holds).count();
        let at = rate(of_rate.first()?.rate_per_s);
        (held > 0).then(|| format!("{at} messages/s held in {held} of {}", times_tried(of_rate.len())))
    });
    rates.collect()
}

fn times_tried(n: usize) -> String {
    if n == 1 { "1 try".to_owned() } else { format!("{} tries", count(n as u64)) }
}

/// The purpose of a try.
pub(crate) fn purpose(purpose: TryPurpose) -> &'static str {
    match purpose {
        TryPurpose::Climb => "climb",
        TryPurpose::Narrow => "narrow",
        TryPurpose::Descend => "from above",
        TryPurpose::Confirm => "confirm",
    }
}

/// The outcome of a try, with the reasons.
pub(crate) fn tried(tried: &Try) -> String {
    let word = match tried.outcome {
        TryOutcome::Holds => "holds",
        TryOutcome::Fails => "fails",
        TryOutcome::GeneratorBound => "generator bound",
        TryOutcome::TooFew => "too few samples",
    };
    let reasons =
        if tried.reasons.is_empty() { String::new() } else { format!(": {}", tried.reasons.join("; ")) };
    format!("{word}{reasons} ({} samples)", count(tried.samples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::units::Nanos;

    fn tried_at(rate_per_s: f64, outcome: TryOutcome) -> Try {
        Try {
            rate_per_s,
            purpose: TryPurpose::Confirm,
            outcome,
            started_at: String::new(),
            measured_s: 3.0,
            achieved_per_s: None,
            quantile_ns: None,
            samples: 0,
            processor_wait_share: None,
            steal_share: None,
            reasons: Vec::new(),
        }
    }

    #[test]
    fn a_rate_that_held_once_is_said_and_not_that_not_even_the_lowest_does() {
        use TryOutcome::{Fails, Holds};
        let of = |tries: Vec<Try>| {
            outcome(&SearchResult {
                goal: Goal { latency: GoalLatency::Acknowledge, quantile: 0.99, limit: Nanos(20_000_000) },
                rate_low_per_s: None,
                rate_high_per_s: None,
                bounded_by: Some(SearchBound::NothingHolds),
                tries,
            })
        };
        let said = of(vec![
            tried_at(231.0, Fails),
            tried_at(220.0, Holds),
            tried_at(231.0, Holds),
            tried_at(242.0, Fails),
        ]);
        assert!(said.contains("held in 1 of 1 try,") && said.contains("held in 1 of 2 tries;"), "{said}");
        assert!(said.contains("not seen again") && !said.contains("not even"), "{said}");
        assert!(of(vec![tried_at(220.0, Fails)]).contains("not even the lowest rate tried holds it"));
    }
}
