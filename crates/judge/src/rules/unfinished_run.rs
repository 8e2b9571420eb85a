//! Runs that were stopped, failed or killed, and runs that measured nothing.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::document::{RunState, StepResult};
use plumb_model::figure::counted;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::prose::{list, quoted};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "unfinished-run",
        summary: "The run did not do all that it had planned.",
        page: include_str!("../../../../docs/findings/unfinished-run.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "the document says how the run ended and what is missing",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let document = case.document;
    let measured = case.setups().count() + searched_for_settings(case);
    let (severity, claim) = match &document.run.state {
        RunState::Complete if measured + searched_in_vain(case) == 0 => {
            (Severity::Invalid, "The run ended without sending a measured message".to_owned())
        }
        RunState::Complete if measured + searched_in_vain(case) >= document.plan.steps.len() => {
            return Vec::new();
        }
        RunState::Complete => {
            (Severity::Suspect, format!("Nothing was measured in {}", list(&unmeasured(case))))
        }
        RunState::Running => (
            Severity::Suspect,
            "The run is not over, or it was killed: the figures are those of the part that was written"
                .to_owned(),
        ),
        RunState::Interrupted => (
            Severity::Suspect,
            "The run was stopped before its end: the figures are those of its first part".to_owned(),
        ),
        RunState::Failed { error } => (Severity::Invalid, format!("The run ended with an error: {error}")),
    };
    let severity = if measured == 0 { Severity::Invalid } else { severity };
    let blocks: usize = document.steps.iter().map(|step| step.blocks.len()).sum();
    let planned_blocks = document.plan.steps.len() as u64 * u64::from(document.plan.blocks);
    let planned = counted(document.plan.steps.len() as u64, "step");
    vec![
        about_run(RULE.row.id, severity, claim)
            .seen_against(
                "steps with measured messages",
                measured.to_string(),
                format!("{planned} in the plan"),
            )
            .seen_against(
                "blocks measured to their end",
                blocks.to_string(),
                format!("{planned_blocks} in the plan"),
            )
            .advise(
                "Go on with it (plumb run --resume RUN, or plumb trial run --resume RUN), or read only the blocks that are whole.",
            ),
    ]
}

/// Steps whose search ended and found no rate that holds: that is a result, though there are no figures at such a rate.
fn searched_in_vain(case: &Case) -> usize {
    let in_vain = |step: &&StepResult| {
        let search = step.search.as_ref();
        search.is_some_and(|search| search.bounded_by.is_some() && search.rate_low_per_s.is_none())
    };
    case.document.steps.iter().filter(in_vain).count()
}

/// Steps whose settings were searched: the search keeps a line for each block and no figures of the step.
fn searched_for_settings(case: &Case) -> usize {
    let search = case.document.settings_search.as_ref();
    usize::from(search.is_some_and(|search| !search.blocks.is_empty()))
}

/// Steps of the plan that sent nothing.
fn unmeasured(case: &Case) -> Vec<String> {
    let planned = case.document.plan.steps.iter().map(|step| step.name.as_str());
    planned.filter(|name| !case.setups().any(|setup| setup.name() == *name)).map(quoted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};
    use plumb_model::plan::{Goal, GoalLatency};
    use plumb_model::search::{SearchBound, SearchResult};
    use plumb_model::units::Nanos;

    #[test]
    fn a_run_that_was_killed_or_stopped_is_suspect() {
        for state in [RunState::Running, RunState::Interrupted] {
            assert_found(RULE.row.id, Severity::Suspect, |document| document.run.state = state);
        }
    }

    #[test]
    fn a_run_that_failed_is_invalid_and_says_why() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.run.state = RunState::Failed { error: "no broker answered".to_owned() };
        });
        assert!(finding.claim.contains("no broker answered"), "{}", finding.claim);
    }

    #[test]
    fn a_step_whose_every_message_was_refused_is_named() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[1] = plumb_model::document::StepResult::default();
        });
        assert_eq!(finding.claim, "Nothing was measured in \"default\".");
    }

    #[test]
    fn a_search_that_found_no_rate_is_done_and_one_that_did_not_end_is_not() {
        let mut document = healthy();
        let goal = Goal { latency: GoalLatency::Acknowledge, quantile: 0.99, limit: Nanos::from_secs(1) };
        let search = SearchResult {
            goal,
            rate_low_per_s: None,
            rate_high_per_s: None,
            bounded_by: Some(SearchBound::NothingHolds),
            tries: Vec::new(),
        };
        document.steps[1] = StepResult { search: Some(search), ..StepResult::default() };
        assert_eq!(found(&document, RULE.row.id), []);
        if let Some(search) = &mut document.steps[1].search {
            search.bounded_by = None;
        }
        assert_eq!(found(&document, RULE.row.id).len(), 1);
    }

    #[test]
    fn a_complete_run_that_measured_nothing_is_invalid() {
        assert_found(RULE.row.id, Severity::Invalid, |document| document.steps.clear());
    }
}
