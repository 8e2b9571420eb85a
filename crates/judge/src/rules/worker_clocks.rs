//! Latencies between clocks whose difference is known less well than the latencies are short.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::figure::{percents, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "worker-clocks",
        summary: "The workers' clocks are not known well enough for so short an end-to-end latency.",
        page: include_str!("../../../../docs/findings/worker-clocks.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "the band in which the clocks' difference lies follows from the exchanges alone, whatever their two ways took",
        stage: Some(PathStage::Instrument),
        flip: Some(FlipRow {
            change: "run producers and consumers in one worker, whose clock is one",
            setting: None,
            observe: "the clock error of the end-to-end latency",
            expect: Expect::Falls,
        }),
    },
    about: About::Run,
    check: Check::Step(worker_clocks),
};

/// Share of the median latency that the error may be (ours: more is a large part of the figure).
const ERROR_SHARE_MAX: f64 = 0.10;

fn worker_clocks(setup: &Setup) -> Option<Finding> {
    let latency = &setup.result.latency.end_to_end;
    let error_ns = latency.clock_error();
    // No path takes no time: what would be below zero counts as zero.
    if error_ns > 0.0 && latency.min_ns == Some(0) {
        return Some(below_zero(setup, error_ns));
    }
    let typical_ns = latency.p50_ns.map(|ns| ns as f64).or(latency.mean_ns)?;
    let share = error_ns / typical_ns;
    if share <= ERROR_SHARE_MAX {
        return None;
    }
    let [seen, limit] = percents(share, ERROR_SHARE_MAX);
    let claim = "The workers' clocks are known to a band that is a large part of the end-to-end latency: its level may be another";
    Some(
        about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
            .seen_against(
                format!("most that each end-to-end latency may be off ({}), of the median of {}", time(error_ns), time(typical_ns)),
                seen,
                format!("at most {limit}"),
            )
            .advise("Decide on acknowledge latency, which is of one clock, or run producers and consumers in one worker.")
            .advise("The band is as wide as the fastest exchange with a worker took: a shorter way to the workers narrows it."),
    )
}

fn below_zero(setup: &Setup, error_ns: f64) -> Finding {
    let claim = "By the workers' clocks messages came before they were sent and count as zero: mean and quantiles of the end-to-end latency \
                 mean nothing";
    about_step(RULE.row.id, Severity::Invalid, setup.name(), claim)
        .seen_against("least end-to-end latency", time(0.0), "more than zero")
        .seen("most that each end-to-end latency may be off", time(error_ns))
        .advise("Decide on acknowledge latency, which is of one clock, or run producers and consumers in one worker.")
        .advise("The way to a worker takes longer there than back, or back than there: bring the workers nearer.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, healthy};

    #[test]
    fn an_error_beyond_a_tenth_of_the_median_is_found_and_a_smaller_one_is_not() {
        let error = |share: f64| {
            move |document: &mut plumb_model::document::RunDocument| {
                let latency = &mut document.steps[0].latency.end_to_end;
                latency.clock_error_ns = Some((latency.p50_ns.unwrap() as f64 * share) as u64);
            }
        };
        assert_found(RULE.row.id, Severity::Suspect, error(0.11));
        let mut document = healthy();
        error(0.09)(&mut document);
        assert_eq!(found(&document, RULE.row.id), []);
        document.steps[0].latency.end_to_end.min_ns = Some(0);
        let finding = crate::healthy::one(&document, RULE.row.id);
        assert_eq!(finding.severity, Severity::Invalid);
        assert!(finding.claim.contains("count as zero"), "{}", finding.claim);
    }
}
