//! Comparisons between steps whose records were not alike: keys, payload, headers, or how they lay on the partitions.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use crate::rules::uneven_partitions::told;
use crate::setup::Setup;
use plumb_model::figure::significant;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::prose::quoted;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "unequal-records",
        summary: "Steps whose records differ in keys, content or spread are held against each other.",
        page: include_str!("../../../../docs/findings/unequal-records.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "keys, sizes and content are those of the plan",
        stage: Some(PathStage::Comparison),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Spreads that are this far apart fill batches differently (ours, as for `uneven-partitions`).
const SPREADS_APART: f64 = 1.10;
/// The settings of a scenario that make the records' content.
const CONTENT: [&str; 3] = ["keys:", "payload:", "headers:"];

fn check(case: &Case) -> Vec<Finding> {
    let setups: Vec<Setup> = case.setups().collect();
    let find = |name: &str| setups.iter().find(|setup| setup.name() == name);
    let mut evidence: Vec<(String, String)> = Vec::new();
    for comparison in case.comparisons {
        let Some((a, b)) = find(&comparison.a).zip(find(&comparison.b)) else { continue };
        let pair = format!("{} / {}", quoted(a.name()), quoted(b.name()));
        if evidence.iter().any(|(known, _)| *known == pair) {
            continue;
        }
        let differences = differences(a, b);
        if !differences.is_empty() {
            evidence.push((pair, differences.join(", ")));
        }
    }
    if evidence.is_empty() {
        return Vec::new();
    }
    let claim = "Setups that are held against each other do not send the same records, so batches fill differently: the difference may be the records'";
    let mut finding = about_run(RULE.row.id, Severity::Note, claim);
    for (pair, differences) in evidence {
        finding = finding.seen(pair, differences);
    }
    vec![finding.advise("Give both the same keys and payload to compare anything else.")]
}

fn differences(a: &Setup, b: &Setup) -> Vec<String> {
    let mut differences: Vec<String> = a.load_differences(b);
    differences.retain(|difference| CONTENT.iter().any(|key| difference.starts_with(key)));
    let ratios = [a, b].map(|setup| setup.result.spread.partitions_max_to_mean());
    if let [Some(of_a), Some(of_b)] = ratios
        && (of_a / of_b).max(of_b / of_a) > SPREADS_APART
    {
        differences.push(format!("{} / {}", told(a), told(b)));
    }
    if differences.is_empty() {
        return differences;
    }
    let batches = [a, b].map(|setup| setup.result.producer_statistics.batch_messages_mean);
    if let [Some(of_a), Some(of_b)] = batches {
        differences.push(format!("messages per batch: {} / {}", significant(of_a, 3), significant(of_b, 3)));
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;
    use plumb_model::plan::Keys;

    #[test]
    fn keys_in_one_setup_alone_are_noted_with_what_they_do_to_batches() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            document.plan.steps[0].load.keys = Keys::RoundRobin { count: 100 };
            document.steps[0].producer_statistics.batch_messages_mean = Some(2.0);
        });
        assert_eq!(finding.evidence[0].what, "\"low latency\" / \"default\"");
        assert!(finding.evidence[0].value.starts_with("keys: "), "{finding:#?}");
        assert!(finding.evidence[0].value.ends_with("messages per batch: 2.00 / 1.00"), "{finding:#?}");
    }

    #[test]
    fn equal_keys_that_lie_differently_are_noted() {
        assert_found(RULE.row.id, Severity::Note, |document| {
            document.steps[0].spread.partition_records = Some(vec![9_000, 1_000]);
            document.steps[1].spread.partition_records = Some(vec![5_000, 5_000]);
        });
    }
}
