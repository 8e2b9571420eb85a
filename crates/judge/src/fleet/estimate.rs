//! The effect: test over control, after over before, at equal load.

use super::compared::Compared;
use super::counted::counted;
use super::gaps::Quantity;
use super::loads::Loads;
use super::panel::{self, Second};
use super::question::FleetQuestion;
use plumb_model::fleet::FleetServer;
use plumb_stats::ends::Ends;
use plumb_stats::fleet::change::{Scale, log_change};
use plumb_stats::fleet::design::{Design, Effect, Groups, Slope, explained};
use plumb_stats::fleet::no_events::bound;
use plumb_stats::fleet::permutation::{DRAWN, chance, smallest_p};
use plumb_stats::fleet::totals::{Counted, TotalsFit, totals_fit};
use plumb_stats::fleet::zero_heavy::{Shares, ZERO_SHARE_MAX, share_effect};
use plumb_stats::law::student_quantile;
use plumb_stats::median::median;
use plumb_stats::paired::POWER;
use plumb_stats::power::detectable_ratio_by_error;

/// Share of the variance of the metric's changes below which a load leaves nothing of it: a hundredth of their spread (ours; counts of a
/// million have more noise of their own than that).
const NOTHING_LEFT: f64 = 1e-4;

/// Largest distance from 1 of the elasticity of a load that is the metric itself (ours).
const SLOPE_NEAR: f64 = 0.02;

/// Events of the typical server of a group, on one side of the change, below which the ratio is of totals (ours: half an event is a twentieth
/// of them).
const EVENTS_FEW: f64 = 10.0;

/// A logarithm of a ratio with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogRatio {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// The effect with what it rests on.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    pub(super) log_ratio: Option<LogRatio>,
    /// Degrees of freedom of t; 0: no interval, as a server tells nothing of its own spread.
    pub(super) freedom: f64,
    /// Standard deviation of what one unit does beyond its load and its group.
    pub(super) spread: Option<f64>,
    /// The power of the load with which the metric grows.
    pub(super) elasticity: Option<Slope>,
    pub(super) p: Option<f64>,
    /// The value of each unit of which the ratio is the difference; empty without a ratio.
    pub(super) outcome: Vec<f64>,
    /// The fit behind it; none where shares are compared.
    pub(super) effect: Option<Effect>,
    /// Change of each unit's load, as a logarithm; empty without load.
    pub(super) load_change: Vec<f64>,
    /// True if shares of intervals with any event are compared, as most servers have none.
    pub(super) zero_heavy: bool,
    /// True if the load leaves nothing of the metric: it is the same quantity in other words.
    pub(super) load_is_metric: bool,
    /// True if the ratio is of totals, as servers count too few events for logarithms.
    pub(super) by_totals: bool,
    /// The result without a ratio, where a group has no event left or had none.
    pub(super) no_ratio: Option<NoRatio>,
    /// The same by single intervals, where the groups' loads changed unlike; none where it cannot be told.
    pub(super) second: Option<Second>,
}

/// The result without a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NoRatio {
    /// The logarithm of the ratio at the level asked for; one end is infinite. None where it takes more events than there are.
    pub(super) bound: Option<Ends>,
    /// True if the test group has fewer events than it would have; none where the share of intervals with events and their number
    /// disagree.
    pub(super) fell: Option<bool>,
}

impl Estimate {
    pub(super) fn ratio(&self) -> Option<f64> {
        self.log_ratio.map(|log_ratio| log_ratio.value.exp())
    }

    /// The interval of the logarithm of the ratio. Where there is no ratio, the bound, whatever the level.
    pub(super) fn log_interval(&self, level: f64) -> Option<Ends> {
        let Some(LogRatio { value, error }) = self.log_ratio else { return self.no_ratio?.bound };
        let reach = student_quantile(0.5 + level / 2.0, self.freedom)? * error;
        let first = Ends::around(value, reach);
        // Two estimates, of which each may be off where the other is not: the truth is in the one interval or in the other.
        let Some(second) = self.second.filter(|second| second.agrees) else { return Some(first) };
        let second = second.effect.interval(level)?;
        Some(Ends { low: first.low.min(second.low), high: first.high.max(second.high) })
    }

    /// The interval of the elasticity.
    pub(super) fn elasticity_interval(&self, level: f64) -> Option<Ends> {
        let slope = self.elasticity?;
        let reach = student_quantile(0.5 + level / 2.0, slope.freedom)? * slope.error;
        Some(Ends::around(slope.value, reach))
    }

    pub(super) fn smallest_detectable_ratio(&self, compared: &Compared, level: f64) -> Option<f64> {
        let error = self.log_ratio?.error;
        let error = self.second.map_or(error, |second| error.max(second.effect.error));
        let enough = smallest_p(&compared.units.test, &compared.units.stratum) <= 1.0 - level;
        enough.then(|| detectable_ratio_by_error(error, self.freedom, level, POWER)).flatten()
    }
}

/// The changes of each server and unit, as logarithms.
struct Changes {
    metric: Vec<f64>,
    /// Empty without load, as is the next.
    load: Vec<f64>,
    load_of_servers: Vec<f64>,
}

impl Changes {
    /// From some intervals to others.
    fn of(compared: &Compared, before: &[usize], after: &[usize]) -> Self {
        let change = |of: &dyn Fn(&FleetServer, &[usize]) -> Option<f64>| {
            // Servers without levels were left out.
            let change = compared.servers.iter().map(|server| Some(of(server, after)? - of(server, before)?));
            change.map(|change| change.unwrap_or(f64::NAN)).collect::<Vec<f64>>()
        };
        let units = &compared.units;
        let metric = units.mean(&change(&|server, intervals| compared.metric_level(server, intervals)));
        let load_of_servers = match compared.adjusted {
            true => change(&|server, intervals| compared.load_level(server, intervals)),
            false => Vec::new(),
        };
        let load = if compared.adjusted { units.mean(&load_of_servers) } else { Vec::new() };
        Changes { metric, load, load_of_servers }
    }

    fn groups<'c>(&'c self, compared: &'c Compared) -> Groups<'c> {
        let load = compared.adjusted.then_some(self.load.as_slice());
        Groups { test: &compared.units.test, stratum: &compared.units.stratum, load }
    }
}

/// The effect by logarithms, from some intervals to others.
pub(super) fn effect_of(compared: &Compared, before: &[usize], after: &[usize]) -> Option<Effect> {
    let changes = Changes::of(compared, before, after);
    Design::new(&changes.groups(compared))?.effect(&changes.metric)
}

pub(super) fn estimate(compared: &Compared, question: &FleetQuestion) -> Estimate {
    let changes = Changes::of(compared, &compared.before, &compared.after);
    let groups = changes.groups(compared);
    if zero_heavy(compared) {
        return of_shares(compared, &groups, changes.load.clone(), question);
    }
    let effect = Design::new(&groups).and_then(|design| design.effect(&changes.metric));
    let totals =
        effect.as_ref().filter(|_| few_events(compared)).and_then(|it| by_totals(compared, &groups, it));
    let by_totals = totals.is_some();
    let effect = totals.or(effect);
    let load_is_metric = load_is_metric(compared, &changes.load_of_servers);
    let went_apart = Loads::of(compared, &changes.load).is_some_and(Loads::are_apart);
    let first = effect.as_ref().and_then(|effect| effect.interval(question.level));
    let second = first.filter(|_| went_apart && !load_is_metric && !by_totals);
    let second = second.and_then(|first| panel::second(compared, first, question));
    Estimate {
        log_ratio: effect.as_ref().map(|it| LogRatio { value: it.log_ratio, error: it.error }),
        freedom: effect.as_ref().map_or(0.0, |effect| effect.freedom),
        spread: effect.as_ref().map(|effect| effect.spread),
        elasticity: effect.as_ref().and_then(|effect| effect.elasticity),
        // Without noise there is nothing that chance could do.
        p: effect
            .as_ref()
            .and_then(|_| chance(&groups, &changes.metric, DRAWN, question.seed))
            .map(|chance| chance.p),
        effect,
        outcome: changes.metric,
        load_is_metric,
        load_change: changes.load,
        by_totals,
        second,
        ..Estimate::default()
    }
}

/// True if the typical server of a group counts so little, before or after the change, that the half event added for the
/// logarithm shows.
fn few_events(compared: &Compared) -> bool {
    if compared.scale == Scale::Level {
        return false;
    }
    let counted = counted(compared);
    let typical = |test: bool, of: fn(&Counted) -> f64| {
        let of_group = counted.iter().zip(&compared.units.test).filter(|(_, it)| **it == test);
        median(of_group.map(|(counted, _)| of(counted))).unwrap_or(0.0)
    };
    [true, false]
        .into_iter()
        .any(|test| typical(test, |it| it.before) < EVENTS_FEW || typical(test, |it| it.after) < EVENTS_FEW)
}

/// The effect by what servers count, whose likelihood takes no logarithm of any count; p stays that of the permutations.
fn by_totals(compared: &Compared, groups: &Groups, effect: &Effect) -> Option<Effect> {
    let TotalsFit { effect: totals, without } = totals_fit(groups, &counted(compared))?;
    let [control, test] = compared.units.counts().map(|units| units as f64);
    Some(Effect {
        log_ratio: totals.log_ratio,
        error: totals.error,
        freedom: totals.freedom,
        elasticity: None,
        spread: totals.error / (1.0 / control + 1.0 / test).sqrt(),
        without,
        ..effect.clone()
    })
}

/// Shares of intervals with any event, and a bound where they have no ratio.
fn of_shares(
    compared: &Compared,
    groups: &Groups,
    load_change: Vec<f64>,
    question: &FleetQuestion,
) -> Estimate {
    let found = share_effect(groups, &shares(compared), question.seed);
    let ratio = found.as_ref().and_then(|it| it.ratio.clone());
    let gone = found.as_ref().filter(|it| it.ratio.is_none()).map(|it| {
        let counted = counted(compared);
        let much = |counted: &Counted| {
            counted.after / counted.intervals_after - counted.before / counted.intervals_before
        };
        let much: Vec<f64> = counted.iter().map(much).collect();
        let much = Design::new(&Groups { load: None, ..groups.clone() })
            .and_then(|design| design.difference(&much))
            .unwrap_or(0.0);
        let agree = much * it.difference > 0.0;
        NoRatio { bound: bound(groups, &counted, question.level), fell: agree.then_some(much < 0.0) }
    });
    Estimate {
        log_ratio: ratio.as_ref().map(|it| LogRatio { value: it.log_ratio, error: it.error }),
        freedom: ratio.as_ref().map_or(0.0, |it| it.freedom),
        spread: ratio.as_ref().map(|it| it.spread),
        outcome: ratio.map_or_else(Vec::new, |it| it.adds),
        p: found.as_ref().map(|it| it.chance.p),
        load_change,
        zero_heavy: true,
        no_ratio: gone,
        ..Estimate::default()
    }
}

/// True if the load leaves nothing of the metric's changes, and a load that doubled doubled the metric. Without the offset that
/// small counts are given, as that is no part of either.
fn load_is_metric(compared: &Compared, load_change: &[f64]) -> bool {
    let scale = match compared.scale {
        Scale::Level => Scale::Level,
        Scale::Total { .. } => Scale::Total { offset: 0.0 },
    };
    let change = |server: &&plumb_model::fleet::FleetServer| {
        log_change(
            &compared.metric(server, &compared.before),
            &compared.metric(server, &compared.after),
            scale,
        )
    };
    let changes: Vec<Option<f64>> = compared.servers.iter().map(change).collect();
    let known: Vec<usize> = (0..changes.len()).filter(|&at| changes[at].is_some()).collect();
    if !compared.adjusted || known.is_empty() {
        return false;
    }
    let stratum: Vec<u32> = known.iter().map(|&at| compared.stratum[at]).collect();
    let load: Vec<f64> = known.iter().map(|&at| load_change[at]).collect();
    let metric: Vec<f64> = known.iter().filter_map(|&at| changes[at]).collect();
    explained(&stratum, &load, &metric)
        .is_some_and(|it| (it.slope - 1.0).abs() <= SLOPE_NEAR && it.share_left <= NOTHING_LEFT)
}

/// True if more than half of a group's servers have no event at all, before or after the change.
fn zero_heavy(compared: &Compared) -> bool {
    if compared.scale == Scale::Level {
        return false;
    }
    let mut sides = [&compared.before, &compared.after].into_iter();
    sides.any(|intervals| {
        [true, false].into_iter().any(|group| {
            let of_group = compared.servers.iter().zip(&compared.test).filter(|(_, test)| **test == group);
            let (zero, all) = of_group.fold((0.0, 0.0), |(zero, all), (server, _)| {
                let none = compared.metric(server, intervals).iter().all(|value| *value == 0.0);
                (zero + f64::from(u8::from(none)), all + 1.0)
            });
            zero > ZERO_SHARE_MAX * all
        })
    })
}

fn shares(compared: &Compared) -> Vec<Shares> {
    let of = |server: &&plumb_model::fleet::FleetServer| Shares {
        before: compared.mean(server, &compared.before, Quantity::Any),
        after: compared.mean(server, &compared.after, Quantity::Any),
    };
    let of_servers: Vec<Shares> = compared.servers.iter().map(of).collect();
    let side = |of: fn(&Shares) -> f64| compared.units.mean(&of_servers.iter().map(of).collect::<Vec<f64>>());
    let sides = side(|it| it.before).into_iter().zip(side(|it| it.after));
    sides.map(|(before, after)| Shares { before, after }).collect()
}
