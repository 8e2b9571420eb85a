//! A/A pairs that differ: then other differences of the run are not to be trusted either.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use plumb_model::figure::{self, change};
use plumb_model::finding::ComparisonVerdict;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::quoted;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "identical-steps-differ",
        summary: "Two steps with the same settings differ by more than the noise.",
        page: include_str!("../../../../docs/findings/identical-steps-differ.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Supported,
        because: "the difference is shown by the blocks; that something besides the settings acts on them follows, what it is does not",
        stage: Some(PathStage::Comparison),
        flip: Some(FlipRow {
            change: "repeat the run with more blocks",
            setting: None,
            observe: "the difference of the equal steps",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let differing = case.identical_pairs().filter(|pair| pair.verdict == ComparisonVerdict::Differs);
    let finding = differing.filter_map(|pair| {
        let (ratio, p) = (pair.ratio?, pair.p_adjusted?);
        let claim = format!(
            "{} and {} have the same settings and differ by {} in {}: something else than the settings acts on the figures",
            quoted(&pair.a),
            quoted(&pair.b),
            change(ratio),
            pair.metric
        );
        Some(
            about_run(RULE.row.id, Severity::Suspect, claim)
                .seen_against(format!("{} of {} / {}", pair.metric, pair.b, pair.a), figure::ratio(ratio), "×1")
                .seen("adjusted p", figure::probability(p))
                .advise("Believe only differences that are much larger than this one; run with more blocks on a quieter host."),
        )
    });
    finding.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{found, one, with_identical_step};
    use plumb_model::plan::{ClientProgram, ExternalPlan, JavaClient};

    #[test]
    fn an_identical_pair_that_differs_is_found() {
        let mut document = with_identical_step();
        assert_eq!(found(&document, RULE.row.id), []);
        for block in &mut document.steps[2].blocks {
            block.end_to_end.mean_ns = block.end_to_end.mean_ns.map(|mean| mean * 1.3);
        }
        let finding = one(&document, RULE.row.id);
        assert_eq!(finding.severity, Severity::Suspect);
        assert!(finding.claim.contains("end_to_end.mean"), "{}", finding.claim);
        // Steps on two clusters, or with two clients, are there to be compared.
        let mut of_clients = document.clone();
        document.plan.steps[2].cluster = Some(document.plan.cluster.clone());
        assert_eq!(found(&document, RULE.row.id), []);
        let (producer, consumer) = (ClientProgram::Java(JavaClient::default()), ClientProgram::Librdkafka);
        of_clients.plan.steps[2].external = Some(ExternalPlan { producer, consumer });
        assert_eq!(found(&of_clients, RULE.row.id), []);
    }
}
