//! Latencies below zero: impossible on one clock.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use plumb_model::figure;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::observation::Latencies;

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
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let findings = case.setups().filter_map(|setup| {
        let negative = negatives(&setup.result.latency);
        let mut finding = about_step(
            RULE.row.id,
            Severity::Invalid,
            setup.name(),
            "Some messages seem to have arrived before they were sent: the clocks or the stamps are wrong",
        );
        for (measure, count) in negative {
            if count > 0 {
                finding =
                    finding.seen_against(format!("negative samples of {measure}"), figure::count(count), "0");
            }
        }
        (!finding.evidence.is_empty()).then_some(finding)
    });
    findings
        .map(|finding| {
            finding.advise(
                "Producer and consumer must share one monotonic clock; if they do, report this as a bug.",
            )
        })
        .collect()
}

fn negatives(latency: &Latencies) -> [(&'static str, u64); 4] {
    [
        ("end_to_end", latency.end_to_end.negative),
        ("acknowledge", latency.acknowledge.negative),
        ("end_to_end_service", latency.end_to_end_service.negative),
        ("acknowledge_service", latency.acknowledge_service.negative),
    ]
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
