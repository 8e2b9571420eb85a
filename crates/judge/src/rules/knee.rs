//! Where more clients stop helping, and where they begin to do harm.

use crate::figure::{messages_per_s, percent, quoted};
use crate::rule::{About, Case, Complete, Rule, about_run};
use crate::sweep::clients_name;
use plumb_model::finding::{Finding, Severity};
use plumb_model::sweep::{SweepPlace, SweepResult};

pub(super) const RULE: Rule = Rule {
    id: "knee",
    title: "Knee",
    summary: "From some number of clients on, more of them move no more messages.",
    page: include_str!("../../../../docs/findings/knee.md"),
    severity: Severity::Note,
    about: About::System,
    check,
};

fn check(case: &Case) -> Vec<Finding> {
    case.sweeps.iter().filter_map(finding).collect()
}

fn finding(line: &SweepResult) -> Option<Finding> {
    let best = line.best_per_s?;
    let clients = clients_name(line);
    let at = |found: &SweepPlace| format!("{} {clients} ({})", found.clients, interval(found));
    let of = if line.line.is_empty() { String::new() } else { format!(" of {}", quoted(&line.line)) };
    let falls = line.fall.map(|fall| {
        let share = line.last_share.unwrap_or(1.0);
        format!("; from {} on it falls, to {} of the best at the last point", at(&fall), percent(share))
    });
    let claim = match (&line.knee, &falls) {
        (Some(knee), falls) => format!(
            "The rate{of} stops rising at {}: more add less than {}{}",
            at(knee),
            percent(knee.margin),
            falls.clone().unwrap_or_default()
        ),
        (None, _) => {
            let last = line.points.last()?.clients;
            format!("The rate{of} still rises at {last} {clients}, the most that were tried")
        }
    };
    let finding = about_run(RULE.id, Severity::Note, claim)
        .seen("best rate", messages_per_s(best))
        .seen("points and blocks", format!("{} points, {} blocks", line.points.len(), blocks(line)));
    Some(match line.knee {
        Some(knee) => finding.advise(format!(
            "Use {} {clients} for this load; what bounds the rate beyond that is not the clients.",
            knee.clients
        )),
        None => finding.advise(format!("Extend the range of {clients} until the rate stops rising.")),
    })
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
