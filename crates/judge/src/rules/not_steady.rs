//! Change points and drifts of latency within the blocks of a step.

use crate::figure::{change, time};
use crate::rule::{About, Case, Complete, Rule, about_step};
use crate::setup::Setup;
use crate::steadiness::{Moment, unsteadiness};
use plumb_model::finding::{Finding, Severity};
use plumb_stats::steady::Shape;

pub(super) const RULE: Rule = Rule {
    id: "not-steady",
    title: "Not steady",
    summary: "Latency did not hold its level while it was measured.",
    page: include_str!("../../../../docs/findings/not-steady.md"),
    severity: Severity::Suspect,
    about: About::Run,
    check,
};

fn check(case: &Case) -> Vec<Finding> {
    let seed = case.document.plan.seed;
    case.setups().filter_map(|setup| finding(&setup, seed)).collect()
}

fn finding(setup: &Setup, seed: u64) -> Option<Finding> {
    let found = unsteadiness(setup.result, seed).filter(|found| !found.is_cold_start())?;
    let way = match found.change.shape {
        Shape::Step => "changed its level",
        Shape::Drift => "drifted",
    };
    let place = match found.moment {
        Moment::Block(block) => format!("in block {block}"),
        Moment::EveryBlock => "in the mean of the blocks".to_owned(),
    };
    let claim = format!(
        "Latency {way} ({}) {place}, after {} s: one figure for the whole does not describe it",
        change(found.ratio()),
        found.second
    );
    Some(
        about_step(RULE.id, Severity::Suspect, setup.name(), claim)
            .seen_against(
                "level after the change",
                time(found.change.after.exp()),
                time(found.change.before.exp()),
            )
            .seen("chance of such a change in a steady series", format!("{:.4}", found.change.p))
            .advise("Look at the latency over time, and at what the brokers and the host did at that moment.")
            .advise("Run longer, or look at the part before and the part after apart."),
    )
}
