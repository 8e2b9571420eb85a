//! Blocks that begin slow: connections, caches and compilers were not yet warm.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use crate::setup::Setup;
use crate::steadiness::unsteadiness;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "cold-start",
        summary: "Latency came down, or the rate went up, early in the measured part: the warm-up was too short.",
        page: include_str!("../../../../docs/findings/cold-start.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Supported,
        because: "a level that settles is seen; that a longer warm-up ends it is not tried",
        stage: Some(PathStage::Comparison),
        flip: Some(FlipRow {
            change: "double the warm-up",
            setting: None,
            observe: "the change of level within the measured part",
            expect: Expect::Gone,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    let seed = case.document.plan.seed;
    case.setups().filter_map(|setup| finding(&setup, seed)).collect()
}

fn finding(setup: &Setup, seed: u64) -> Option<Finding> {
    let found = unsteadiness(setup, seed)?;
    let cold_s = found.cold_start_s()?;
    let [before, after] = [found.change.before, found.change.after].map(|level| found.measure.figure(level));
    let claim = format!(
        "The first {cold_s} s of the measured part were slower than the rest: the warm-up was too short"
    );
    Some(
        about_step(RULE.row.id, Severity::Suspect, setup.name(), claim)
            .seen_against("level at first", before, after)
            .seen(
                "chance of so clear a change in a steady series",
                plumb_model::figure::probability(found.change.p),
            )
            .advise("Use a longer warm-up; connections, page cache and the brokers' compiler need it."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{assert_found, found, set_levels};

    #[test]
    fn blocks_that_begin_slow_are_found_and_are_not_called_unsteady() {
        let mut cold = crate::healthy::healthy();
        let finding = assert_found(RULE.row.id, Severity::Suspect, |document| {
            set_levels(document, |_, second, level| if second < 7 { level * 1.6 } else { level });
            cold = document.clone();
        });
        assert!(finding.claim.starts_with("The first 5 s"), "{}", finding.claim);
        assert_eq!(found(&cold, "not-steady"), []);
    }
}
