//! Coordinated omission: the part of the tail that the service time would have hidden.

use crate::row::{Family, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{self, time};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::observation::Distribution;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "schedule-wait",
        summary: "Service time hides a wait that the latency from the intended time shows.",
        page: include_str!("../../../../docs/findings/schedule-wait.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "both times are measured for each message",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Step(hidden_wait),
};

/// From this ratio of p99s on, the two tell different stories (from the literature on coordinated omission).
const RATIO_MAX: f64 = 1.2;

fn hidden_wait(setup: &Setup) -> Option<Finding> {
    let latency = &setup.result.latency;
    let pairs: [(&str, &Distribution, &Distribution); 2] = [
        ("end-to-end", &latency.end_to_end, &latency.end_to_end_service),
        ("acknowledge", &latency.acknowledge, &latency.acknowledge_service),
    ];
    let mut finding = about_step(
        RULE.row.id,
        Severity::Note,
        setup.name(),
        "Sends had to wait: an application that keeps the schedule sees the latency, the service time alone hides the wait",
    );
    for (measure, from_intended, from_actual) in pairs {
        let (Some(response), Some(service)) = (from_intended.p99_ns, from_actual.p99_ns) else { continue };
        let ratio = response as f64 / (service as f64).max(1.0);
        if ratio > RATIO_MAX {
            finding = finding.seen_against(
                format!("{measure} p99 from the intended time"),
                time(response as f64),
                format!("service time p99 {} ({} of it)", time(service as f64), figure::ratio(1.0 / ratio)),
            );
        }
    }
    let finding =
        finding.advise("Compare with tools that only know the service time by the service figures.");
    (!finding.evidence.is_empty()).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn a_tail_that_the_service_time_hides_is_noted() {
        let finding = assert_found(RULE.row.id, Severity::Note, |document| {
            document.steps[0].latency.end_to_end.p99_ns = Some(495_000_000);
        });
        assert_eq!(finding.evidence[0].value, "495 ms");
    }
}
