//! Comparisons between steps whose writes were not equally safe.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Comparison, Confidence, Finding, PathStage, Severity};
use plumb_model::prose::quoted;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "unequal-durability",
        summary: "Steps with different guarantees are held against each other.",
        page: include_str!("../../../../docs/findings/unequal-durability.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "acks, replicas and flush settings are read back from both",
        stage: Some(PathStage::Comparison),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let differ = about_pairs(
        case,
        |pair| &pair.durability_differences,
        "Setups that are held against each other do not promise the same: the faster one may only be the less safe one",
        "Give both the same acks, replication and flush settings to compare their speed.",
    );
    let not_known = about_pairs(
        case,
        |pair| &pair.durability_not_known,
        "It is not known whether setups that are held against each other promise the same: one of them does not tell all of it",
        "Run them where both can be asked: brokers that ended, or that refuse to be asked, tell nothing.",
    );
    differ.into_iter().chain(not_known).collect()
}

/// What pairs of setups have, where any have it.
fn about_pairs(
    case: &Case,
    what: fn(&Comparison) -> &Vec<String>,
    claim: &str,
    advice: &str,
) -> Option<Finding> {
    let pairs: BTreeSet<(&str, &str, String)> = case
        .comparisons
        .iter()
        .filter(|pair| !what(pair).is_empty())
        .map(|pair| (pair.a.as_str(), pair.b.as_str(), what(pair).join(", ")))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let finding = about_run(RULE.row.id, Severity::Note, claim);
    let seen = |finding: Finding, (a, b, parts): (&str, &str, String)| {
        finding.seen(format!("{} / {}", quoted(a), quoted(b)), parts)
    };
    Some(pairs.into_iter().fold(finding, seen).advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_comparison_of_acks_0_with_acks_1_is_noted() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            document.steps[0].durability.acks = Some("0".to_owned());
        });
        assert_eq!(finding.evidence[0].what, "\"low latency\" / \"default\"");
        assert_eq!(finding.evidence[0].value, "acks: 0 / 1");
    }

    #[test]
    fn what_only_one_of_two_tells_is_not_known_and_no_difference() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            document.steps[0].durability.acks = None;
        });
        assert!(finding.claim.starts_with("It is not known whether setups"), "{}", finding.claim);
        assert_eq!(finding.evidence[0].value, "acks: not known / 1");
    }
}
