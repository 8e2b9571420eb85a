//! Comparisons, and rates, that rest on too few rounds to be told from noise.

use crate::comparison::is_of_means;
use crate::row::{Family, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use crate::setup::Setup;
use plumb_model::finding::ComparisonVerdict;
use plumb_model::finding::{Confidence, Finding, PathStage, Severity};
use plumb_stats::interval::BLOCKS_MIN;
use plumb_stats::paired::PAIRS_MIN;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "too-few-blocks",
        summary: "Setups share too few rounds for a comparison, or a rate has too few for an interval.",
        page: include_str!("../../../../docs/findings/too-few-blocks.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Confirmed,
        because: "the blocks are counted",
        stage: Some(PathStage::Comparison),
        flip: None,
    },
    about: About::Run,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    comparisons(case).into_iter().chain(rates(case)).collect()
}

/// Rates without an interval: how much they would differ next time is not known.
fn rates(case: &Case) -> Option<Finding> {
    let saturating = case.setups().filter(|setup| setup.saturates());
    let fewest = |setup: Setup| setup.whole_blocks().filter(|block| setup.rate_of(block).is_some()).count();
    let blocks: Vec<usize> = saturating.map(fewest).filter(|blocks| *blocks < BLOCKS_MIN).collect();
    let fewest = blocks.iter().min()?;
    let claim = match blocks.len() {
        1 => "One rate has no interval: it rests on too few blocks".to_owned(),
        several => format!("{several} rates have no interval: they rest on too few blocks"),
    };
    Some(
        about_run(RULE.row.id, Severity::Note, claim)
            .seen_against("whole blocks", fewest.to_string(), format!("at least {BLOCKS_MIN}"))
            .advise("Run with more blocks: how much they differ is how much a figure can be trusted."),
    )
}

fn comparisons(case: &Case) -> Option<Finding> {
    let short = case.comparisons.iter().filter(|comparison| {
        is_of_means(comparison) && comparison.verdict == ComparisonVerdict::TooFewBlocks
    });
    let fewest = short.clone().map(|comparison| comparison.blocks).min()?;
    let claim = format!(
        "{} of setups cannot be told from noise: they share too few rounds",
        match short.count() {
            1 => "1 pair".to_owned(),
            pairs => format!("{pairs} pairs"),
        }
    );
    Some(
        about_run(RULE.row.id, Severity::Note, claim)
            .seen_against("blocks in common", fewest.to_string(), format!("at least {PAIRS_MIN}"))
            .advise(
                "Run with more blocks: each setup is then measured several times, in turn with the others.",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::assert_found;

    #[test]
    fn two_rounds_are_too_few_to_tell_setups_apart() {
        let finding =
            assert_found(RULE.row.id, Severity::Note, |document| document.steps[0].blocks.truncate(2));
        assert_eq!(finding.claim, "1 pair of setups cannot be told from noise: they share too few rounds.");
        assert_eq!(finding.evidence[0].value, "2");
    }
}
