//! How to go on: a stage at a time, each with what stops it.
//!
//! A stage's servers are held against those that do not have the change yet. The limits are made of this trial's own noise, so that a
//! stage without harm is stopped about once in twenty times.

use super::compared::Compared;
use super::estimate::Estimate;
use super::words::{change, count, ratio};
use plumb_model::fleet::{FleetResult, RolloutStage};
use plumb_model::trial::{Good, TrialVerdict};
use plumb_stats::law::student_quantile;

/// Shares of the fleet (usual; ours).
const SHARES: [f64; 4] = [0.01, 0.05, 0.25, 1.0];

/// Chance that a stage is stopped without harm.
const FALSE_STOP: f64 = 0.05;

/// Share of single servers that go as far by themselves.
const ODD_SERVER: f64 = 0.001;

/// Fewest servers of a stage from which its mean says anything.
const STAGE_MIN: u32 = 4;

/// None unless the change is good or does nothing.
pub(super) fn rollout(
    compared: &Compared,
    estimate: &Estimate,
    fleet_servers: u32,
    result: &FleetResult,
) -> Vec<RolloutStage> {
    let good = matches!(result.verdict, TrialVerdict::Better | TrialVerdict::Equivalent);
    let (Some(spread), Some(shown), true) = (estimate.spread(compared), estimate.log_ratio, good) else {
        return Vec::new();
    };
    let mut have = result.servers.values().last().copied().unwrap_or(0);
    let mut stages = Vec::new();
    for share in SHARES {
        let target = (share * f64::from(fleet_servers)).round() as u32;
        let servers = target.saturating_sub(have);
        if servers == 0 {
            continue;
        }
        let others = fleet_servers - target;
        let stop_when = stop_when(result, spread, shown, (servers, others));
        stages.push(RolloutStage { share, servers, watch_intervals: result.intervals_after, stop_when });
        have = target;
    }
    stages
}

fn stop_when(result: &FleetResult, spread: f64, shown: (f64, f64), servers: (u32, u32)) -> Vec<String> {
    let (log_ratio, error_shown) = shown;
    let (worse, sign) = match result.good {
        Good::Lower => ("above", 1.0),
        Good::Higher => ("below", -1.0),
    };
    let what = match &result.load {
        _ if result.of_shares => format!("the share of intervals with any {}", result.metric),
        Some(load) => format!("{} at equal {load}", result.metric),
        None => result.metric.clone(),
    };
    let mut rules = Vec::new();
    let (stage, others) = servers;
    // The last stage leaves nobody to hold it against: then against the time before.
    let beside = if others > 0 { 1.0 / f64::from(others) } else { 0.0 };
    let error = spread * (1.0 / f64::from(stage) + beside).sqrt();
    let freedom = f64::from(stage + others).max(3.0) - 2.0;
    if let Some(t) = student_quantile(1.0 - FALSE_STOP, freedom).filter(|_| stage >= STAGE_MIN) {
        let against = if others > 0 { ", over the same of the servers without the change" } else { "" };
        rules.push(format!(
            "{what}, after over before{against}, is {worse} {}: more harm than chance makes",
            ratio((sign * t * error).exp())
        ));
        // What this trial showed has an error of its own.
        let expected = log_ratio + sign * t * error.hypot(error_shown);
        if result.verdict == TrialVerdict::Better && sign * expected < 0.0 {
            rules.push(format!("the same is {worse} {}: less than this trial showed", ratio(expected.exp())));
        }
    }
    // A single server's share is of a few intervals.
    if let Some(t) = student_quantile(1.0 - ODD_SERVER, freedom).filter(|_| !result.of_shares) {
        rules.push(format!(
            "{what} of a single server {} by more than {}: one in a thousand does so by itself",
            if sign > 0.0 { "rises" } else { "falls" },
            change((sign * t * spread).exp()).trim_start_matches(['+', '-'])
        ));
    }
    rules.push(format!(
        "more than {} of the {} that get it send no values for an interval",
        stage / 20,
        count(u64::from(stage), "server")
    ));
    rules
}
