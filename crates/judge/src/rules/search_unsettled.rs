//! A search for the highest rate that holds a goal whose trials contradict each other, or in which the generator could not keep
//! times that it kept at higher rates.

use crate::figure::{count, list, messages_per_s, rate};
use crate::rule::{About, Case, Complete, Rule, about_step};
use plumb_model::finding::{Finding, Severity};
use plumb_model::search::{SearchResult, SearchTrial, TrialVerdict};

pub(super) const RULE: Rule = Rule {
    id: "search-unsettled",
    summary: "The trials of a search for a rate contradict each other.",
    page: include_str!("../../../../docs/findings/search-unsettled.md"),
    severity: Severity::Suspect,
    about: About::Run,
    check,
};

/// Trials at or below a rate that was confirmed that may fail (ours: a search looks again where one does, as single freaks are usual).
const FREAKS_MOST: usize = 1;

fn check(case: &Case) -> Vec<Finding> {
    let searched = case.document.steps.iter().filter_map(|step| Some((&step.name, step.search.as_ref()?)));
    searched
        .flat_map(|(step, search)| [contradiction(step, search), hindered(step, search)])
        .flatten()
        .collect()
}

/// Trials that held although nothing was confirmed, or failed at rates that were.
fn contradiction(step: &str, search: &SearchResult) -> Option<Finding> {
    let (claim, seen) = match search.rate_low_per_s {
        // Between the two ends of the interval trials may disagree: that is what the interval says.
        Some(low) => {
            let below = |trial: &&SearchTrial| trial.rate_per_s <= low * (1.0 + 1e-9);
            let failed = |trial: &&SearchTrial| trial.verdict == TrialVerdict::Fails;
            let failed: Vec<&SearchTrial> = search.trials.iter().filter(below).filter(failed).collect();
            if failed.len() <= FREAKS_MOST {
                return None;
            }
            let claim = format!(
                "{} of the search failed at or below {}, the rate that was confirmed to hold",
                count(failed.len() as u64, "trial"),
                messages_per_s(low)
            );
            (claim, failed)
        }
        None => {
            search.bounded_by?;
            let held = |trial: &&SearchTrial| trial.verdict == TrialVerdict::Holds;
            let held: Vec<&SearchTrial> = search.trials.iter().filter(held).collect();
            if held.is_empty() {
                return None;
            }
            let claim = format!(
                "{} of the search held and no rate was confirmed to: what was seen at one moment was not seen again",
                count(held.len() as u64, "trial")
            );
            (claim, held)
        }
    };
    let rates: Vec<String> = seen.iter().map(|trial| rate(trial.rate_per_s)).collect();
    Some(
        about_step(RULE.id, RULE.severity, step, claim)
            .seen("rates of these trials", list(&rates))
            .advise("Run again when nothing else uses this host or the brokers, with a longer --duration and more --blocks."),
    )
}

/// Trials in which the generator could not keep its times, at rates no higher than one that it kept.
fn hindered(step: &str, search: &SearchResult) -> Option<Finding> {
    let kept = |trial: &&SearchTrial| trial.verdict != TrialVerdict::GeneratorBound;
    let highest = search.trials.iter().filter(kept).map(|trial| trial.rate_per_s).fold(0.0, f64::max);
    let bound = |trial: &&SearchTrial| {
        trial.verdict == TrialVerdict::GeneratorBound && trial.rate_per_s <= highest * (1.0 + 1e-9)
    };
    let bound: Vec<String> = search.trials.iter().filter(bound).map(|trial| rate(trial.rate_per_s)).collect();
    if bound.is_empty() {
        return None;
    }
    let claim = format!(
        "In {} of the search the generator could not keep its times at a rate that is no higher than others at which it did",
        count(bound.len() as u64, "trial")
    );
    Some(
        about_step(RULE.id, RULE.severity, step, claim).seen("rates of these trials", list(&bound)).advise(
            "Stop other work on the generator's host, or give it processors of its own, and run again.",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::found;
    use crate::healthy::searched::{search, searched, trial};
    use plumb_model::search::SearchBound;

    #[test]
    fn trials_that_held_where_nothing_was_confirmed_are_found_and_none_where_all_failed() {
        let mut document = searched(search(
            None,
            SearchBound::NothingHolds,
            vec![trial(1_000.0, TrialVerdict::Fails), trial(220.0, TrialVerdict::Holds)],
        ));
        let finding = &found(&document, RULE.id)[0];
        assert!(finding.claim.starts_with("1 trial of the search held"), "{}", finding.claim);
        assert_eq!(finding.severity, Severity::Suspect);
        document.steps[0].search.as_mut().unwrap().trials[1].verdict = TrialVerdict::Fails;
        assert_eq!(found(&document, RULE.id), []);
    }

    #[test]
    fn trials_that_failed_below_the_confirmed_rate_are_found_beyond_a_single_one() {
        let of = |failed: usize| {
            let mut trials = vec![trial(400.0, TrialVerdict::Holds), trial(420.0, TrialVerdict::Fails)];
            trials.resize_with(trials.len() + failed, || trial(300.0, TrialVerdict::Fails));
            found(&searched(search(Some(400.0), SearchBound::Path, trials)), RULE.id)
        };
        assert_eq!(of(1), []);
        assert!(
            of(2)[0].claim.contains("2 trials of the search failed at or below 400"),
            "{}",
            of(2)[0].claim
        );
    }

    #[test]
    fn a_generator_that_is_slower_than_before_is_found_and_one_at_its_limit_is_not() {
        let of = |bound_at: f64| {
            let trials = vec![
                trial(400.0, TrialVerdict::Holds),
                trial(1_000.0, TrialVerdict::Fails),
                trial(bound_at, TrialVerdict::GeneratorBound),
            ];
            found(&searched(search(Some(400.0), SearchBound::Path, trials)), RULE.id)
        };
        assert!(of(242.0)[0].claim.contains("could not keep its times"), "{}", of(242.0)[0].claim);
        assert_eq!(of(2_000.0), []);
    }
}
