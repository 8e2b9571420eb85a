//! The number of clients from which more stop helping, and from which more do harm.

use crate::row::{Family, FlipRow, Row};
use crate::rule::{About, Case, Check, Complete, Rule, about_run};
use crate::sweep::clients_of;
use plumb_model::figure::{messages_per_s, percent};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::prose::quoted;
use plumb_model::sweep::{NoKnee, SweepPlace, SweepResult};

pub(super) const RULE: Rule = Rule {
    row: Row {
        id: "knee",
        summary: "From some number of clients on, more of them move no more messages.",
        page: include_str!("../../../../docs/findings/knee.md"),
        family: Family::Run,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "the line is fitted to single points, with an interval",
        stage: Some(PathStage::Broker),
        flip: Some(FlipRow {
            change: "measure points on both sides of the knee again",
            setting: None,
            observe: "the rate beyond the knee",
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
    let best = line.best_per_s?;
    let last = line.points.last()?.clients;
    let of = if line.line.is_empty() { String::new() } else { format!(" of {}", quoted(&line.line)) };
    let (claim, advice) = match (&line.knee, line.no_knee) {
        (Some(knee), _) => (
            format!(
                "The rate{of} stops rising at {} ({}): more add less than {}",
                clients_of(line, knee.clients),
                interval(knee),
                percent(knee.margin)
            ),
            advice(line, knee),
        ),
        (None, Some(NoKnee::Unclear)) => (
            format!("Where the rate{of} stops rising cannot be told: its blocks differ too much"),
            "Run more and longer blocks on a quieter host.".to_owned(),
        ),
        (None, _) => (
            format!("The rate{of} still rises at {}, the most that were tried", clients_of(line, last)),
            "Extend the range until the rate stops rising.".to_owned(),
        ),
    };
    let fastest = line.points.iter().max_by(|a, b| a.per_s.total_cmp(&b.per_s))?;
    let finding = about_run(RULE.row.id, Severity::Note, claim + &falls(line).unwrap_or_default())
        .seen("level of the curve's top", messages_per_s(best))
        .seen(
            "fastest point",
            format!("{}, {}", clients_of(line, fastest.clients), messages_per_s(fastest.per_s)),
        )
        .seen("points and blocks", format!("{} points, {} blocks", line.points.len(), blocks(line)));
    Some(finding.advise(advice))
}

/// The number of clients to use, or the range in which it lies.
fn advice(line: &SweepResult, knee: &SweepPlace) -> String {
    let bound = "what bounds the rate beyond that is not the number of clients.";
    match knee.clients_high {
        Some(high) if high == knee.clients_low => {
            format!("Use {} for this load; {bound}", clients_of(line, knee.clients))
        }
        Some(high) => format!(
            "Use {} to {} for this load, and more and longer blocks to tell which; {bound}",
            knee.clients_low,
            clients_of(line, high)
        ),
        None => format!(
            "Use {} or more for this load; more and longer blocks tell how many are enough.",
            clients_of(line, knee.clients_low)
        ),
    }
}

/// That more clients do harm.
fn falls(line: &SweepResult) -> Option<String> {
    let fall = line.fall?;
    Some(format!(
        "; from {} on ({}) it falls, to {} of the best at the last point",
        clients_of(line, fall.clients),
        interval(&fall),
        percent(line.last_share?)
    ))
}

/// `6 to 9`, `6 or more`.
fn interval(place: &SweepPlace) -> String {
    match place.clients_high {
        Some(high) if high == place.clients_low => format!("{}: no other number fits", percent(place.level)),
        Some(high) => format!("{}: {} to {high}", percent(place.level), place.clients_low),
        None => format!("{}: {} or more", percent(place.level), place.clients_low),
    }
}

fn blocks(line: &SweepResult) -> usize {
    line.points.iter().map(|point| point.blocks_per_s.len()).min().unwrap_or(0)
}
