//! The effect of a surge of load on each group: an experiment that nobody planned.
//!
//! The surge is looked for in the load of both groups together, never in the metric. Its effect is a ratio of ratios: the rise of
//! the metric of the test group during it, over that of the control group.

use super::compared::Compared;
use super::error::FleetError;
use super::question::{DAY_S, FleetQuestion, SurgeTime};
use super::words::moment;
use plumb_model::fleet::{FleetGroup, FleetServer, Surge};
use plumb_stats::fleet::design::{Design, Groups};
use plumb_stats::fleet::permutation::{DRAWN_FOR_CHECK, chance, smallest_p};
use plumb_stats::fleet::surge::{INTERVALS_MOST, largest_rise, without_season};
use std::collections::BTreeMap;

/// Rise of the load from which it is a surge, and not a busy week (ours).
const RISE_MIN: f64 = 1.2;

/// p of a rise from which it is one (ours).
const RISE_P: f64 = 0.01;

/// Fewest intervals beside a surge to hold it against.
const BESIDE_MIN: usize = 2;

/// A surge, with how it was found.
#[derive(Debug)]
pub(super) struct FoundSurge {
    pub(super) surge: Surge,
    /// Rise of the pooled load, as a logarithm.
    pub(super) rise: f64,
    pub(super) intervals: usize,
    pub(super) p: Option<f64>,
    /// True if the user gave its time.
    pub(super) given: bool,
}

/// None where the load has none, or there is no load.
///
/// # Errors
/// A surge that is given, and of which the table shows nothing.
pub(super) fn surge(compared: &Compared, question: &FleetQuestion) -> Result<Option<FoundSurge>, FleetError> {
    let places: Vec<usize> = compared.before.iter().chain(&compared.after).copied().collect();
    let Some(given) = question.surge else {
        let found = found_in_load(compared, question, &places);
        return Ok(found.and_then(|rise| told(compared, question, rise.during, Some(rise.p))));
    };
    let during = within(compared, &places, given)?;
    let found = told(compared, question, &during, None);
    let start = |at: Option<&usize>| at.map_or_else(String::new, |at| moment(compared.starts_s[*at]));
    let everywhere =
        || FleetError::SurgeEverywhere { first: start(during.first()), last: start(during.last()) };
    found.ok_or_else(everywhere).map(Some)
}

/// The intervals that begin in the surge that the user gives.
fn within(
    compared: &Compared,
    places: &[usize],
    SurgeTime { from_s, until_s }: SurgeTime,
) -> Result<Vec<usize>, FleetError> {
    let starts_s = || places.iter().map(|at| compared.starts_s[*at]);
    let is_within = |start_s: i64| start_s >= from_s && until_s.is_none_or(|until_s| start_s < until_s);
    if !starts_s().any(is_within) {
        return Err(FleetError::SurgeOutside {
            from: moment(from_s),
            until: until_s.map_or_else(|| "the end".to_owned(), moment),
            first: starts_s().min().map_or_else(String::new, moment),
            last: starts_s().max().map_or_else(String::new, moment),
        });
    }
    Ok(places.iter().copied().filter(|at| is_within(compared.starts_s[*at])).collect())
}

/// The effect of the surge in these intervals; none where nothing is there to compare it with.
fn told(
    compared: &Compared,
    question: &FleetQuestion,
    during: &[usize],
    p: Option<f64>,
) -> Option<FoundSurge> {
    let places = compared.before.iter().chain(&compared.after);
    let (first, last) = (*during.first()?, *during.last()?);
    let beside = beside(compared, during)?;
    let log_ratio = |level: &dyn Fn(&FleetServer, &[usize]) -> Option<f64>| -> Vec<Option<f64>> {
        let servers = compared.servers.iter();
        servers.map(|server| Some(level(server, during)? - level(server, &beside)?)).collect()
    };
    let metric = log_ratio(&|server, places| compared.metric_level(server, places));
    let load = log_ratio(&|server, places| compared.load_level(server, places));
    let units = &compared.units;
    let of_units = units.mean_of_known(&metric);
    let known: Vec<usize> = (0..of_units.len()).filter(|&at| of_units[at].is_some()).collect();
    let test: Vec<bool> = known.iter().map(|&at| units.test[at]).collect();
    let stratum: Vec<u32> = known.iter().map(|&at| units.stratum[at]).collect();
    let values: Vec<f64> = known.iter().filter_map(|&at| of_units[at]).collect();
    let groups = Groups { test: &test, stratum: &stratum, load: None };
    let effect = Design::new(&groups).and_then(|design| design.effect(&values));
    // Of so few servers no interval is to be believed.
    let enough = smallest_p(&test, &stratum) <= 1.0 - question.level;
    let interval = effect.as_ref().filter(|_| enough).and_then(|effect| effect.interval(question.level));
    let (metric_ratio, load_ratio) = (by_group(compared, &metric), by_group(compared, &load));
    let of_means = |group| metric_ratio.get(&group).copied();
    let plain =
        of_means(FleetGroup::Test).zip(of_means(FleetGroup::Control)).map(|(test, control)| test / control);
    let next = places.copied().find(|at| *at > last);
    Some(FoundSurge {
        rise: by_all(&load).unwrap_or(0.0),
        intervals: during.len(),
        p,
        given: question.surge.is_some(),
        surge: Surge {
            from: moment(compared.starts_s[first]),
            until: next.map(|at| moment(compared.starts_s[at])),
            has_change_in_it: compared.after.contains(&last) && compared.before.contains(&beside[0]),
            load_ratio,
            metric_ratio,
            ratio_of_ratios: effect.as_ref().map(|effect| effect.log_ratio.exp()).or(plain),
            interval_low: interval.map(|it| it.low.exp()),
            interval_high: interval.map(|it| it.high.exp()),
            p: chance(&groups, &values, DRAWN_FOR_CHECK, question.seed)
                .filter(|_| enough)
                .map(|chance| chance.p),
        },
    })
}

/// A window in which the pooled load stands out.
struct Rise<'p> {
    /// The places of its intervals.
    during: &'p [usize],
    p: f64,
}

fn found_in_load<'p>(compared: &Compared, question: &FleetQuestion, places: &'p [usize]) -> Option<Rise<'p>> {
    if !compared.adjusted {
        return None;
    }
    let stride = places.len().div_ceil(INTERVALS_MOST);
    let series = without_season(&pooled(compared, places), season(question.interval_s, places.len()));
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let thinned: Vec<f64> = series.chunks_exact(stride).map(mean).collect();
    let found = largest_rise(&thinned, question.seed)?;
    if found.rise < RISE_MIN.ln() || found.p >= RISE_P {
        return None;
    }
    let until = (found.until * stride).min(places.len());
    Some(Rise { during: &places[found.from * stride..until], p: found.p })
}

/// Mean over the servers of what each one's load is against its own mean, as logarithms.
fn pooled(compared: &Compared, places: &[usize]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0u32); places.len()];
    for server in &compared.servers {
        let levels: Vec<Option<f64>> =
            places.iter().map(|at| compared.load_level(server, std::slice::from_ref(at))).collect();
        let known: Vec<f64> = levels.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        for (sum, level) in sums.iter_mut().zip(levels) {
            *sum = level.map_or(*sum, |level| (sum.0 + level - mean, sum.1 + 1));
        }
    }
    sums.into_iter().map(|(sum, n)| if n > 0 { sum / f64::from(n) } else { 0.0 }).collect()
}

/// Intervals after which load repeats: a week where there are three of them, else a day.
fn season(interval_s: u64, intervals: usize) -> usize {
    let in_a_day = (DAY_S / interval_s.max(1)) as usize;
    let week = 7 * in_a_day.max(1);
    match in_a_day {
        // Longer than a day: nothing that repeats is known.
        0 => 1,
        _ if intervals >= 3 * week => week,
        _ => in_a_day,
    }
}

/// The intervals that a surge is compared with: those beside it on the same side of the change, so that the change is not in it;
/// where there are too few, those before the change.
fn beside(compared: &Compared, during: &[usize]) -> Option<Vec<usize>> {
    let outside =
        |side: &[usize]| -> Vec<usize> { side.iter().copied().filter(|at| !during.contains(at)).collect() };
    let after = during.iter().filter(|at| compared.after.contains(at)).count();
    let (before_it, after_it) = (outside(&compared.before), outside(&compared.after));
    let own = if 2 * after > during.len() { after_it } else { before_it.clone() };
    let chosen = if own.len() >= BESIDE_MIN { own } else { before_it };
    (!chosen.is_empty()).then_some(chosen)
}

/// Geometric mean of each group's ratios.
fn by_group(compared: &Compared, log_ratios: &[Option<f64>]) -> BTreeMap<FleetGroup, f64> {
    let mean = |group: bool| {
        let of_group = log_ratios.iter().zip(&compared.test).filter(|(_, test)| **test == group);
        by_all(&of_group.map(|(ratio, _)| *ratio).collect::<Vec<_>>())
    };
    let groups = [(FleetGroup::Control, mean(false)), (FleetGroup::Test, mean(true))];
    groups.into_iter().filter_map(|(group, mean)| Some((group, mean?.exp()))).collect()
}

fn by_all(log_ratios: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = log_ratios.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
