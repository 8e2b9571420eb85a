//! The result of a trial on a fleet: [`text`] for the terminal, [`page`] as one HTML file, [`groups`] for groups that were drawn.
//!
//! Only the layout: what is said is in the result (`plumb_judge::fleet`).

mod chart;
pub mod groups;
pub mod page;
#[cfg(test)]
mod tests;
pub mod text;

use crate::findings;
use plumb_model::figure::{count, ratio_digits};
use plumb_model::finding::{CheckOutcome, Finding};
use plumb_model::fleet::{FleetGroup, FleetResult, FleetUnit};
use std::collections::BTreeMap;

/// The caution beside figures that a failed check makes worthless.
fn caution(result: &FleetResult) -> String {
    let failed = result.checks.iter().find(|check| check.outcome == CheckOutcome::Failed);
    failed.map_or_else(String::new, |check| format!("not to be relied on: the check {} failed", check.id))
}

/// The reason why a surge's ratios do not answer for the surge.
const CHANGE_IN_SURGE: &str = "no time on this side of the change is without the surge";

fn outcome(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Warning => "warning",
        CheckOutcome::Failed => "FAILED",
        CheckOutcome::Unknown => "unknown",
    }
}

/// The findings that no check says: each check has its row already.
fn beside_checks(result: &FleetResult) -> Vec<String> {
    let of_check = |finding: &Finding| result.checks.iter().any(|check| check.id == finding.id);
    result.findings.iter().filter(|finding| !of_check(finding)).map(findings::short).collect()
}

/// `0.0503`, `1.24`.
fn ratio(value: f64) -> String {
    ratio_digits(value)
}

/// `0.0451 to 0.0562`, or what stands where there is none.
fn span(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", ratio(low), ratio(high)),
        (Some(low), None) => format!("above {}", ratio(low)),
        _ => plumb_model::figure::ABSENT.to_owned(),
    }
}

/// p without its name, for a column.
fn p(p: Option<f64>) -> String {
    match p {
        None => plumb_model::figure::ABSENT.to_owned(),
        Some(p) => plumb_model::figure::probability(p),
    }
}

/// The quantity that p is of.
fn permuted(unit: FleetUnit) -> &'static str {
    match unit {
        FleetUnit::Server => "p, by permutation of servers",
        FleetUnit::Site => "p, by permutation of sites",
        FleetUnit::Hardware => "p, by permutation of kinds of hardware",
    }
}

/// The units that are compared, as words.
fn units(unit: FleetUnit) -> &'static str {
    match unit {
        FleetUnit::Server => "servers",
        FleetUnit::Site => "sites",
        FleetUnit::Hardware => "kinds of hardware",
    }
}

/// `16 control, 16 test`.
fn by_group(counts: &BTreeMap<FleetGroup, u32>) -> String {
    let each: Vec<String> =
        counts.iter().map(|(of, n)| format!("{} {}", count((*n).into()), of.name())).collect();
    each.join(", ")
}

/// The growth of the metric with the load, or that the loads do not tell it.
fn elasticity(result: &FleetResult) -> Option<(String, String)> {
    let name = format!("{} grows with {} to the power of", result.metric, result.load.as_ref()?);
    let (low, high) = (result.load_elasticity_low, result.load_elasticity_high);
    let interval = span(low, high);
    match result.load_elasticity {
        Some(power) => Some((name, format!("{} ({interval})", ratio(power)))),
        None => {
            low.zip(high)?;
            let why = format!(
                "{} ({interval}): the load of the {} changed too little, or too much alike",
                plumb_model::figure::ABSENT,
                units(result.unit)
            );
            Some((name, why))
        }
    }
}

/// The heading of the sizes that would show a difference.
fn needed_title(result: &FleetResult) -> &'static str {
    match result.unit {
        FleetUnit::Server => "Servers that would show it",
        FleetUnit::Site => "Sites that would show it",
        FleetUnit::Hardware => "Kinds of hardware that would show it",
    }
}

/// The heading of their column.
fn needed_heading(result: &FleetResult) -> &'static str {
    match result.unit {
        FleetUnit::Server => "servers in each group",
        FleetUnit::Site => "sites in each group",
        FleetUnit::Hardware => "kinds in each group",
    }
}

/// The figures behind the verdict, each with its name.
fn figures(result: &FleetResult) -> Vec<(String, String)> {
    let of = |value: Option<f64>| value.map_or_else(|| plumb_model::figure::ABSENT.to_owned(), ratio);
    let what = match &result.load {
        // A bound, where a group has none left or had none.
        _ if result.of_shares && result.effect_ratio.is_none() => "ratio, whatever the load".to_owned(),
        _ if result.of_shares => format!("ratio of the shares of intervals with any {}", result.metric),
        Some(load) => format!("ratio at equal {load}"),
        None => "ratio".to_owned(),
    };
    let mut rows = vec![
        (format!("{what}, test over control, after over before"), of(result.effect_ratio)),
        (
            format!("its {} interval", plumb_model::figure::percent(result.level)),
            span(result.interval_low, result.interval_high),
        ),
        (permuted(result.unit).to_owned(), p(result.p)),
        (
            "margin: ratios that count as none".to_owned(),
            span(Some(1.0 / (1.0 + result.margin)), Some(1.0 + result.margin)),
        ),
        (
            "smallest ratio seen four times out of five".to_owned(),
            result.smallest_detectable_ratio.map_or_else(
                || plumb_model::figure::ABSENT.to_owned(),
                |it| format!("{} (or {})", ratio(it), ratio(1.0 / it)),
            ),
        ),
    ];
    if let Some(second) = &result.by_intervals {
        let agrees = if second.agrees { "agrees" } else { "contradicts" };
        rows.push((
            "the same by single intervals".to_owned(),
            format!(
                "{} ({}), {agrees}",
                ratio(second.ratio),
                span(Some(second.interval_low), Some(second.interval_high))
            ),
        ));
    }
    rows.extend(elasticity(result));
    let within = if result.strata > 1 { format!(", within {} strata", result.strata) } else { String::new() };
    match result.unit {
        FleetUnit::Server => {
            rows.push(("servers compared".to_owned(), format!("{}{within}", by_group(&result.servers))));
        }
        unit => {
            rows.push((format!("{} compared", units(unit)), format!("{}{within}", by_group(&result.units))));
            rows.push(("their servers".to_owned(), by_group(&result.servers)));
        }
    }
    rows.push(("seed".to_owned(), result.seed.to_string()));
    rows
}
