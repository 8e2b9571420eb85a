//! The second estimate, by server and interval, for groups whose loads went apart.
//!
//! A load that was high for some days of many makes levels unlike: in the logarithm of a mean over days, a day of heavy drops
//! counts for more than its load explains. Day by day both groups may well have had days of the same load. Then both estimates
//! are made, and where they agree the verdict stands, on an interval that holds both; each alone is wrong where the other is not
//! (`plumb_stats::fleet::panel`).

use super::compared::Compared;
use super::loads::OVERLAP_MIN;
use super::question::FleetQuestion;
use plumb_model::fleet::SecondEstimate;
use plumb_stats::ends::Ends;
use plumb_stats::fleet::change::Scale;
use plumb_stats::fleet::overlap::overlap;
use plumb_stats::fleet::panel::{Panel, PanelEffect, ServerInterval};
use plumb_stats::median::median;

/// Events of the typical server and interval below which their logarithms are off (ours, as of levels).
const EVENTS_FEW: f64 = 10.0;

/// The second estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Second {
    pub(super) effect: PanelEffect,
    /// True if its interval and that of the first overlap.
    pub(super) agrees: bool,
}

impl Second {
    /// For the result.
    pub(super) fn told(&self, level: f64) -> Option<SecondEstimate> {
        let Ends { low, high } = self.effect.interval(level)?;
        Some(SecondEstimate {
            ratio: self.effect.log_ratio.exp(),
            interval_low: low.exp(),
            interval_high: high.exp(),
            load_elasticity: self.effect.elasticity,
            agrees: self.agrees,
        })
    }
}

/// None where it cannot be made, or the loads went apart interval by interval, too. `first` is the interval of the first estimate.
pub(super) fn second(compared: &Compared, first: Ends, question: &FleetQuestion) -> Option<Second> {
    let cells = cells(compared);
    if few_events(compared, &cells) {
        return None;
    }
    let after: Vec<bool> = (0..compared.starts_s.len()).map(|at| compared.after.contains(&at)).collect();
    let panel = Panel {
        test: &compared.test,
        stratum: &compared.stratum,
        unit: compared.units.of_servers(),
        after: &after,
        cells: &cells,
    };
    if !same_loads(&panel) {
        return None;
    }
    let effect = panel.effect()?;
    let own = effect.interval(question.level)?;
    Some(Second { effect, agrees: own.low <= first.high && first.low <= own.high })
}

/// Every interval of every server that has logarithms.
pub(super) fn cells(compared: &Compared) -> Vec<ServerInterval> {
    let offset = match compared.scale {
        Scale::Total { offset } => offset,
        Scale::Level => 0.0,
    };
    let mut cells = Vec::new();
    for (server, of) in compared.servers.iter().enumerate() {
        for interval in compared.before.iter().chain(&compared.after).copied() {
            let Some(value) = compared.value(of, interval) else { continue };
            let (metric, load) = ((value.metric + offset).ln(), value.load.ln());
            if metric.is_finite() && load.is_finite() {
                cells.push(ServerInterval { server, interval, metric, load });
            }
        }
    }
    cells
}

fn few_events(compared: &Compared, cells: &[ServerInterval]) -> bool {
    let typical = median(cells.iter().map(|cell| cell.metric)).unwrap_or(f64::NEG_INFINITY);
    compared.scale != Scale::Level && typical < EVENTS_FEW.ln()
}

/// True if servers of both groups had the same loads after the change, each against its own before, in most of their intervals.
fn same_loads(panel: &Panel) -> bool {
    let mut before: Vec<Vec<f64>> = vec![Vec::new(); panel.test.len()];
    for cell in panel.cells.iter().filter(|cell| !panel.after[cell.interval]) {
        before[cell.server].push(cell.load);
    }
    let usual = |server: usize| before[server].iter().sum::<f64>() / before[server].len() as f64;
    let after =
        panel.cells.iter().filter(|cell| panel.after[cell.interval] && !before[cell.server].is_empty());
    let (test, load): (Vec<bool>, Vec<f64>) =
        after.map(|cell| (panel.test[cell.server], cell.load - usual(cell.server))).unzip();
    overlap(&test, &load).is_some_and(|share| share >= OVERLAP_MIN)
}
