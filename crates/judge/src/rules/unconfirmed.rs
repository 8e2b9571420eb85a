//! Writes that no broker confirms.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::prose::{list, quoted};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "unconfirmed",
        summary: "With acks=0 nothing confirms a write: acknowledge latency is the hand-over to the socket.",
        page: include_str!("../../../../docs/findings/unconfirmed.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "acks is read back from the client",
        stage: Some(PathStage::Replication),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let steps: Vec<String> =
        case.setups().filter(|setup| setup.unconfirmed()).map(|setup| quoted(setup.name())).collect();
    let all = case.setups().count();
    let of = match steps.len() {
        0 => return Vec::new(),
        some if some < all => format!(" ({some} of {all} setups)"),
        _ => String::new(),
    };
    let claim = format!(
        "With acks=0{of} no write was confirmed: {} only the hand-over to the socket",
        if case.setups().all(|setup| setup.saturates()) { "the rate is" } else { "acknowledge latency is" }
    );
    vec![
        about_run(RULE.row.id, Severity::Note, claim)
            .seen("steps with acks=0", list(&steps))
            .advise("Read what was received; use acks=1 or acks=all to see a confirmed write."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn acks_0_is_noted_whether_read_back_or_asked_for() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            document.steps[0].durability.acks = Some("0".to_owned());
        });
        assert!(finding.claim.starts_with("With acks=0 (1 of 2 setups)"), "{}", finding.claim);
        assert_found(RULE.row.id, Severity::Note, |document| {
            document.steps[0].durability.acks = None;
            document.plan.steps[0].producer.insert("acks".to_owned(), "0".to_owned());
        });
    }
}
