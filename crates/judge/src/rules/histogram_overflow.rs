//! Times above the histogram's range: quantiles do not see them.

use crate::row::{Family, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
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
    check: Check::Step(too_long),
};

fn too_long(setup: &Setup) -> Option<Finding> {
    let mut finding = about_step(
        RULE.row.id,
        Severity::Invalid,
        setup.name(),
        "Some times were longer than the hour that the histogram holds: quantiles and maximum are too low",
    );
    let measures = setup.result.latency.named().into_iter().chain([("slip", &setup.result.slip)]);
    for (measure, times) in measures.filter(|(_, times)| times.overflow > 0) {
        let samples = format!("samples of {measure} above 1 h");
        finding = finding.seen_against(samples, figure::count(times.overflow), "0");
    }
    let advice = "Find out what stood still for an hour; ask for a load that the path can carry.";
    (!finding.evidence.is_empty()).then(|| finding.advise(advice))
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
