//! The difference between equal settings in this run, by A/A pairs.

use crate::comparison::is_of_means;
use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::figure::{self, change};
use plumb_model::finding::ComparisonVerdict;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::prose::quoted;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "noise-floor",
        summary: "What two steps with the same settings say about the run's noise.",
        page: include_str!("../../../../docs/findings/noise-floor.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the difference of equal steps is an estimate with an interval",
        stage: Some(PathStage::Comparison),
        flip: None,
    },
    about: About::System,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let equal = case
        .identical_pairs()
        .filter(|pair| is_of_means(pair) && pair.verdict == ComparisonVerdict::WithinNoise);
    let finding = equal.filter_map(|pair| {
        let (ratio, low, high) = (pair.ratio?, pair.ratio_low?, pair.ratio_high?);
        let detectable = pair.smallest_detectable_ratio?;
        let claim = format!(
            "{} and {} have the same settings and came out {} apart in the mean: differences of that size are noise here",
            quoted(&pair.a),
            quoted(&pair.b),
            change(ratio)
        );
        Some(
            about_run(RULE.row.id, Severity::Note, claim)
                .seen_against(
                    format!("mean of {} / {}", pair.b, pair.a),
                    format!("{} ({})", figure::ratio(ratio), figure::interval(low, high, figure::ratio_digits)),
                    "×1",
                )
                .seen("smallest difference that this run could have seen", change(detectable))
                .advise("More blocks lower the noise floor, with the square root of their number."),
        )
    });
    finding.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, healthy, one, with_identical_step};

    #[test]
    fn an_identical_pair_states_the_noise() {
        assert_eq!(found(&healthy(), RULE.row.id), []);
        let finding = one(&with_identical_step(), RULE.row.id);
        assert!(finding.claim.contains("\"low latency\" and \"low latency again\""), "{}", finding.claim);
        assert_eq!(finding.evidence.len(), 2);
    }
}
