//! Messages that arrived twice or out of order.

use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "duplicates-or-reorder",
        summary: "Messages arrived twice or after later ones.",
        page: include_str!("../../../../docs/findings/duplicates-or-reorder.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "every message has a sequence number of its own",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "switch idempotence on",
            setting: Some(SettingRow { path: "producer.enable.idempotence", value: "true" }),
            observe: "duplicates and reordered messages",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Step(disorder),
};

fn disorder(setup: &Setup) -> Option<Finding> {
    let counts = &setup.result.counts;
    let mut finding = about_step(
        RULE.row.id,
        Severity::Suspect,
        setup.name(),
        "Some messages arrived more than once or after later ones of the same producer and partition",
    );
    for (what, count) in [("counts.duplicated", counts.duplicated), ("counts.reordered", counts.reordered)] {
        if count > 0 {
            finding = finding.seen_against(what, figure::count(count), "0");
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
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].counts.duplicated = 1);
        assert_found(RULE.row.id, Severity::Suspect, |document| document.steps[0].counts.reordered = 1);
    }
}
