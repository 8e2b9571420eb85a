//! Answers in which the broker says that it held the client back.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::time;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "throttled",
        summary: "The broker held clients back by a quota.",
        page: include_str!("../../../../docs/findings/throttled.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the brokers tell the throttle time in their answers",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "lift the client's quota",
            setting: None,
            observe: "throttle time",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(throttling),
};

fn throttling(setup: &Setup) -> Option<Finding> {
    let mut finding = about_step(
        RULE.row.id,
        Severity::Suspect,
        setup.name(),
        "A quota held the client back: the figures are those of the quota, not of the path",
    );
    let roles =
        [("producer", &setup.result.producer_statistics), ("consumer", &setup.result.consumer_statistics)];
    for (role, statistics) in roles {
        let longest_ns = statistics.throttle_max_ns.unwrap_or(0);
        if longest_ns > 0 || statistics.throttled_responses > 0 {
            finding = finding
                .seen_against(
                    format!("{role} throttled responses"),
                    statistics.throttled_responses.to_string(),
                    "0",
                )
                .seen_against(format!("{role} longest throttle time"), time(longest_ns as f64), "0");
        }
    }
    let finding =
        finding.advise("Ask for less than the quota, or have the quota raised for this client.id or user.");
    (!finding.evidence.is_empty()).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_throttle_time_in_any_answer_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].producer_statistics.throttle_max_ns = Some(30_000_000);
        });
        assert_eq!(finding.evidence[1].value, "30.0 ms");
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].consumer_statistics.throttled_responses = 2;
        });
    }
}
