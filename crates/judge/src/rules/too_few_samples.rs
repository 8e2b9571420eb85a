//! Headline quantiles that the number of messages does not allow.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_model::prose::list;
use plumb_stats::distribution::samples_needed;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "too-few-samples",
        summary: "A headline quantile is absent because too few messages stand behind it.",
        page: include_str!("../../../../docs/findings/too-few-samples.md"),
        family: Family::Run,
        severity: Severity::Invalid,
        confidence: Confidence::Confirmed,
        because: "the samples are counted",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    // As fast as possible there is no latency that could be missing.
    case.setups().filter(|setup| setup.has_latency()).filter_map(|setup| missing(&setup)).collect()
}

fn missing(setup: &Setup) -> Option<Finding> {
    let latency = setup.headline();
    let headline = [
        ("p50", latency.p50_ns, 0.5),
        ("p75", latency.p75_ns, 0.75),
        ("p95", latency.p95_ns, 0.95),
        ("p99", latency.p99_ns, 0.99),
    ];
    let absent: Vec<_> = headline.iter().filter(|(_, figure, _)| figure.is_none()).collect();
    let needed = samples_needed(absent.last()?.2);
    let names: Vec<String> = absent.iter().map(|(name, ..)| (*name).to_owned()).collect();
    // Without a median nothing is left that a latency run is made for; without a p99 the rest stands.
    let severity = if latency.p50_ns.is_none() { Severity::Invalid } else { Severity::Suspect };
    let claim = format!("Too few messages to tell {} of the {} latency", list(&names), setup.headline_name());
    Some(
        about_step(RULE.row.id, severity, setup.name(), claim)
            .seen_against(
                format!("{} samples", setup.headline_name()),
                latency.samples.to_string(),
                format!("at least {needed}"),
            )
            .advise(format!("Send at least {needed} messages per step (a quantile q needs 10/(1-q)).")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn an_absent_p99_is_suspect_and_the_advice_says_how_many_are_needed() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            let latency = &mut document.steps[0].latency.end_to_end;
            (latency.samples, latency.p99_ns) = (999, None);
        });
        assert_eq!(finding.claim, "Too few messages to tell p99 of the end-to-end latency.");
        assert!(finding.advice[0].contains("1000 messages"), "{:?}", finding.advice);
    }

    #[test]
    fn an_absent_median_is_invalid() {
        assert_found(RULE.row.id, Severity::Invalid, |document| {
            document.steps[0].latency.end_to_end = plumb_model::observation::Distribution::default();
        });
    }
}
