//! Messages that were acknowledged and never came out at the other end.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, SHARE_THAT_HIDES_P99, about_step};
use crate::setup::Setup;
use plumb_model::document::RunState;
use plumb_model::figure::{self, counted, percent};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "messages-lost",
        summary: "Messages were acknowledged and never received.",
        page: include_str!("../../../../docs/findings/messages-lost.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "each message was acknowledged by its number and is not in what was received",
        stage: Some(PathStage::Broker),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let complete = case.document.run.state == RunState::Complete;
    case.setups().filter_map(|setup| loss(&setup, complete)).collect()
}

fn loss(setup: &Setup, complete: bool) -> Option<Finding> {
    let counts = &setup.result.counts;
    if counts.lost == 0 {
        return None;
    }
    // Where nobody produces, all that could be received is the base.
    let base = if setup.produces() { counts.acked } else { counts.received.saturating_add(counts.lost) };
    let share = counts.lost as f64 / base.max(1) as f64;
    let few_and_allowed = setup.unconfirmed() && share < SHARE_THAT_HIDES_P99;
    // Followers that are behind keep messages from consumers, and only the leaders' own ends tell that from loss.
    let may_wait = setup.produces() && !acked_by_all(setup) && setup.result.accounting.unreplicated.is_none();
    // A run that was stopped may not have waited for what was under way.
    let severity = if few_and_allowed || !complete { Severity::Suspect } else { Severity::Invalid };
    let lost = counted(counts.lost, "message");
    let may_be_removed = counts.removed.is_none() && setup.consumes();
    let claim = if may_be_removed && !may_wait {
        format!(
            "{lost} ({}) stored and not received; whether they are lost or were removed from the logs before they were read is not known",
            percent(share)
        )
    } else if may_wait {
        format!(
            "{lost} ({}) acknowledged and not received; whether they are lost or wait for followers to copy them is not known",
            percent(share)
        )
    } else if setup.unconfirmed() {
        format!("{lost} ({}) never arrived; with acks=0 nobody had promised that they would", percent(share))
    } else if setup.produces() {
        format!("{lost} ({}) acknowledged and never received", percent(share))
    } else {
        format!("{lost} ({}) stored before and never received", percent(share))
    };
    Some(
        about_step(RULE.row.id, severity, setup.name(), claim)
            .seen_against("counts.lost", figure::count(counts.lost), "0")
            .seen("counts.acked", figure::count(counts.acked))
            .seen("counts.received", figure::count(counts.received))
            .advise("Read the figures as those of the messages that arrived.")
            .advise("If the consumer was still behind at the end, give it a longer drain and run again."),
    )
}

/// True if an acknowledgement says that all in-sync replicas have the message.
fn acked_by_all(setup: &Setup) -> bool {
    setup.result.durability.acks.as_deref().is_some_and(|acks| matches!(acks, "all" | "-1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn one_acknowledged_message_lost_makes_a_run_invalid() {
        let finding =
            assert_found(RULE.row.id, Severity::Invalid, |document| document.steps[0].counts.lost = 1);
        assert_eq!(finding.claim, "1 message (0.01 %) acknowledged and never received.");
    }

    #[test]
    fn where_nobody_knows_whether_followers_are_behind_nothing_is_called_lost() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].durability.acks = Some("1".to_owned());
            document.steps[0].accounting.unreplicated = None;
            document.steps[0].counts.lost = 20;
        });
        assert!(finding.claim.contains("is not known"), "{}", finding.claim);
    }

    #[test]
    fn where_nobody_knows_where_the_logs_begin_nothing_is_called_lost() {
        let finding = assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].counts.removed = None;
            document.steps[0].counts.lost = 20;
        });
        assert!(
            finding.claim.contains("removed from the logs before they were read is not known"),
            "{}",
            finding.claim
        );
    }

    #[test]
    fn with_acks_0_a_few_may_be_lost_but_not_so_many_that_the_p99_hides_them() {
        let lose = |lost: u64| {
            move |document: &mut plumb_model::document::RunDocument| {
                document.steps[0].durability.acks = Some("0".to_owned());
                document.steps[0].counts.lost = lost;
            }
        };
        assert_found(RULE.row.id, Severity::Suspect, lose(99));
        assert_found(RULE.row.id, Severity::Invalid, lose(100));
    }

    #[test]
    fn a_run_that_was_stopped_may_have_left_messages_under_way() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.run.state = RunState::Interrupted;
            document.steps[0].counts.lost = 5;
        });
    }
}
