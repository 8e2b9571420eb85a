//! The sentence of a run that searched for the highest rate that holds a goal.

use crate::rule::Case;
use plumb_model::figure::{counted, messages_per_s, time};
use plumb_model::plan::{Goal, GoalLatency};
use plumb_model::prose::quoted;
use plumb_model::search::{SearchResult, TryOutcome};

/// A step with its search.
struct Searched<'d> {
    step: &'d str,
    search: &'d SearchResult,
}

/// The rates that the searches found, or that they found none; none where no search is over.
pub(super) fn sentence(case: &Case) -> Option<String> {
    let steps = case.document.steps.iter();
    let searched =
        steps.filter_map(|step| Some(Searched { step: &step.name, search: step.search.as_ref()? }));
    let over: Vec<Searched> = searched.filter(|of| of.search.bounded_by.is_some()).collect();
    match over.as_slice() {
        [] => None,
        [one] => Some(single(one.search)),
        several => Some(of_several(several)),
    }
}

fn single(search: &SearchResult) -> String {
    let goal = goal(&search.goal);
    match (search.rate_low_per_s, search.rate_high_per_s) {
        (Some(low), Some(high)) => {
            let (low, high) = (messages_per_s(low), messages_per_s(high));
            format!("{low} were confirmed to hold {goal}, {high} not to.")
        }
        (Some(low), None) => {
            format!("{} were confirmed to hold {goal}, no higher rate not to.", messages_per_s(low))
        }
        (None, _) => match held(search) {
            0 => format!("No rate that was tried holds {goal}."),
            held => format!(
                "No rate was confirmed to hold {goal}; {held} of {} held.",
                counted(search.tries.len() as u64, "tried rate")
            ),
        },
    }
}

fn of_several(searches: &[Searched]) -> String {
    let found = searches.iter().filter_map(|of| Some((of.step, of.search.rate_low_per_s?)));
    let mut found: Vec<(&str, f64)> = found.collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let goal = searches.first().map(|of| goal(&of.search.goal)).unwrap_or_default();
    let setups = counted(searches.len() as u64, "setup");
    let none = searches.len() - found.len();
    let none = if none > 0 { format!("; of {none} no rate was confirmed") } else { String::new() };
    match found.as_slice() {
        [] => format!("Of {setups}, no rate was confirmed to hold {goal}."),
        [(name, rate)] => {
            format!("Of {setups}, {} holds {goal} at up to {}{none}.", quoted(name), messages_per_s(*rate))
        }
        [(best, most), .., (worst, least)] => format!(
            "Of {setups}, {} holds {goal} at the highest rate, {}, {} at the lowest, {}{none}.",
            quoted(best),
            messages_per_s(*most),
            quoted(worst),
            messages_per_s(*least)
        ),
    }
}

fn held(search: &SearchResult) -> usize {
    search.tries.iter().filter(|tried| tried.outcome == TryOutcome::Holds).count()
}

/// `a p99 of the acknowledge latency of at most 20 ms`.
fn goal(goal: &Goal) -> String {
    let latency = match goal.latency {
        GoalLatency::Acknowledge => "acknowledge",
        GoalLatency::EndToEnd => "end-to-end",
    };
    // 0.999 * 100 is not 99.9 in binary.
    let percent = (goal.quantile * 1e8).round() / 1e6;
    format!("a p{percent} of the {latency} latency of at most {}", time(goal.limit.0 as f64))
}

#[cfg(test)]
mod tests {
    use crate::healthy::searched::{search, searched, tried};
    use crate::judge;
    use plumb_model::search::{SearchBound, TryOutcome};

    #[test]
    fn a_search_has_a_sentence_whether_it_found_a_rate_or_none() {
        let tries = || vec![tried(220.0, TryOutcome::Holds), tried(231.0, TryOutcome::Fails)];
        let said =
            |low, bounded_by, tries| judge(&searched(search(low, bounded_by, tries))).summary.join(" ");
        let found = said(Some(220.0), SearchBound::Path, tries());
        assert!(
            found.contains("220 messages/s were confirmed to hold a p99 of the acknowledge latency"),
            "{found}"
        );
        let none = said(None, SearchBound::NothingHolds, tries());
        assert!(
            none.contains("No rate was confirmed to hold") && none.contains("1 of 2 tried rates held"),
            "{none}"
        );
        let failed = said(None, SearchBound::NothingHolds, vec![tried(231.0, TryOutcome::Fails)]);
        assert!(failed.contains("No rate that was tried holds a p99"), "{failed}");
    }
}
