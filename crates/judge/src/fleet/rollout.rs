//! The roll-out: a stage at a time, each with the limits that stop it.
//!
//! A stage's servers are compared with those that do not have the change yet. The limits come from this trial's own noise and
//! share one chance of a false stop, so that a stage without harm is stopped about once in twenty times at most, by whichever
//! rule. The last stage leaves no server without the change, and a fleet moves by itself: there the mean has no limit.

use super::compared::Compared;
use super::estimate::{Estimate, LogRatio};
use plumb_model::figure::{change, counted, ratio_digits};
use plumb_model::fleet::{FleetResult, RolloutStage};
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;
use plumb_stats::fleet::lost_servers::most_by_chance;
use plumb_stats::law::student_quantile;

/// Shares of the fleet (usual; ours).
const SHARES: [f64; 4] = [0.01, 0.05, 0.25, 1.0];

/// Chance that a stage is stopped without harm, by any of its rules.
pub(super) const FALSE_STOP: f64 = 0.05;

/// Fewest servers of a stage from which its mean says anything.
const STAGE_MIN: u32 = 4;

/// Share of a stage's servers that may be silent whatever the trial had (ours).
const SILENT_SHARE: u32 = 20;

/// The noise of the fleet without harm, by the trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise {
    /// Standard deviation of a server's change, as a logarithm.
    pub(super) spread: f64,
    /// Degrees of freedom of it.
    pub(super) freedom: f64,
    /// The server of the trial that went furthest in the direction of harm; none where shares are compared.
    pub(super) furthest: Option<Furthest>,
    /// The effect; none where there is none that could be less than was shown.
    pub(super) shown: Option<LogRatio>,
    /// 1 where more is worse, else -1.
    pub(super) sign: f64,
    /// Share of servers without a value in an interval, the worst that was seen.
    pub(super) silent: f64,
}

/// The largest change of a server in the direction of harm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Furthest {
    /// The change as a logarithm without its sign.
    pub(super) log: f64,
    /// The number of servers that it is the largest of.
    pub(super) servers: u32,
}

/// A stage in the making.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    pub(super) servers: u32,
    /// Servers that do not have the change when it is done.
    pub(super) others: u32,
    pub(super) watch: u32,
}

/// The limits at which a stage stops, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    /// Of its mean, over that of the others.
    pub(super) harm: Option<f64>,
    /// Of the same: less than the trial showed.
    pub(super) less: Option<f64>,
    pub(super) far: Option<FarLimit>,
    /// Servers that are silent in an interval.
    pub(super) silent: u32,
}

/// The limit of single servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FarLimit {
    /// The largest distance of a server from the typical one, as a logarithm.
    pub(super) log: f64,
    /// The most servers that may go further.
    pub(super) servers_most: u32,
}

/// None unless the change is good or does nothing.
pub(super) fn rollout(
    compared: &Compared,
    estimate: &Estimate,
    fleet_servers: u32,
    result: &FleetResult,
) -> Vec<RolloutStage> {
    let good = matches!(result.verdict, Verdict::Better | Verdict::Equivalent);
    // A stage's limits are of how far servers go by themselves, which whole sites do not tell.
    let good = good && compared.units.are_servers();
    let (Some(noise), true) = (noise(compared, estimate, result), good) else {
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
        let watch = result.intervals_after;
        let stage = Stage { servers, others: fleet_servers - target, watch };
        let stop_when = stop_when(result, &noise, &stage);
        stages.push(RolloutStage { share, servers, watch_intervals: watch, stop_when });
        have = target;
    }
    stages
}

fn noise(compared: &Compared, estimate: &Estimate, result: &FleetResult) -> Option<Noise> {
    let spread = estimate.spread?;
    let shown = estimate.log_ratio?;
    let servers = compared.servers.len() as f64;
    let effect = estimate.effect.as_ref();
    let sign = if result.good == Good::Lower { 1.0 } else { -1.0 };
    let freedom = effect.map_or(servers - 2.0, |effect| effect.freedom).max(1.0);
    let furthest = effect.map(|effect| {
        let most = effect.rest.iter().fold(0.0f64, |most, rest| most.max(sign * rest));
        // What is left of a fit goes less far than what comes new, by how many coefficients it has: not the freedom of the error.
        let coefficients = f64::from(compared.strata) + 1.0 + f64::from(u8::from(compared.adjusted));
        let log = most * (servers / (servers - coefficients).max(1.0)).sqrt();
        Furthest { log, servers: effect.rest.len() as u32 }
    });
    let lacking = |at: usize| {
        compared.servers.iter().filter(|server| compared.value(server, at).is_none()).count() as f64
    };
    let intervals = || compared.before.iter().chain(&compared.after);
    let missing: Vec<f64> = intervals().map(|at| lacking(*at)).collect();
    let worst = missing.iter().copied().fold(0.0, f64::max) / servers;
    // One that was not seen may have been the next.
    let mean = (missing.iter().sum::<f64>() + 1.0) / (servers * missing.len() as f64 + 1.0);
    Some(Noise {
        spread,
        freedom,
        furthest: furthest.filter(|_| !result.of_shares),
        shown: (result.verdict == Verdict::Better).then_some(shown),
        sign,
        silent: worst.max(mean),
    })
}

/// The chance of a false stop is divided by the rules of the stage, that of silent servers by its intervals (Bonferroni). Servers that go
/// far are counted by rank, since tails may be longer than any law says.
pub(super) fn limits(noise: &Noise, stage: &Stage) -> Limits {
    let Stage { servers, others, watch } = *stage;
    let whole = servers >= STAGE_MIN;
    let against = whole && others > 0;
    let far = noise.furthest.filter(|_| whole || others > 0);
    let rules = [against, against && noise.shown.is_some(), far.is_some(), true];
    let chance = FALSE_STOP / rules.iter().filter(|rule| **rule).count() as f64;
    let one = |n: u32| 1.0 / f64::from(n.max(1));
    let error = noise.spread * (one(servers) + one(others)).sqrt();
    let t = |chance: f64| student_quantile(1.0 - chance, noise.freedom);
    let reach = t(chance).filter(|_| against);
    let less = reach.zip(noise.shown).map(|(t, shown)| {
        // What this trial showed has an error of its own.
        shown.value + noise.sign * t * error.hypot(shown.error)
    });
    let far = far.map(|furthest| FarLimit {
        log: noise.sign * furthest.log,
        servers_most: most_beyond(servers, furthest.servers, chance),
    });
    let silent = most_by_chance(u64::from(servers), noise.silent, chance * one(watch));
    Limits {
        harm: reach.map(|t| noise.sign * t * error),
        less: less.filter(|less| noise.sign * less < 0.0),
        far: far.filter(|far| far.servers_most < servers),
        silent: (silent as u32).max(servers / SILENT_SHARE),
    }
}

/// The number of new servers that may go further than the furthest of `seen` like them, with less than `chance` of more: the
/// chance that the most of both together are all new, whatever their law.
fn most_beyond(servers: u32, seen: u32, chance: f64) -> u32 {
    let mut all_new = 1.0;
    let beyond = (0..servers).find(|at| {
        all_new *= f64::from(servers - at) / f64::from(servers + seen - at);
        all_new <= chance
    });
    beyond.unwrap_or(servers)
}

fn stop_when(result: &FleetResult, noise: &Noise, stage: &Stage) -> Vec<String> {
    let limits = limits(noise, stage);
    let (worse, goes) = if noise.sign > 0.0 { ("above", "rises") } else { ("below", "falls") };
    let what = match &result.load {
        _ if result.of_shares => format!("the share of intervals with any {}", result.metric),
        Some(load) => format!("{} at equal {load}", result.metric),
        None => result.metric.clone(),
    };
    let mut rules = Vec::new();
    if let Some(harm) = limits.harm {
        rules.push(format!(
            "{what}, after over before, over the same of the servers without the change, is {worse} {}: more harm than chance makes",
            ratio_digits(harm.exp())
        ));
    }
    if let Some(less) = limits.less {
        rules.push(format!("the same is {worse} {}: less than this trial showed", ratio_digits(less.exp())));
    }
    if let Some(FarLimit { log: far, servers_most: most }) = limits.far {
        let typical = if stage.servers >= STAGE_MIN { "of the stage" } else { "without the change" };
        rules.push(format!(
            "more than {most} of the {}: {what}, over that of the typical server {typical}, {goes} by more than {}, the furthest that a \
             server of this trial went by itself",
            counted(stage.servers, "server"),
            change(far.exp()).trim_start_matches(['+', '-'])
        ));
    }
    rules.push(format!(
        "more than {} of the {} that get it send no values for an interval",
        limits.silent,
        counted(stage.servers, "server")
    ));
    rules
}
