//! States the durability under which the figures were made.

use crate::durability::fingerprint;
use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::prose::{list, quoted};
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "durability",
        summary: "What the guarantee of a write was.",
        page: include_str!("../../../../docs/findings/durability.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "acks, replicas and flush settings are read back",
        stage: Some(PathStage::Replication),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let mut steps_by_guarantee: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for setup in case.setups() {
        steps_by_guarantee
            .entry(fingerprint(&setup.result.durability))
            .or_default()
            .push(quoted(setup.name()));
    }
    steps_by_guarantee.retain(|guarantee, _| !guarantee.is_empty());
    let Some(first) = steps_by_guarantee.keys().next() else { return Vec::new() };
    let claim = match steps_by_guarantee.len() {
        1 => format!("All writes were made with {first}"),
        several => format!("Writes were made with {several} different guarantees"),
    };
    let mut finding = about_run(RULE.row.id, Severity::Note, claim);
    for (guarantee, steps) in &steps_by_guarantee {
        finding = finding.seen(guarantee.as_str(), list(steps));
    }
    vec![finding.advise("Compare only with figures that were made with the same guarantee.")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one};

    #[test]
    fn one_guarantee_for_all_is_stated_in_the_claim() {
        assert_eq!(one(&healthy(), RULE.row.id).claim, "All writes were made with acks=1, replication=1.");
    }

    #[test]
    fn several_guarantees_are_listed_with_their_steps() {
        let mut document = healthy();
        document.steps[1].durability.acks = Some("all".to_owned());
        let finding = one(&document, RULE.row.id);
        assert_eq!(finding.claim, "Writes were made with 2 different guarantees.");
        assert_eq!(finding.evidence[1].what, "acks=all, replication=1");
        assert_eq!(finding.evidence[1].value, "\"default\"");
    }

    #[test]
    fn a_guarantee_of_which_nothing_is_known_is_not_stated() {
        let mut document = healthy();
        document.steps.iter_mut().for_each(|step| step.durability = Default::default());
        assert_eq!(found(&document, RULE.row.id), []);
    }
}
