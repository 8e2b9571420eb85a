//! The shift of the effect, were the missing values as high as the highest of the others.

use super::compared::Compared;
use super::estimate::Estimate;
use super::missing::{HIGH_SHARE, HighShift};
use super::question::FleetQuestion;
use plumb_model::fleet::FleetGroup;
use plumb_stats::ends::Ends;
use plumb_stats::fleet::change::Scale;

/// Servers of which values are looked at, about.
const SERVERS_ENOUGH: usize = 2_000;

/// The effect of the missing values on the ratio, were they high ones.
pub(super) fn high_shift(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> HighShift {
    let shift = shift(compared);
    let limit = (1.0 + question.margin).ln();
    let stands = match estimate.log_interval(question.level) {
        _ if shift <= limit => true,
        Some(Ends { low, high }) => low - shift > 0.0 || high + shift < 0.0,
        None => false,
    };
    HighShift { shift, stands }
}

/// The distance by which the groups' mean levels would go apart, as a logarithm.
fn shift(compared: &Compared) -> f64 {
    let high = high(compared);
    let mean = |group: FleetGroup| {
        let servers = compared.servers.iter().filter(|server| server.group == Some(group));
        let shifts = servers.map(|server| {
            let sides = [&compared.before, &compared.after];
            let of_side = sides.map(|side| {
                let missing = compared.gaps.missing(compared, server, side);
                match compared.scale {
                    Scale::Level => missing * high.ln(),
                    Scale::Total { .. } => (1.0 + missing * (high - 1.0)).ln(),
                }
            });
            of_side.iter().sum::<f64>()
        });
        let (sum, n) = shifts.fold((0.0, 0.0f64), |(sum, n), shift| (sum + shift, n + 1.0));
        sum / n.max(1.0)
    };
    (mean(FleetGroup::Test) - mean(FleetGroup::Control)).abs()
}

/// A high value over the usual one of its server and interval; at least 1.
fn high(compared: &Compared) -> f64 {
    let mut rest: Vec<f64> = Vec::new();
    let each = compared.servers.len() / SERVERS_ENOUGH + 1;
    for server in (0..compared.servers.len()).step_by(each) {
        for side in [&compared.before, &compared.after] {
            rest.extend(compared.gaps.rest(compared, server, side));
        }
    }
    let place = ((1.0 - HIGH_SHARE) * rest.len() as f64) as usize;
    if place >= rest.len() {
        return 1.0;
    }
    let (_, high, _) = rest.select_nth_unstable_by(place, f64::total_cmp);
    high.max(1.0)
}
