//! The result in sentences, and how its figures are written in them.

use super::compared::Compared;
use super::error::name;
use super::estimate::Estimate;
use super::gaps::Of;
use super::traffic::ALARM_P;
use jiff::Timestamp;
use plumb_model::finding::CheckOutcome;
use plumb_model::fleet::{FleetGroup, FleetResult, SampleKind};
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;

pub(super) const DAY_S: u64 = 86_400;

/// Powers of the load outside of which the load is hardly what drives a metric (ours).
pub(super) const UNUSUAL: std::ops::Range<f64> = 0.5..2.5;

/// Whether an interval of that power tells anything: it does not hold all that is usual.
pub(super) fn tells((low, high): (f64, f64)) -> bool {
    low > UNUSUAL.start || high < UNUSUAL.end
}

/// Below this p a reader is told that it is rare, though it is no alarm.
const RARE: f64 = 0.05;

/// UTC, RFC 3339.
pub(super) fn moment(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// Three digits that matter, and one more next to 1, where intervals are narrow.
pub(super) fn ratio(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 2.0 => 2,
        v if v >= 0.1 => 3,
        v if v >= 0.01 => 4,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

/// A ratio as the change that it is: `+12 %`, `-95.2 %`, from 3 on as `x 3.4`.
pub(super) fn change(value: f64) -> String {
    if value >= 3.0 {
        return format!("x {}", ratio(value));
    }
    let percent = (value - 1.0) * 100.0;
    if percent.abs() >= 9.95 && (value >= 0.1) {
        format!("{percent:+.0} %")
    } else {
        format!("{percent:+.1} %")
    }
}

/// The size of a logarithm as a deviation without a sign: `4.2 %`.
pub(super) fn deviation(log: f64) -> String {
    let value = log.exp();
    if value >= 3.0 { format!("x {}", ratio(value)) } else { format!("{:.1} %", (value - 1.0) * 100.0) }
}

/// A share of 0..1.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

pub(super) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// What passes a check: `chance alone makes as much in 34 % of cases`; where that is rare, that it is no alarm yet.
pub(super) fn by_chance(p: f64) -> String {
    let alarm = if p < RARE {
        format!(": rare, but no alarm, which is below {}", percent(ALARM_P))
    } else {
        String::new()
    };
    format!("chance alone makes as much in {} of cases{alarm}", percent(p))
}

/// `1 server`, `1,204 servers`.
pub(super) fn count(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(n as f64), if n == 1 { "" } else { "s" })
}

/// A value with its thousands apart, three digits where it is small.
fn thousands(value: f64) -> String {
    if value.abs() < 1_000.0 {
        return if value.fract() == 0.0 { format!("{value:.0}") } else { ratio(value) };
    }
    let digits = format!("{value:.0}");
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.into_iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

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
            let found =
                if estimate.gone.is_some_and(|gone| gone.bound.is_none()) { String::new() } else { found };
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

/// Whether a check took the verdict away.
fn failed(result: &FleetResult) -> bool {
    result.checks.iter().any(|check| check.outcome == CheckOutcome::Failed)
}

/// `, -95 % (ratio 0.050, 95 % interval 0.045 to 0.056, p < 0.001) at equal packets`.
fn found(estimate: &Estimate, result: &FleetResult) -> String {
    if estimate.gone.is_some() {
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
        ratio(ratio_),
        percent(result.level),
        ratio(low),
        ratio(high)
    )
}

/// `, to a ratio below 0.0021 (95 % confident, p < 0.001)`: where a group has none left, or had none.
fn gone(result: &FleetResult) -> String {
    let p = result.p.map_or_else(String::new, p_value);
    let sure = percent(result.level);
    match (result.interval_low, result.interval_high) {
        (_, Some(high)) => format!(", a ratio below {} ({sure} interval from 0, {p})", ratio(high)),
        (Some(low), None) => format!(", a ratio above {} ({sure} interval without an end, {p})", ratio(low)),
        (None, None) => format!(", by how much has no ratio ({p})"),
    }
}

fn levels(compared: &Compared, result: &FleetResult) -> String {
    let mean = |group: FleetGroup, intervals: &[usize]| {
        let servers = compared.servers.iter().filter(|server| server.group == Some(group));
        let means: Vec<f64> = servers.map(|server| compared.mean(server, intervals, Of::Metric)).collect();
        thousands(means.iter().sum::<f64>() / means.len().max(1) as f64)
    };
    let of = |group: FleetGroup| {
        format!(
            "{} to {} on the {} {} servers",
            mean(group, &compared.before),
            mean(group, &compared.after),
            thousands(f64::from(result.servers.get(&group).copied().unwrap_or(0))),
            name(group)
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
        count(u64::from(result.intervals_before), unit),
        thousands(f64::from(result.intervals_after)),
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
            |(low, high)| format!("{} to {}", ratio(low), ratio(high)),
        );
        return Some(format!(
            "In the surge from {} on, {} were {}-fold on control and {}-fold on test servers: a ratio of ratios of {} ({interval}){}.",
            surge.from,
            result.metric,
            ratio(control),
            ratio(test),
            ratio(surge.ratio_of_ratios?),
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
        count(u64::from(stage.servers), "server"),
        count(u64::from(stage.watch_intervals), "interval")
    ))
}
