//! The table: the values of each server and interval, made of the cells of its series; only servers that belong to a group are
//! kept.
//!
//! Rules, which `docs/guide/fleet-input.md` tells the user: intervals that the samples cover only in part at the begin and the end are
//! left out, and so is the one of the change. A value rests on at least half of the samples that the interval should have.
//! A count that rests on less than all is scaled to the whole interval. These are in `table/values.rs`; `table/plausible.rs` has what is
//! an error.

mod plausible;
mod series_of_servers;
mod values;

use crate::error::FleetInputError;
use crate::exclusions::Left;
use crate::groups::Membership;
use crate::order::{Quantity, Steps, Tracks};
use crate::request::{FleetGroups, FleetRequest};
use crate::rows::Rows;
use crate::track::SeriesCells;
use plausible::{Samples, no_samples, one_row_each, usable};
use plumb_model::fleet::{FleetServer, FleetTable};
use series_of_servers::SeriesOfServers;
use values::{Making, usual_step_ms};

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
    one_row_each(&rows, tracks.metric_steps.steps)?;
    let count = rows.servers.all().len();
    let of_servers = |quantity, series: Vec<SeriesCells>, steps: &Steps| {
        Samples { quantity, series: &series, steps }.are_as_said(request, &rows)?;
        Ok::<_, FleetInputError>(SeriesOfServers::new(series, count, |series| server_of(quantity, series)))
    };
    let metric = of_servers(Quantity::Metric, tracks.metric.finish(), &tracks.metric_steps)?;
    let load = tracks.load.map(|load| of_servers(Quantity::Load, load.finish(), &tracks.load_steps));
    let load = load.transpose()?;
    if metric.series.iter().all(|series| series.cells.is_empty()) {
        let reason = format!("it is empty or no number in the {} rows that were read", rows.rows);
        return Err(FleetInputError::NoSamples { quantity: "metric", reason });
    }
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
        let (name, group) = (known.name.to_string(), making.rows.servers.membership_of(server).group());
        let (site, hardware) = (known.site.to_string(), known.hardware.to_string());
        let (metric, metric_basis) = making.values(
            request.metric_kind.kind(),
            metric_step_ms,
            metric.series_of(server),
            &intervals,
            Some(&name),
        );
        let (load, load_basis) = load.as_ref().map_or_else(Default::default, |load| {
            let (values, basis) = making.values(
                request.load_kind.kind(),
                load_step_ms,
                load.series_of(server),
                &intervals,
                None,
            );
            if values.iter().all(Option::is_none) && metric.iter().any(Option::is_some) {
                making.rows.left.add(Left::NoLoad, || name.clone());
            }
            (values, basis)
        });
        servers.push(FleetServer { name, group, site, hardware, metric, load, metric_basis, load_basis });
    }
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    let intervals_start_s = intervals.iter().map(|interval| interval.start_ms.div_euclid(1000)).collect();
    Ok(FleetTable { intervals_start_s, servers, exclusions: making.rows.left.into_rows() })
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
        match rows.servers.membership_of(id) {
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

/// Checks that each group has a server with samples.
fn both_groups(request: &FleetRequest, rows: &Rows, kept: &[u32]) -> Result<(), FleetInputError> {
    let Some(names) = rows.servers.names() else { return Ok(()) };
    for (group, membership) in [(&names.control, Membership::Control), (&names.test, Membership::Test)] {
        if kept.iter().any(|server| rows.servers.membership_of(*server) == membership) {
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
