//! From what the series gave in each interval to the table: which intervals are whole, which values rest on enough samples.
//!
//! Rules, which `docs/guide/fleet-input.md` tells the user: intervals that the samples cover only in part at the begin and the end are
//! left out, and so is the one of the change. A value rests on at least half of the samples that the interval should have.
//! A count that rests on less than all is scaled to the whole interval.

use crate::error::FleetInputError;
use crate::exclusions::Left;
use crate::instant::written;
use crate::intervals::Interval;
use crate::order::{Quantity, Steps, Tracks};
use crate::request::{FleetGroups, FleetInterval, FleetRequest};
use crate::rows::Rows;
use crate::servers::Membership;
use crate::track::SeriesCells;
use crate::value::Value;
use plumb_model::fleet::{FleetServer, FleetTable, SampleKind};

/// A file of which more rows are unusable is not what the flags say. Ours.
const UNUSABLE_PERCENT: u64 = 5;

/// Falls that keep more than half of the count, as a share of all steps, above which it is no counter; and at least so many. Ours.
const SLIPS_PERCENT: u64 = 1;
const SLIPS_AT_LEAST: u64 = 20;

/// Less than this share of an interval may be missing at the begin or the end of all samples. Ours.
const PART_SHARE: f64 = 0.01;

/// Spacings of servers that differ by less from the usual one are the same. Ours.
const STEP_TOLERANCE: f64 = 0.1;

/// Values that a table has at most, of metric and load each: about 400 MB.
const VALUES: usize = 10_000_000;

/// Makes the table. `server_of` says whose each series of the metric and the load is.
///
/// # Errors
///
/// When nothing whole or nothing believable is left.
pub(crate) fn table(
    request: &FleetRequest,
    mut rows: Rows,
    mut tracks: Tracks,
    server_of: impl Fn(Quantity, u32) -> u32,
) -> Result<FleetTable, FleetInputError> {
    rows.left.merge(std::mem::replace(&mut tracks.left, crate::exclusions::Exclusions::new()));
    usable(&rows)?;
    let Some(span_ms) = tracks.span_ms else {
        // Names that are not the same on both sides are told with one of each.
        if rows.rows > 0 && rows.left.count(Left::OutsideWindow) == 0 && rows.servers.listed().is_some() {
            both_groups(request, &rows, &[])?;
        }
        return Err(FleetInputError::NoSamples { quantity: "metric", reason: no_samples(&rows) });
    };
    counters(request, &tracks)?;
    let count = rows.servers.all().len();
    let metric =
        SeriesOfServers::new(tracks.metric.finish(), count, |series| server_of(Quantity::Metric, series));
    let load = tracks
        .load
        .map(|load| SeriesOfServers::new(load.finish(), count, |series| server_of(Quantity::Load, series)));
    let kept = kept_servers(request, &mut rows, &metric)?;
    if let Some(load) = &load
        && !kept.iter().any(|server| load.has(*server))
    {
        let reason = "no server has one at the times of the metric's samples".to_owned();
        return Err(FleetInputError::NoSamples { quantity: "load", reason });
    }
    let metric_step_ms = usual_step_ms(request, &metric, &kept)?;
    let mut making = Making { request, rows, span_ms, step_ms: metric_step_ms };
    let intervals = making.intervals(&metric, &kept)?;
    let load_step_ms = match &load {
        Some(load) => usual_step_ms(request, load, &kept)?,
        None => metric_step_ms,
    };
    let mut servers: Vec<FleetServer> = Vec::with_capacity(kept.len());
    for server in kept {
        let known = making.rows.servers.get(server);
        let (name, group) = (known.name.to_string(), known.membership.group());
        let (site, hardware) = (known.site.to_string(), known.hardware.to_string());
        let (metric, mut complete) =
            making.values(request.metric_kind, metric_step_ms, metric.of(server), &intervals, Some(&name));
        let load = load.as_ref().map_or(Vec::new(), |load| {
            let (values, shares) =
                making.values(request.load_kind, load_step_ms, load.of(server), &intervals, None);
            if values.iter().all(Option::is_none) && metric.iter().any(Option::is_some) {
                making.rows.left.add(Left::NoLoad, || name.clone());
            }
            complete.iter_mut().zip(shares).for_each(|(complete, share)| *complete = complete.min(share));
            values
        });
        servers.push(FleetServer { name, group, site, hardware, metric, load, complete });
    }
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    let intervals_start_s = intervals.iter().map(|interval| interval.start_ms.div_euclid(1000)).collect();
    Ok(FleetTable { intervals_start_s, servers, exclusions: making.rows.left.into_rows() })
}

/// Whether enough rows could be used.
fn usable(rows: &Rows) -> Result<(), FleetInputError> {
    let kinds = [Left::BrokenRow, Left::NoServer, Left::NoTime];
    let unusable: u64 = kinds.iter().map(|kind| rows.left.count(*kind)).sum();
    if unusable * 100 <= rows.rows * UNUSABLE_PERCENT {
        return Ok(());
    }
    let most = kinds.into_iter().max_by_key(|kind| rows.left.count(*kind)).unwrap_or(Left::BrokenRow);
    let what = match most {
        Left::NoServer => " (no server)",
        Left::NoTime => " (the time cannot be read or is not between 1971 and 2200)",
        _ => "",
    };
    let example = format!("{}{what}", rows.left.example(most));
    Err(FleetInputError::TooManyUnusable { unusable, rows: rows.rows, example })
}

/// Why there may be none.
fn no_samples(rows: &Rows) -> String {
    if rows.rows == 0 {
        return "there are no rows".to_owned();
    }
    let outside = rows.left.count(Left::OutsideWindow);
    if outside > 0 {
        return format!("{outside} of {} rows are outside the window asked for", rows.rows);
    }
    format!("{} rows were read", rows.rows)
}

/// Whether what was called a counter is one.
fn counters(request: &FleetRequest, tracks: &Tracks) -> Result<(), FleetInputError> {
    let quantities = [
        ("metric", request.metric_kind, &tracks.metric_steps),
        ("load", request.load_kind, &tracks.load_steps),
    ];
    for (quantity, kind, Steps { steps, slips, example }) in quantities {
        if kind == SampleKind::Counter && *slips >= SLIPS_AT_LEAST && slips * 100 > steps * SLIPS_PERCENT {
            let example = example.clone();
            return Err(FleetInputError::NotACounter { quantity, falls: *slips, steps: *steps, example });
        }
    }
    Ok(())
}

/// Series by server: nearly always one.
struct SeriesOfServers {
    series: Vec<SeriesCells>,
    by_server: Vec<Vec<u32>>,
}

impl SeriesOfServers {
    fn new(series: Vec<SeriesCells>, servers: usize, server_of: impl Fn(u32) -> u32) -> Self {
        let mut by_server = vec![Vec::new(); servers];
        for number in 0..series.len() as u32 {
            if let Some(numbers) = by_server.get_mut(server_of(number) as usize) {
                numbers.push(number);
            }
        }
        SeriesOfServers { series, by_server }
    }

    fn of(&self, server: u32) -> Vec<&SeriesCells> {
        let numbers = self.by_server.get(server as usize).into_iter().flatten();
        numbers.map(|number| &self.series[*number as usize]).collect()
    }

    fn has(&self, server: u32) -> bool {
        self.of(server).iter().any(|series| !series.cells.is_empty())
    }
}

/// The servers whose values are kept; says of the others why not.
fn kept_servers(
    request: &FleetRequest,
    rows: &mut Rows,
    metric: &SeriesOfServers,
) -> Result<Vec<u32>, FleetInputError> {
    let ids = 0..rows.servers.all().len() as u32;
    if request.groups == FleetGroups::None {
        return Ok(ids.filter(|server| metric.has(*server)).collect());
    }
    let mut kept = Vec::new();
    for id in ids {
        let server = rows.servers.get(id);
        match server.membership {
            Membership::Control | Membership::Test if metric.has(id) => kept.push(id),
            // A server of the groups file without a usable sample is told of below.
            Membership::Control | Membership::Test => {}
            Membership::Unknown if rows.servers.listed().is_some() => {
                rows.left.add(Left::NotInGroupsFile, || server.name.to_string());
            }
            Membership::Unknown | Membership::Neither => {
                rows.left.add(Left::NoGroup, || server.name.to_string());
            }
        }
    }
    let mut without: Vec<String> = Vec::new();
    if let Some(listed) = rows.servers.listed() {
        let with: std::collections::BTreeSet<&str> =
            kept.iter().map(|server| &*rows.servers.get(*server).name).collect();
        let listed = listed.iter().filter(|(_, server)| server.membership.group().is_some());
        without
            .extend(listed.filter(|(name, _)| !with.contains(name.as_str())).map(|(name, _)| name.clone()));
    }
    both_groups(request, rows, &kept)?;
    rows.left.add_many(Left::NotInData, without.len() as u64, || without[0].clone());
    Ok(kept)
}

/// Each group needs a server with samples.
fn both_groups(request: &FleetRequest, rows: &Rows, kept: &[u32]) -> Result<(), FleetInputError> {
    let Some(names) = rows.servers.names() else { return Ok(()) };
    for (group, membership) in [(&names.control, Membership::Control), (&names.test, Membership::Test)] {
        if kept.iter().any(|server| rows.servers.get(*server).membership == membership) {
            continue;
        }
        let Some(listed) = rows.servers.listed() else {
            let place = match &request.source {
                crate::FleetSource::Files(files) => {
                    format!("the column {:?}", files.columns.group.as_deref().unwrap_or_default())
                }
                crate::FleetSource::Prometheus(source) => {
                    format!("the label {:?}", source.group_label.as_deref().unwrap_or_default())
                }
            };
            return Err(FleetInputError::NoSuchGroup {
                group: group.clone(),
                place,
                found: rows.servers.other_groups(),
            });
        };
        let expected = listed.iter().find(|(_, server)| server.membership == membership);
        return Err(FleetInputError::GroupWithoutSamples {
            group: group.clone(),
            expected: expected.map_or(String::new(), |(name, _)| name.clone()),
            got: rows.servers.all().first().map_or(String::new(), |server| server.name.to_string()),
        });
    }
    Ok(())
}

/// The spacing that most servers have: the median of theirs.
fn usual_step_ms(
    request: &FleetRequest,
    series: &SeriesOfServers,
    kept: &[u32],
) -> Result<f64, FleetInputError> {
    let interval_ms = match request.window.interval {
        FleetInterval::Days => 86_400_000,
        FleetInterval::Seconds(length) => i64::from(length) * 1000,
    };
    let steps = kept.iter().flat_map(|server| series.of(*server)).map(|series| series.step_ms);
    let mut steps: Vec<i64> = steps.filter(|step_ms| *step_ms > 0).collect();
    steps.sort_unstable();
    let found_ms = match steps.is_empty() {
        // Nobody has two samples: one an interval, as far as can be told.
        true => interval_ms,
        false => steps[steps.len() / 2],
    };
    let step_ms = request.step_s.map_or(found_ms as f64, |step_s| step_s * 1000.0);
    if step_ms > interval_ms as f64 * (1.0 + STEP_TOLERANCE) {
        let interval_s = interval_ms / 1000;
        return Err(FleetInputError::StepLongerThanInterval { step_s: step_ms / 1000.0, interval_s });
    }
    Ok(step_ms)
}

/// What the values are made with.
struct Making<'a> {
    request: &'a FleetRequest,
    rows: Rows,
    span_ms: (i64, i64),
    step_ms: f64,
}

impl Making<'_> {
    /// The intervals that are compared.
    fn intervals(
        &mut self,
        metric: &SeriesOfServers,
        kept: &[u32],
    ) -> Result<Vec<Interval>, FleetInputError> {
        let cells = kept.iter().flat_map(|server| metric.of(*server)).flat_map(|series| &series.cells);
        let (first, last) = cells
            .fold((i32::MAX, i32::MIN), |(first, last), (index, _)| (first.min(*index), last.max(*index)));
        let (from, to) = (written(self.span_ms.0), written(self.span_ms.1));
        let count = (i64::from(last) - i64::from(first) + 1).max(0) as usize;
        if count.saturating_mul(kept.len().max(1)) > VALUES {
            return Err(FleetInputError::TooLarge {
                servers: kept.len(),
                intervals: count,
                first: from,
                last: to,
                limit: VALUES,
            });
        }
        let mut whole = Vec::with_capacity(count);
        for index in first..=last {
            let interval = self.rows.intervals.at(index);
            // A zone may skip a day.
            if interval.length_ms() <= 0 {
                continue;
            }
            let example = || written(interval.start_ms);
            if self.has_change_inside(&interval) {
                self.rows.left.add(Left::ChangeInterval, example);
            } else if self.is_part(&interval) {
                self.rows.left.add(Left::PartInterval, example);
            } else {
                whole.push(interval);
            }
        }
        if whole.is_empty() {
            return Err(FleetInputError::NoWholeInterval { first: from, last: to });
        }
        Ok(whole)
    }

    fn has_change_inside(&self, interval: &Interval) -> bool {
        let change = self.request.window.changed_at.map(|moment| moment.as_millisecond());
        change.is_some_and(|change_ms| change_ms > interval.start_ms && change_ms < interval.end_ms)
    }

    /// Whether the samples begin after its first or end before its last one should have come.
    fn is_part(&self, interval: &Interval) -> bool {
        let (first_ms, last_ms) = self.span_ms;
        let little_ms = interval.length_ms() as f64 * PART_SHARE;
        !self.rows.intervals.wants_all(interval)
            || (first_ms - interval.start_ms) as f64 >= self.step_ms.max(little_ms)
            || (interval.end_ms - last_ms) as f64 > self.step_ms * (1.0 + STEP_TOLERANCE) + little_ms
    }

    /// A server's values with the shares of the samples that they rest on. `name`: to be counted under; the metric has it.
    fn values(
        &mut self,
        kind: SampleKind,
        usual_ms: f64,
        series: Vec<&SeriesCells>,
        intervals: &[Interval],
        name: Option<&str>,
    ) -> (Vec<Option<f64>>, Vec<f32>) {
        let own_ms = series.iter().map(|series| series.step_ms).filter(|step_ms| *step_ms > 0).min();
        let differs = |own_ms: &i64| (*own_ms as f64 - usual_ms).abs() > usual_ms * STEP_TOLERANCE;
        let other_ms = own_ms.filter(|own_ms| self.request.step_s.is_none() && differs(own_ms));
        let step_ms = other_ms.map_or(usual_ms, |own_ms| own_ms as f64);
        if let (Some(_), Some(name)) = (other_ms, name) {
            let example = || format!("{name}: {} s, not {} s", step_ms / 1000.0, usual_ms / 1000.0);
            self.rows.left.add(Left::OtherStep, example);
        }
        let mut read = vec![0; series.len()];
        let mut found = (Vec::with_capacity(intervals.len()), Vec::with_capacity(intervals.len()));
        for interval in intervals {
            let cells = series.iter().zip(&mut read).map(|(series, read)| {
                // Both ascend: what is before this interval is left behind.
                while series.cells.get(*read).is_some_and(|(index, _)| *index < interval.index) {
                    *read += 1;
                }
                series.cells.get(*read).filter(|(index, _)| *index == interval.index).map(|(_, cell)| *cell)
            });
            let value = Value::of(kind, &cells.flatten().collect::<Vec<_>>(), interval, step_ms);
            if let Some(name) = name {
                let example = || format!("{name} from {}", written(interval.start_ms));
                if value.figure.is_none() {
                    self.rows.left.add(Left::TooFewSamples, example);
                } else if value.scaled {
                    self.rows.left.add(Left::Scaled, example);
                }
            }
            found.0.push(value.figure);
            found.1.push(value.share as f32);
        }
        found
    }
}
