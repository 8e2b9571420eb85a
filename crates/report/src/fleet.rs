//! What a trial on a fleet showed: [`text`] for the terminal, [`page`] as one HTML file, [`groups`] for groups that were drawn.
//!
//! Only the layout: what is said is in the result (`plumb_judge::fleet`).

mod chart;
pub mod groups;
pub mod page;
#[cfg(test)]
mod tests;
pub mod text;

use crate::findings;
use crate::number::{count, significant};
use plumb_model::finding::{CheckOutcome, Finding};
use plumb_model::fleet::{FleetGroup, FleetResult, FleetUnit};
use std::collections::BTreeMap;

/// What stands beside figures that a check has taken the ground from.
fn caution(result: &FleetResult) -> String {
    let failed = result.checks.iter().find(|check| check.outcome == CheckOutcome::Failed);
    failed.map_or_else(String::new, |check| format!("not to be relied on: the check {} failed", check.id))
}

/// Why a surge's ratios are no answer to what the surge did.
const CHANGE_IN_SURGE: &str = "no time on this side of the change is without the surge";

fn outcome(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Warning => "warning",
        CheckOutcome::Failed => "FAILED",
        CheckOutcome::Unknown => "unknown",
    }
}

fn group(group: FleetGroup) -> &'static str {
    match group {
        FleetGroup::Control => "control",
        FleetGroup::Test => "test",
    }
}

/// What a reader must know that no check says: each check has its row already.
fn beside_checks(result: &FleetResult) -> Vec<String> {
    let of_check = |finding: &Finding| result.checks.iter().any(|check| check.id == finding.id);
    result.findings.iter().filter(|finding| !of_check(finding)).map(findings::short).collect()
}

/// `0.0503`, `1.24`.
fn ratio(value: f64) -> String {
    significant(value, 3)
}

/// `0.0451 to 0.0562`, or what stands where there is none.
fn span(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", ratio(low), ratio(high)),
        (Some(low), None) => format!("above {}", ratio(low)),
        _ => crate::number::ABSENT.to_owned(),
    }
}

/// p without its name, for a column.
fn p(p: Option<f64>) -> String {
    match p {
        None => crate::number::ABSENT.to_owned(),
        Some(p) if p < 0.001 => "< 0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

/// What p is of.
fn permuted(unit: FleetUnit) -> &'static str {
    match unit {
        FleetUnit::Server => "p, by permutation of servers",
        FleetUnit::Site => "p, by permutation of sites",
        FleetUnit::Hardware => "p, by permutation of kinds of hardware",
    }
}

/// What is compared, as words.
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
        counts.iter().map(|(of, n)| format!("{} {}", count((*n).into()), group(*of))).collect();
    each.join(", ")
}

/// How the metric grows with the load, or that the loads do not tell.
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
                crate::number::ABSENT,
                units(result.unit)
            );
            Some((name, why))
        }
    }
}

/// What would show it.
fn needed_title(result: &FleetResult) -> &'static str {
    match result.unit {
        FleetUnit::Server => "Servers that would show it",
        FleetUnit::Site => "Sites that would show it",
        FleetUnit::Hardware => "Kinds of hardware that would show it",
    }
}

/// How many of them, in a column.
fn needed_heading(result: &FleetResult) -> &'static str {
    match result.unit {
        FleetUnit::Server => "servers in each group",
        FleetUnit::Site => "sites in each group",
        FleetUnit::Hardware => "kinds in each group",
    }
}

/// The figures behind the verdict, each with its name.
fn figures(result: &FleetResult) -> Vec<(String, String)> {
    let of = |value: Option<f64>| value.map_or_else(|| crate::number::ABSENT.to_owned(), ratio);
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
            format!("its {} interval", crate::number::percent(result.level)),
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
                || crate::number::ABSENT.to_owned(),
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
