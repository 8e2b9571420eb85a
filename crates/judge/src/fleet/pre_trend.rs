//! The differences between the groups before the change, and the shift of the effect that they could make.
//!
//! A difference that is there before the change may go on after it. The effect's interval is widened by the largest difference
//! seen before, in the manner of Rambachan and Roth 2023 (Review of Economic Studies 90): a verdict that holds even so holds in
//! spite of it.

use super::compared::Compared;
use super::question::FleetQuestion;
use super::words::deviation;
use plumb_model::fleet::FleetServer;
use plumb_stats::ends::Ends;
use plumb_stats::fleet::design::{Design, Groups};
use plumb_stats::fleet::drift::{StepOrDrift, step_or_drift};
use plumb_stats::fleet::permutation::{DRAWN_FOR_CHECK, chance};
use plumb_stats::fleet::pre_trend::{INTERVALS_MIN, Interval, pre_trend};

/// Pieces into which the time before is divided at most: with thousands of intervals each would be noise.
const PIECES: usize = 14;

/// Fewest intervals before the change for a placebo: two on each side of the pretended change.
const PLACEBO_MIN: usize = 4;

/// With fewer intervals before the change than this, a drift that matters may well be one that chance makes (ours: a slope's
/// variance falls with the third power of them).
pub(super) const INTERVALS_ENOUGH: usize = 7;

/// The result of a look at the time before.
#[derive(Debug)]
pub(super) struct TimeBefore {
    /// The largest shift of the effect after the change that it could make, as a logarithm.
    pub(super) shift: f64,
    pub(super) p: f64,
    /// The difference that the drift before makes by the time after, as a logarithm with its sign; only where the intervals are
    /// so few that chance hides a drift that matters.
    pub(super) drift: Option<f64>,
    /// In words.
    pub(super) what: String,
}

/// The groups against each other in each piece of the time before; none with too few.
pub(super) fn trend(compared: &Compared, question: &FleetQuestion) -> Option<TimeBefore> {
    let pieces = pieces(&compared.before);
    if pieces.len() < INTERVALS_MIN {
        return None;
    }
    let intervals = of_units(compared, &pieces);
    let found = pre_trend(&compared.units.test, &compared.units.stratum, &intervals, question.seed)?;
    // From the middle of the time before to the middle of the time after, in pieces.
    let middle = |places: &[usize]| (places[0] + places[places.len() - 1]) as f64 / 2.0;
    let apart = (middle(&compared.after) - middle(&compared.before)) / pieces[0].len() as f64;
    let drift = found.slope * apart;
    let what = format!(
        "The groups differed by up to {} in {} pieces of the time before; going on like that would make {} by the time after.",
        deviation(found.largest()),
        pieces.len(),
        deviation(drift.abs()),
    );
    let few = pieces.len() < INTERVALS_ENOUGH;
    Some(TimeBefore {
        shift: found.largest().max(drift.abs()),
        p: found.p,
        drift: few.then_some(drift),
        what,
    })
}

/// The same comparison with a pretended change in the middle of the time before; none with too few intervals.
pub(super) fn placebo(compared: &Compared, question: &FleetQuestion) -> Option<TimeBefore> {
    if compared.before.len() < PLACEBO_MIN {
        return None;
    }
    let (early, late) = compared.before.split_at(compared.before.len() / 2);
    let change = |level: &dyn Fn(&FleetServer, &[usize]) -> Option<f64>| {
        of_all(compared, |server| Some(level(server, late)? - level(server, early)?))
    };
    let units = &compared.units;
    let metric = units.mean_of_known(&change(&|server, places| compared.metric_level(server, places)));
    let load = match compared.adjusted {
        true => units.mean_of_known(&change(&|server, places| compared.load_level(server, places))),
        false => vec![Some(0.0); metric.len()],
    };
    let whole: Vec<usize> =
        (0..metric.len()).filter(|&at| metric[at].is_some() && load[at].is_some()).collect();
    let test: Vec<bool> = whole.iter().map(|&at| units.test[at]).collect();
    let stratum: Vec<u32> = whole.iter().map(|&at| units.stratum[at]).collect();
    let of = |values: &[Option<f64>]| whole.iter().filter_map(|&at| values[at]).collect::<Vec<f64>>();
    let (metric, load) = (of(&metric), of(&load));
    let groups =
        Groups { test: &test, stratum: &stratum, load: compared.adjusted.then_some(load.as_slice()) };
    let effect = Design::new(&groups)?.effect(&metric)?;
    let chance = chance(&groups, &metric, DRAWN_FOR_CHECK, question.seed)?;
    let Ends { low, high } = effect.interval(question.level)?;
    let what = format!(
        "A change pretended in the middle of the time before has the ratio {} ({} to {}); without any it is 1.",
        plumb_model::figure::ratio_digits(effect.log_ratio.exp()),
        plumb_model::figure::ratio_digits(low.exp()),
        plumb_model::figure::ratio_digits(high.exp()),
    );
    Some(TimeBefore { shift: effect.log_ratio.abs(), p: chance.p, drift: None, what })
}

/// The shares of the whole course that a step at the change and a steady drift each explain; none with too few intervals.
pub(super) fn course(compared: &Compared) -> Option<StepOrDrift> {
    let length = (compared.before.len() + compared.after.len()).div_ceil(2 * PIECES);
    let sides = [&compared.before, &compared.after];
    let pieces: Vec<(&[usize], bool)> = sides
        .into_iter()
        .zip([false, true])
        .flat_map(|(side, after)| side.chunks(length).map(move |piece| (piece, after)))
        .collect();
    let places: Vec<&[usize]> = pieces.iter().map(|(piece, _)| *piece).collect();
    let after: Vec<bool> = pieces.iter().map(|(_, after)| *after).collect();
    let starts = |places: &&[usize]| {
        let sum: f64 = places.iter().map(|at| compared.starts_s[*at] as f64).sum();
        sum / places.len() as f64
    };
    let first = compared.starts_s.first().map_or(0.0, |start| *start as f64);
    let at: Vec<f64> = places.iter().map(|places| starts(places) - first).collect();
    let units = &compared.units;
    step_or_drift(&units.test, &units.stratum, &of_units(compared, &places), &at, &after)
}

/// Each piece's levels, unit by unit: against each server's own mean over the pieces, so that a unit of which a server lacks one does not
/// move by that.
pub(super) fn of_units(compared: &Compared, pieces: &[&[usize]]) -> Vec<Interval> {
    let by_piece = |level: &dyn Fn(&FleetServer, &[usize]) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
        let mut pieces: Vec<Vec<Option<f64>>> =
            pieces.iter().map(|places| of_all(compared, |server| level(server, places))).collect();
        for server in 0..compared.servers.len() {
            let known: Vec<f64> = pieces.iter().filter_map(|piece| piece[server]).collect();
            let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
            pieces.iter_mut().for_each(|piece| piece[server] = piece[server].map(|level| level - mean));
        }
        pieces.iter().map(|piece| compared.units.mean_of_known(piece)).collect()
    };
    let metric = by_piece(&|server, places| compared.metric_level(server, places));
    let load = match compared.adjusted {
        true => by_piece(&|server, places| compared.load_level(server, places)),
        false => vec![Vec::new(); pieces.len()],
    };
    metric.into_iter().zip(load).map(|(metric, load)| Interval { metric, load }).collect()
}

fn of_all(compared: &Compared, level: impl Fn(&FleetServer) -> Option<f64>) -> Vec<Option<f64>> {
    compared.servers.iter().map(|server| level(server)).collect()
}

fn pieces(intervals: &[usize]) -> Vec<&[usize]> {
    // An incomplete piece at the begin is left out rather than be half a piece.
    let length = intervals.len().div_ceil(PIECES);
    intervals[intervals.len() % length..].chunks_exact(length).collect()
}
