//! Consumer group rebalances inside the measured part.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use plumb_model::figure::counted;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "rebalance-in-window",
        summary: "The consumer group was rebalanced while messages were measured.",
        page: include_str!("../../../../docs/findings/rebalance-in-window.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the clients report each rebalance",
        stage: Some(PathStage::Fetch),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let disturbed = case.setups().filter(|setup| setup.result.consumer_statistics.rebalances > 0);
    let finding = |name: &str, rebalances: u64| {
        let claim = format!(
            "{} of the consumer group fell into the measured part: messages waited for the new assignment",
            counted(rebalances, "rebalance")
        );
        about_step(RULE.row.id, Severity::Suspect, name, claim)
            .seen_against("consumer_statistics.rebalances", rebalances.to_string(), "0")
            .advise("Use a consumer group of its own, and look for consumers that miss max.poll.interval.ms.")
            .advise("Read the median rather than the tail, or run again.")
    };
    disturbed.map(|setup| finding(setup.name(), setup.result.consumer_statistics.rebalances)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_rebalance_while_measuring_is_found() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.steps[0].consumer_statistics.rebalances = 1;
        });
    }
}
