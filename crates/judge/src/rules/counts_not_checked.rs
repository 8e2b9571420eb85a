//! Runs in which the broker could not confirm how much it stored.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "counts-not-checked",
        summary: "The broker's offsets could not be read, so its word on what was stored is missing.",
        page: include_str!("../../../../docs/findings/counts-not-checked.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "the request for the offsets failed or was refused",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let unchecked =
        case.setups().filter(|setup| setup.produces() && setup.result.accounting.agrees.is_none());
    let note = |name: &str| {
        about_step(
            RULE.row.id,
            Severity::Note,
            name,
            "What the broker stored is not known: the counts are those of the clients alone",
        )
        .seen("accounting.agrees", "not known")
        .advise("Let the client list the offsets of the topic (DESCRIBE on the topic).")
    };
    unchecked.map(|setup| note(setup.name())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn offsets_that_cannot_be_read_are_noted() {
        assert_found(RULE.row.id, Severity::Note, |document| document.steps[0].accounting.agrees = None);
    }
}
