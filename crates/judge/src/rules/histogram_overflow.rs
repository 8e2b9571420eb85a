//! Times above the histogram's range: quantiles do not see them.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use plumb_model::figure;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "histogram-overflow",
        summary: "Latencies were too long for the histogram and are missing from the quantiles.",
        page: include_str!("../../../../docs/findings/histogram-overflow.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "the times that did not fit are counted",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let findings = case.setups().filter_map(|setup| {
        let (latency, slip) = (&setup.result.latency, &setup.result.slip);
        let measures = [
            ("end_to_end", latency.end_to_end.overflow),
            ("acknowledge", latency.acknowledge.overflow),
            ("end_to_end_service", latency.end_to_end_service.overflow),
            ("acknowledge_service", latency.acknowledge_service.overflow),
            ("slip", slip.overflow),
        ];
        let mut finding = about_step(
            RULE.row.id,
            Severity::Invalid,
            setup.name(),
            "Some times were longer than the hour that the histogram holds: quantiles and maximum are too low",
        );
        for (measure, count) in measures {
            if count > 0 {
                finding = finding.seen_against(format!("samples of {measure} above 1 h"), figure::count(count), "0");
            }
        }
        (!finding.evidence.is_empty()).then_some(finding)
    });
    findings
        .map(|finding| {
            finding.advise("Find out what stood still for an hour; ask for a load that the path can carry.")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn one_time_above_the_range_makes_a_run_invalid() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].latency.end_to_end.overflow = 1
        });
        assert_found(RULE.row.id, Severity::Invalid, |document| document.steps[0].slip.overflow = 1);
    }
}
