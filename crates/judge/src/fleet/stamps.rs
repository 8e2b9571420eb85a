//! The check that the times of metric and load belong together.
//!
//! Files from two sources may be in two time zones: then a metric is compared with the load of another hour. Within days that
//! evens out; in shorter intervals the load explains nothing, and the comparison is not at equal load.

use super::alarm::{ALARM_P, by_chance, check};
use super::compared::Compared;
use super::panel::cells;
use super::question::{DAY_S, FleetQuestion, Stratum};
use super::rows;
use super::strata::label;
use plumb_model::figure::{decimals, short};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_stats::fleet::lag::{Courses, Lag};
use std::collections::BTreeMap;

const HOUR_S: i64 = 3_600;

/// Clocks differ from UTC by 12 hours at most to the west and 14 to the east (IANA time zone database).
const LAG_MAX_S: i64 = 14 * HOUR_S;

/// Longer intervals have too few lags within [`LAG_MAX_S`] to tell one from another (ours).
const INTERVAL_MAX_S: u64 = 6 * 3_600;

/// Least correlation of a lag that is told of (ours: it explains a hundredth of what is a server's own).
const CORRELATION_MIN: f64 = 0.1;

/// Largest share of the best lag's correlation that lag 0 may have: then the best one explains four times as much (ours).
const SHARE_AT_NONE: f64 = 0.5;

/// Most servers that are looked at, evenly chosen (ours: more of them find no more).
const SERVERS_MAX: usize = 400;

/// Fewest servers of each site for what its servers have in common to be told from their own (ours).
const OF_SITE_MIN: usize = 4;

/// None without a load.
pub(super) fn stamps(compared: &Compared, question: &FleetQuestion) -> Option<Check> {
    let row = &rows::STAMPS;
    let load = question.load.as_ref()?;
    let metric = &question.metric;
    let unknown = |why: String| Some(check(row, CheckOutcome::Unknown, why, None));
    if question.interval_s > INTERVAL_MAX_S {
        let why = "Intervals this long do not show whether the times of metric and load are hours apart; --interval 1h does, where the samples \
                   are as close.";
        return unknown(why.to_owned());
    }
    let length_s = question.interval_s as i64;
    let Some(found) = best(compared, length_s) else {
        let why = format!(
            "Too few servers or intervals to see whether {metric} fits the {load} of its own time best."
        );
        return unknown(why);
    };
    if found.intervals == 0 {
        let statement = format!("{metric} fits the {load} of its own time best.");
        return Some(check(row, CheckOutcome::Passed, statement, None));
    }
    let lag = hours(found.intervals.abs() * length_s);
    let clear = found.p < ALARM_P
        && found.correlation.abs() >= CORRELATION_MIN
        && found.correlation_at_none.abs() <= SHARE_AT_NONE * found.correlation.abs();
    if !clear {
        let statement = format!(
            "No other time's {load} fits {metric} clearly better than that of its own; {}.",
            by_chance(found.p)
        );
        return Some(check(row, CheckOutcome::Passed, statement, Some(found.p)));
    }
    let (side, other) = if found.intervals > 0 { ("before", "late") } else { ("after", "early") };
    let statement = format!(
        "{metric} fits the {load} of {lag} {side} it clearly better than that of its own time (correlation {} instead of {}, of what is \
         each server's own): its times seem to be {lag} {other}. Look whether both are in the same time zone. What is said at equal load may \
         be of another time's load.",
        decimals(found.correlation, 2),
        decimals(found.correlation_at_none, 2)
    );
    Some(check(row, CheckOutcome::Warning, statement, Some(found.p)))
}

/// Of lag 0 and every whole hour, or every interval where that is longer.
fn best(compared: &Compared, length_s: i64) -> Option<Lag> {
    let step = (HOUR_S / length_s).max(1);
    let lags: Vec<i64> = (1..).map(|n| n * step).take_while(|lag| lag * length_s <= LAG_MAX_S).collect();
    let lags: Vec<i64> = lags.into_iter().flat_map(|lag| [lag, -lag]).collect();
    let grid = Grid::of(compared, length_s)?;
    let chosen = chosen(compared.servers.len());
    let mut metric = vec![vec![None; grid.len]; chosen.len()];
    let mut load = metric.clone();
    for cell in cells(compared) {
        let Ok(row) = chosen.binary_search(&cell.server) else { continue };
        let at = grid.places[cell.interval];
        metric[row][at] = Some(cell.metric);
        load[row][at] = Some(cell.load);
    }
    let common = common(compared, &chosen);
    Courses { metric: &metric, load: &load, time_of_day: &grid.times, common: &common }.best(&lags)
}

/// Intervals at equal distances, those that are missing among them.
struct Grid {
    /// Of each interval of the table.
    places: Vec<usize>,
    len: usize,
    /// Time of the day of each place, other numbers after the change than before it.
    times: Vec<usize>,
}

impl Grid {
    /// None where intervals do not lie at multiples of their length.
    fn of(compared: &Compared, length_s: i64) -> Option<Grid> {
        let (first, last) = (*compared.starts_s.first()?, *compared.starts_s.last()?);
        let place = |start_s: &i64| {
            let since = start_s - first;
            (since % length_s == 0).then_some((since / length_s) as usize)
        };
        let places = compared.starts_s.iter().map(place).collect::<Option<Vec<usize>>>()?;
        let len = place(&last)? + 1;
        let changed = places[*compared.after.first()?];
        let of_day = (DAY_S as i64 / length_s).max(1) as usize;
        let times = (0..len).map(|at| at % of_day + if at >= changed { of_day } else { 0 });
        Some(Grid { places, len, times: times.collect() })
    }
}

/// Places of the servers that are looked at, ascending.
fn chosen(servers: usize) -> Vec<usize> {
    let n = servers.min(SERVERS_MAX);
    (0..n).map(|at| at * servers / n).collect()
}

/// The number of the servers that may have a course in common with each: those of its site, where each site has enough of them,
/// else all.
fn common(compared: &Compared, chosen: &[usize]) -> Vec<usize> {
    let site = |at: &usize| label(compared.servers[*at], Stratum::Site);
    let mut counts = BTreeMap::<&str, usize>::new();
    chosen.iter().for_each(|at| *counts.entry(site(at)).or_default() += 1);
    if counts.values().any(|count| *count < OF_SITE_MIN) {
        return vec![0; chosen.len()];
    }
    let numbers: BTreeMap<&str, usize> = counts.into_keys().enumerate().map(|(n, site)| (site, n)).collect();
    chosen.iter().map(|at| numbers[site(at)]).collect()
}

/// `9 h`, `1.5 h`.
fn hours(seconds: i64) -> String {
    format!("{} h", short(seconds as f64 / HOUR_S as f64))
}
