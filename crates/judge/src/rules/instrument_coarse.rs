//! Pacing and clocks that are not fine enough for the latency that was found.

use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use plumb_model::document::Instrument;
use plumb_model::figure::{percent, time};
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "instrument-coarse",
        summary: "Pacing or clock of the instrument is not small against what it measured.",
        page: include_str!("../../../../docs/findings/instrument-coarse.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Confirmed,
        because: "pacing and clock are measured by the calibration",
        stage: Some(PathStage::Instrument),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Share of the median that the pacing's usual lateness may be (ours).
const WAKE_SHARE_MAX: f64 = 0.10;

/// Share of the median that one step of the clock may be (ours: as fine as the histogram's digits need, tenfold).
const STEP_SHARE_MAX: f64 = 0.01;

fn check(case: &Case) -> Vec<Finding> {
    let instrument = &case.document.instrument;
    case.setups().filter_map(|setup| coarseness(&setup, instrument)).collect()
}

fn coarseness(setup: &Setup, instrument: &Instrument) -> Option<Finding> {
    if setup.has_program("producer") {
        // Another program paces its sends.
        return None;
    }
    let p50 = setup.p50_ns()?;
    let mut finding = about_step(
        RULE.row.id,
        Severity::Suspect,
        setup.name(),
        format!(
            "The instrument is coarse against the median of {}: part of it is the instrument's own",
            time(p50)
        ),
    );
    let parts = [
        ("usual lateness of pacing (wake_late p50)", instrument.wake_late.p50_ns, WAKE_SHARE_MAX),
        ("step of the clock", instrument.clock_step_ns, STEP_SHARE_MAX),
    ];
    for (what, value, share_max) in parts {
        let Some(value) = value.map(|value| value as f64) else { continue };
        if value > share_max * p50 {
            finding = finding.seen_against(
                what,
                time(value),
                format!("at most {} of the median", percent(share_max)),
            );
        }
    }
    let finding = finding
        .advise("Use a quieter machine, a finer clock source (tsc) or CPUs set apart for the generator.");
    (!finding.evidence.is_empty()).then_some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn pacing_that_is_late_by_a_tenth_of_the_median_is_found() {
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.instrument.wake_late.p50_ns = Some(80_000);
        });
        assert_eq!(finding.evidence[0].value, "80.0 µs");
    }

    #[test]
    fn a_clock_that_steps_by_a_hundredth_of_the_median_is_found() {
        assert_found(RULE.row.id, Severity::Suspect, |document| {
            document.instrument.clock_step_ns = Some(10_000)
        });
    }
}
