//! The number of clients from which a rate varies more from block to block.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use crate::sweep::clients_of;
use plumb_model::figure::percent;
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::quoted;
use plumb_model::sweep::SweepResult;

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "variability-onset",
        summary: "From some number of clients on, the rate varies more from block to block.",
        page: include_str!("../../../../docs/findings/variability-onset.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the spread of blocks is estimated at single points",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "measure points on both sides of the onset again",
            setting: None,
            observe: "the spread from block to block",
            expect: Expect::Stays,
        }),
    },
    about: About::System,
    check: Check::Run(check),
};

fn check(case: &Case) -> Vec<Finding> {
    case.sweeps.iter().filter_map(finding).collect()
}

fn finding(line: &SweepResult) -> Option<Finding> {
    let onset = line.variability?;
    let of = if line.line.is_empty() { String::new() } else { format!(" of {}", quoted(&line.line)) };
    let claim = format!(
        "From {} on ({}: {} to {}) the rate{of} varies by {} from block to block instead of {}",
        clients_of(line, onset.clients),
        percent(onset.level),
        onset.clients_low,
        onset.clients_high,
        percent(onset.variation_after),
        percent(onset.variation_before)
    );
    Some(
        about_run(RULE.row.id, Severity::Note, claim)
            .seen_against(
                "coefficient of variation of blocks",
                percent(onset.variation_after),
                percent(onset.variation_before),
            )
            .seen("chance of such a rise where there is none", plumb_model::figure::probability(onset.p))
            .advise("Stay below it where a steady rate matters more than the highest one.")
            .advise("Look at the device's and the brokers' queues there: a resource that is full serves unevenly."),
    )
}
