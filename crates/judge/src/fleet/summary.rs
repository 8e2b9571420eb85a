//! The result in sentences.

use super::compared::Compared;
use super::estimate::Estimate;
use super::gaps::Quantity;
use super::question::DAY_S;
use plumb_model::figure::{change, count, counted, p_value, percent, ratio_digits, short};
use plumb_model::finding::CheckOutcome;
use plumb_model::fleet::{FleetGroup, FleetResult, SampleKind};
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;

/// At most three sentences: the verdict, what it is in the metric's own unit, and what to keep in mind or to do.
pub(super) fn summary(compared: &Compared, estimate: &Estimate, result: &FleetResult) -> Vec<String> {
    let mut sentences = vec![verdict(estimate, result)];
    sentences.push(levels(compared, result));
    sentences.extend(third(result));
    sentences
}

fn verdict(estimate: &Estimate, result: &FleetResult) -> String {
    let found = found(estimate, result);
    let metric = &result.metric;
    match result.verdict {
        Verdict::Better | Verdict::Worse => {
            let word = if result.verdict == Verdict::Better { "Better" } else { "Worse" };
            let direction = if (result.verdict == Verdict::Better) == (result.good == Good::Lower) {
                "lower"
            } else {
                "higher"
            };
            format!("{word}: {direction} {metric} with the change{found}.")
        }
        Verdict::Equivalent => format!(
            "Equivalent: whatever the change does to {metric} is within the margin of {}{found}.",
            percent(result.margin)
        ),
        Verdict::Undecided => {
            let reason = result.reason.as_deref().unwrap_or_default();
            // There is none, and the reason says so.
            let found = if estimate.no_ratio.is_some_and(|gone| gone.bound.is_none()) {
                String::new()
            } else {
                found
            };
            // A figure that stands before what is wrong with it is read, and the rest is not.
            match found.strip_prefix(", ") {
                Some(found) if failed(result) => {
                    format!("Undecided: {reason} The figures, which are not to be relied on, say {found}.")
                }
                _ => format!("Undecided{found}. {reason}"),
            }
        }
    }
}

/// True if a check took the verdict away.
fn failed(result: &FleetResult) -> bool {
    result.checks.iter().any(|check| check.outcome == CheckOutcome::Failed)
}

/// `, -95 % (ratio 0.050, 95 % interval 0.045 to 0.056, p < 0.001) at equal packets`.
fn found(estimate: &Estimate, result: &FleetResult) -> String {
    if estimate.no_ratio.is_some() {
        return gone(result);
    }
    let (Some(ratio_), Some(low), Some(high)) =
        (result.effect_ratio, result.interval_low, result.interval_high)
    else {
        return String::new();
    };
    let p = result.p.map_or_else(String::new, |p| format!(", {}", p_value(p)));
    let what = if estimate.zero_heavy { ", of the share of intervals with any" } else { "" };
    let load = match &result.load {
        Some(load) if !estimate.zero_heavy => format!(" at equal {load}"),
        _ => String::new(),
    };
    format!(
        "{what}, {}{load} (ratio {}, {} interval {} to {}{p})",
        change(ratio_),
        ratio_digits(ratio_),
        percent(result.level),
        ratio_digits(low),
        ratio_digits(high)
    )
}

/// `, to a ratio below 0.0021 (95 % confident, p < 0.001)`: where a group has none left, or had none.
fn gone(result: &FleetResult) -> String {
    let p = result.p.map_or_else(String::new, p_value);
    let sure = percent(result.level);
    match (result.interval_low, result.interval_high) {
        (_, Some(high)) => format!(", a ratio below {} ({sure} interval from 0, {p})", ratio_digits(high)),
        (Some(low), None) => {
            format!(", a ratio above {} ({sure} interval without an end, {p})", ratio_digits(low))
        }
        (None, None) => format!(", by how much has no ratio ({p})"),
    }
}

fn levels(compared: &Compared, result: &FleetResult) -> String {
    let mean = |group: FleetGroup, intervals: &[usize]| {
        let servers = compared.servers.iter().filter(|server| server.group == Some(group));
        let means: Vec<f64> =
            servers.map(|server| compared.mean(server, intervals, Quantity::Metric)).collect();
        short(means.iter().sum::<f64>() / means.len().max(1) as f64)
    };
    let of = |group: FleetGroup| {
        format!(
            "{} to {} on the {} {} servers",
            mean(group, &compared.before),
            mean(group, &compared.after),
            count(u64::from(result.servers.get(&group).copied().unwrap_or(0))),
            group.name()
        )
    };
    let (unit, by) = match result.interval_s {
        DAY_S => ("day", "by server and day"),
        _ => ("interval", "by server and interval"),
    };
    format!(
        "{} {} went from {} and from {}, over {} before and {} after.",
        result.metric,
        if result.metric_kind == SampleKind::Level { "by server" } else { by },
        of(FleetGroup::Test),
        of(FleetGroup::Control),
        counted(result.intervals_before, unit),
        count(u64::from(result.intervals_after)),
    )
}

/// A surge, else what else speaks against it, else how to go on.
fn third(result: &FleetResult) -> Option<String> {
    if let Some(surge) = &result.surge {
        let of = |ratios: &std::collections::BTreeMap<FleetGroup, f64>, group| ratios.get(&group).copied();
        let control = of(&surge.metric_ratio, FleetGroup::Control)?;
        let test = of(&surge.metric_ratio, FleetGroup::Test)?;
        let interval = surge.interval_low.zip(surge.interval_high).map_or_else(
            || "no interval: too few servers".to_owned(),
            |(low, high)| format!("{} to {}", ratio_digits(low), ratio_digits(high)),
        );
        return Some(format!(
            "In the surge from {} on, {} were {}-fold on control and {}-fold on test servers: a ratio of ratios of {} ({interval}){}.",
            surge.from,
            result.metric,
            ratio_digits(control),
            ratio_digits(test),
            ratio_digits(surge.ratio_of_ratios?),
            if surge.has_change_in_it { ", with the change in it" } else { "" }
        ));
    }
    let warned: Vec<String> = result
        .checks
        .iter()
        .filter(|check| matches!(check.outcome, CheckOutcome::Warning | CheckOutcome::Failed))
        .map(|check| check.id.clone())
        .collect();
    if !warned.is_empty() {
        let checks = if warned.len() == 1 { "this check has" } else { "these checks have" };
        return Some(format!("Read what {checks} to say before relying on it: {}.", warned.join(", ")));
    }
    let stage = result.rollout.first()?;
    Some(format!(
        "Next: {} of the fleet, {} more, watched for {}.",
        percent(stage.share),
        counted(stage.servers, "server"),
        counted(stage.watch_intervals, "interval")
    ))
}
