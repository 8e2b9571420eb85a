//! Messages whose delivery failed or whose outcome is open.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, SHARE_THAT_HIDES_P99, about_step};
use crate::setup::Setup;
use plumb_model::document::RunState;
use plumb_model::figure::{self, counted, percent};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "messages-failed",
        summary: "Some messages were not delivered, or nobody knows.",
        page: include_str!("../../../../docs/findings/messages-failed.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "each failure was reported by the client with its error",
        stage: Some(PathStage::Broker),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let complete = case.document.run.state == RunState::Complete;
    case.setups().filter_map(|setup| failure(&setup, complete)).collect()
}

fn failure(setup: &Setup, complete: bool) -> Option<Finding> {
    let counts = &setup.result.counts;
    // A run that was stopped never came to send the rest.
    let refused = if complete && setup.produces() { counts.intended.saturating_sub(counts.sent) } else { 0 };
    let undelivered = counts.failed.saturating_add(counts.unknown).saturating_add(refused);
    if undelivered == 0 {
        return None;
    }
    let due = counts.sent.saturating_add(refused);
    let share = undelivered as f64 / due.max(1) as f64;
    let severity = if share < SHARE_THAT_HIDES_P99 { Severity::Suspect } else { Severity::Invalid };
    let claim = format!(
        "{undelivered} of {} ({}) were not confirmed as delivered; {} the others",
        counted(due, "message"),
        percent(share),
        if setup.saturates() || setup.shows_queue() {
            "the rate is that of"
        } else {
            "the latencies are those of"
        }
    );
    let mut finding = about_step(RULE.row.id, severity, setup.name(), claim)
        .seen_against("counts.failed", figure::count(counts.failed), "0")
        .seen_against(
            "counts.unknown",
            match counts.never_sent {
                None => figure::count(counts.unknown),
                Some(never) => format!(
                    "{}, of which {} were taken by a client program and never sent: it told nothing of them, and no log has them",
                    figure::count(counts.unknown),
                    figure::count(never)
                ),
            },
            "0",
        )
        .seen_against("due and never sent", figure::count(refused), "0");
    for error in &setup.result.errors {
        finding =
            finding.seen(format!("{} error {}", error.origin, error.code), counted(error.count, "time"));
    }
    Some(finding.advise("Remove the cause of the errors before reading the figures."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn failures_are_suspect_until_they_could_hide_the_p99() {
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].counts.failed = 99);
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].counts.unknown = 1);
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            (document.steps[0].counts.failed, document.steps[0].counts.unknown) = (50, 50);
        });
    }

    #[test]
    fn what_a_program_took_and_never_sent_is_told_apart_from_what_may_be_stored() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let counts = &mut document.steps[0].counts;
            (counts.unknown, counts.never_sent) = (9, Some(7));
        });
        assert!(finding.evidence[1].value.starts_with("9, of which 7 were taken"), "{finding:#?}");
    }

    #[test]
    fn messages_that_the_client_refused_count_unless_the_run_was_stopped() {
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].counts.intended += 7);
        let mut stopped = crate::healthy::healthy();
        stopped.run.state = RunState::Interrupted;
        stopped.steps[0].counts.intended += 7;
        assert_eq!(crate::healthy::found(&stopped, RULE.row.id), []);
    }
}
