//! Connections lost or made anew, timeouts and retries inside the measured part.

use crate::row::{Family, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "reconnect-in-window",
        summary: "Connections were lost or made, or requests repeated, while messages were measured.",
        page: include_str!("../../../../docs/findings/reconnect-in-window.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the clients count connections and repeated requests",
        stage: Some(PathStage::Network),
        flip: None,
    },
    about: About::Run,
    check: Check::Step(disturbance),
};

fn disturbance(setup: &Setup) -> Option<Finding> {
    let mut finding = about_step(
        RULE.row.id,
        Severity::Suspect,
        setup.name(),
        "The connections were not undisturbed: some messages waited for a new connection or were sent again",
    );
    let roles =
        [("producer", &setup.result.producer_statistics), ("consumer", &setup.result.consumer_statistics)];
    for (role, statistics) in roles {
        let events = [
            ("reconnects", statistics.reconnects),
            ("disconnects", statistics.disconnects),
            ("request timeouts", statistics.timeouts),
            ("repeated sends", statistics.retries),
        ];
        for (what, count) in events.into_iter().filter(|(_, count)| *count > 0) {
            finding = finding.seen_against(format!("{role} {what}"), figure::count(count), "0");
        }
    }
    let finding = finding
        .advise("Look at the errors of the step and at the brokers' logs for the reason.")
        .advise("Idle connections are closed by connections.max.idle.ms; a longer warm-up makes them before the measured part.");
    (!finding.evidence.is_empty()).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn connections_requests_and_sends_that_failed_once_are_found() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].producer_statistics.reconnects = 1
        });
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].consumer_statistics.disconnects = 1
        });
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].producer_statistics.timeouts = 1
        });
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].producer_statistics.retries = 1
        });
    }
}
