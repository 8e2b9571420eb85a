//! Comparisons between steps whose writes were not equally safe.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
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
    let unequal = case.comparisons.iter().filter(|comparison| !comparison.durability_differences.is_empty());
    let pairs: BTreeSet<(&str, &str, String)> = unequal
        .map(|pair| (pair.a.as_str(), pair.b.as_str(), pair.durability_differences.join(", ")))
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut finding = about_run(
        RULE.row.id,
        Severity::Note,
        "Setups that are held against each other do not promise the same: the faster one may only be the less safe one",
    );
    for (a, b, differences) in pairs {
        finding = finding.seen(format!("{} / {}", quoted(a), quoted(b)), differences);
    }
    vec![finding.advise("Give both the same acks, replication and flush settings to compare their speed.")]
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
}
