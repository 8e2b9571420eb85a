//! Latencies below zero: impossible on one clock.

use crate::row::{Family, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "negative-latency",
        summary: "Messages seem to have arrived before they were due.",
        page: include_str!("../../../../docs/findings/negative-latency.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "the times are of one clock and were counted",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Step(negative),
};

fn negative(setup: &Setup) -> Option<Finding> {
    let mut finding = about_step(
        RULE.row.id,
        Severity::Invalid,
        setup.name(),
        "Some messages seem to have arrived before they were sent: the clocks or the stamps are wrong",
    );
    let measures = setup.result.latency.named().into_iter();
    for (measure, times) in measures.filter(|(_, times)| times.negative > 0) {
        let samples = format!("negative samples of {measure}");
        finding = finding.seen_against(samples, figure::count(times.negative), "0");
    }
    let advice = "Producer and consumer must share one monotonic clock; if they do, report this as a bug.";
    (!finding.evidence.is_empty()).then(|| finding.advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn one_negative_sample_makes_a_run_invalid() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].latency.end_to_end.negative = 1
        });
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].latency.acknowledge_service.negative = 1;
        });
    }
}
