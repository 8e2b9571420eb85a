//! A search for the highest rate that holds a goal whose tried rates contradict each other, or in which the generator could not keep
//! times that it kept at higher rates.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use plumb_model::figure::{counted, messages_per_s, per_s};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::list;
use plumb_model::search::{SearchResult, Try, TryOutcome};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "search-unsettled",
        summary: "The tried rates of a search contradict each other.",
        page: include_str!("../../../../docs/findings/search-unsettled.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the tries themselves contradict each other",
        stage: Some(PathStage::Host),
        flip: Some(FlipRow {
            change: "search again on a host without other work",
            setting: None,
            observe: "tried rates that contradict each other",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Tried rates at or below a rate that was confirmed that may fail (ours: a search looks again where one does, as single freaks are usual).
const FREAKS_MOST: usize = 1;

fn check(case: &Case) -> Vec<Finding> {
    let searched = case.document.steps.iter().filter_map(|step| Some((&step.name, step.search.as_ref()?)));
    searched
        .flat_map(|(step, search)| [contradiction(step, search), hindered(step, search)])
        .flatten()
        .collect()
}

/// Tried rates that held although nothing was confirmed, or failed at rates that were.
fn contradiction(step: &str, search: &SearchResult) -> Option<Finding> {
    let (claim, seen) = match search.rate_low_per_s {
        // Between the two ends of the interval tries may disagree: that is what the interval says.
        Some(low) => {
            let below = |tried: &&Try| tried.rate_per_s <= low * (1.0 + 1e-9);
            let failed = |tried: &&Try| tried.outcome == TryOutcome::Fails;
            let failed: Vec<&Try> = search.tries.iter().filter(below).filter(failed).collect();
            if failed.len() <= FREAKS_MOST {
                return None;
            }
            let claim = format!(
                "{} of the search failed at or below {}, the rate that was confirmed to hold",
                counted(failed.len() as u64, "tried rate"),
                messages_per_s(low)
            );
            (claim, failed)
        }
        None => {
            search.bounded_by?;
            let held = |tried: &&Try| tried.outcome == TryOutcome::Holds;
            let held: Vec<&Try> = search.tries.iter().filter(held).collect();
            if held.is_empty() {
                return None;
            }
            let claim = format!(
                "{} of the search held and no rate was confirmed to: what was seen at one moment was not seen again",
                counted(held.len() as u64, "tried rate")
            );
            (claim, held)
        }
    };
    let rates: Vec<String> = seen.iter().map(|tried| per_s(tried.rate_per_s)).collect();
    Some(
        about_step(RULE.row.id, RULE.row.severity, step, claim)
            .seen("these rates", list(&rates))
            .advise("Run again when nothing else uses this host or the brokers, with a longer --duration and more --blocks."),
    )
}

/// Tried rates in which the generator could not keep its times, at rates no higher than one that it kept.
fn hindered(step: &str, search: &SearchResult) -> Option<Finding> {
    let kept = |tried: &&Try| tried.outcome != TryOutcome::GeneratorBound;
    let highest = search.tries.iter().filter(kept).map(|tried| tried.rate_per_s).fold(0.0, f64::max);
    let bound = |tried: &&Try| {
        tried.outcome == TryOutcome::GeneratorBound && tried.rate_per_s <= highest * (1.0 + 1e-9)
    };
    let bound: Vec<String> = search.tries.iter().filter(bound).map(|tried| per_s(tried.rate_per_s)).collect();
    if bound.is_empty() {
        return None;
    }
    let claim = format!(
        "In {} of the search the generator could not keep its times at a rate that is no higher than others at which it did",
        counted(bound.len() as u64, "tried rate")
    );
    Some(
        about_step(RULE.row.id, RULE.row.severity, step, claim).seen("these rates", list(&bound)).advise(
            "Stop other work on the generator's host, or give it processors of its own, and run again.",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::found;
    use crate::healthy::searched::{search, searched, tried};
    use plumb_model::search::SearchBound;

    #[test]
    fn tried_rates_that_held_where_nothing_was_confirmed_are_found_and_none_where_all_failed() {
        let mut document = searched(search(
            None,
            SearchBound::NothingHolds,
            vec![tried(1_000.0, TryOutcome::Fails), tried(220.0, TryOutcome::Holds)],
        ));
        let finding = &found(&document, RULE.row.id)[0];
        assert!(finding.claim.starts_with("1 tried rate of the search held"), "{}", finding.claim);
        assert_eq!(finding.severity, Severity::Suspect);
        document.steps[0].search.as_mut().unwrap().tries[1].outcome = TryOutcome::Fails;
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn tried_rates_that_failed_below_the_confirmed_rate_are_found_beyond_a_single_one() {
        let of = |failed: usize| {
            let mut tries = vec![tried(400.0, TryOutcome::Holds), tried(420.0, TryOutcome::Fails)];
            tries.resize_with(tries.len() + failed, || tried(300.0, TryOutcome::Fails));
            found(&searched(search(Some(400.0), SearchBound::Path, tries)), RULE.row.id)
        };
        assert_eq!(of(1), []);
        assert!(
            of(2)[0].claim.contains("2 tried rates of the search failed at or below 400"),
            "{}",
            of(2)[0].claim
        );
    }

    #[test]
    fn a_generator_that_is_slower_than_before_is_found_and_one_at_its_limit_is_not() {
        let of = |bound_at: f64| {
            let tries = vec![
                tried(400.0, TryOutcome::Holds),
                tried(1_000.0, TryOutcome::Fails),
                tried(bound_at, TryOutcome::GeneratorBound),
            ];
            found(&searched(search(Some(400.0), SearchBound::Path, tries)), RULE.row.id)
        };
        assert!(of(242.0)[0].claim.contains("could not keep its times"), "{}", of(242.0)[0].claim);
        assert_eq!(of(2_000.0), []);
    }
}
