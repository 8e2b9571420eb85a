//! Messages that arrived twice or out of order.

use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::finding::{Finding, Severity};

pub(super) const RULE: Rule = Rule {
    id: "duplicates-or-reorder",
    summary: "Messages arrived twice or after later ones.",
    page: include_str!("../../../../docs/findings/duplicates-or-reorder.md"),
    severity: Severity::Suspect,
    about: About::Run,
    check,
};

fn check(case: &Case) -> Vec<Finding> {
    case.setups().filter_map(|setup| disorder(&setup)).collect()
}

fn disorder(setup: &Setup) -> Option<Finding> {
    let counts = &setup.result.counts;
    let mut finding = about_step(
        RULE.id,
        Severity::Suspect,
        setup.name(),
        "Some messages arrived more than once or after later ones of the same producer and partition",
    );
    for (what, count) in [("counts.duplicated", counts.duplicated), ("counts.reordered", counts.reordered)] {
        if count > 0 {
            finding = finding.seen_against(what, count.to_string(), "0");
        }
    }
    let finding = finding.advise(
        "Retries without enable.idempotence do this; look for retries and timeouts in the step's statistics.",
    );
    (!finding.evidence.is_empty()).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_duplicate_and_a_late_message_are_found() {
        assert_found(RULE.id, Severity::Suspect, |document| document.steps[0].counts.duplicated = 1);
        assert_found(RULE.id, Severity::Suspect, |document| document.steps[0].counts.reordered = 1);
    }
}
