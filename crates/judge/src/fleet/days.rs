//! The figures of each interval and group, for the chart: of the servers that are compared, in all intervals of the table.

use super::compared::Compared;
use super::usable::believed;
use super::words::moment;
use plumb_model::fleet::{FleetDay, FleetGroup, FleetServer, FleetTable};
use plumb_stats::median::median;

/// In the order of time, control first.
pub(super) fn days(compared: &Compared, table: &FleetTable) -> Vec<FleetDay> {
    let of = |at: usize, group: FleetGroup| {
        let servers = compared.servers.iter().filter(move |server| server.group == Some(group));
        let values = |of: fn(&FleetServer) -> &Vec<Option<f64>>| {
            let values = servers.clone().filter_map(move |server| of(server).get(at).copied().flatten());
            values.filter(believed).collect::<Vec<f64>>()
        };
        let (metric, load) = (values(|server| &server.metric), values(|server| &server.load));
        let mean =
            |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        FleetDay {
            start: moment(table.intervals_start_s[at]),
            group,
            servers: metric.len() as u32,
            metric_mean: mean(&metric),
            metric_median: median(metric.iter().copied()),
            load_mean: mean(&load),
        }
    };
    let places = 0..table.intervals_start_s.len();
    places.flat_map(|at| [FleetGroup::Control, FleetGroup::Test].map(|group| of(at, group))).collect()
}
