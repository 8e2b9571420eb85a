//! The counts of each unit on both sides of the change.

use super::compared::Compared;
use super::gaps::Quantity;
use plumb_model::fleet::FleetServer;
use plumb_stats::fleet::totals::Counted;

/// The counts of each unit: those of its servers added up, over intervals of one of them.
pub(super) fn counted(compared: &Compared) -> Vec<Counted> {
    let of_servers: Vec<Counted> =
        compared.servers.iter().map(|server| of_server(compared, server)).collect();
    // Counts over the intervals that their servers have are rates, which add up.
    let together = |a: Counted, b: Counted| Counted {
        before: a.before + b.before * a.intervals_before / b.intervals_before,
        after: a.after + b.after * a.intervals_after / b.intervals_after,
        ..a
    };
    compared.units.together(&of_servers, together)
}

fn of_server(compared: &Compared, server: &FleetServer) -> Counted {
    let sum = |intervals: &[usize]| compared.metric(server, intervals).iter().sum::<f64>();
    // As many intervals as are worth of those that it has.
    let worth = |intervals: &[usize]| {
        let off = compared.gaps.log_excess(compared, server, intervals, Quantity::Metric);
        compared.metric(server, intervals).len() as f64 * off.exp()
    };
    let (before, after) = (compared.before.as_slice(), compared.after.as_slice());
    Counted {
        before: sum(before),
        after: sum(after),
        intervals_before: worth(before),
        intervals_after: worth(after),
    }
}
