//! Events that no value shows: samples that are missing within intervals, and counts between a counter's last sample and a
//! restart.
//!
//! Values stand for whole intervals, whichever part of them samples cover. Where one group lacks more of it after the change than
//! before, that may be the whole effect. Its size has a bound: the verdict stands only where it bears that.

use super::alarm::{SUSPECT_P, by_chance, check};
use super::compared::Compared;
use super::difference::group_difference;
use super::estimate::Estimate;
use super::question::FleetQuestion;
use super::rows;
use super::words::deviation;
use plumb_model::figure::percent;
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::{FleetBasis, FleetGroup, FleetServer};
use plumb_stats::ends::Ends;

/// Largest share of what a server did on one side of the change that is taken for hidden: beyond it there is no bound (ours).
const HIDDEN_MOST: f64 = 0.9;

/// Power of the load by which a metric grows where the data does not tell it: a plain rate's.
const ELASTICITY_USUAL: f64 = 1.0;

/// A metric grows with the load to this power at most (ours: queues near saturation are steeper, over a small range).
const ELASTICITY_MOST: f64 = 2.5;

const GROUPS: [FleetGroup; 2] = [FleetGroup::Test, FleetGroup::Control];

/// The basis of one quantity.
type BasisOf = fn(&FleetServer) -> &FleetBasis;

const METRIC: BasisOf = |server| &server.metric_basis;
const LOAD: BasisOf = |server| &server.load_basis;

/// The check that samples cover as much of the intervals in both groups.
pub(super) fn coverage(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::COVERAGE;
    if compared.servers.iter().all(|server| server.metric_basis.covered.is_empty()) {
        let statement = "How much of each interval samples cover is not known.".to_owned();
        return check(row, CheckOutcome::Unknown, statement, None);
    }
    let mean_lack = |server: &FleetServer, side: &[usize]| {
        lack(compared, server, METRIC, side).max(lack(compared, server, LOAD, side))
    };
    let said = by_group(compared, &|servers, side| {
        let lacks: f64 = servers.iter().map(|server| mean_lack(server, side)).sum();
        percent(1.0 - lacks / servers.len().max(1) as f64)
    });
    let said = format!("Of the intervals that are compared samples cover {said}");
    let sides = [compared.before.as_slice(), compared.after.as_slice()];
    let rises: Vec<f64> = compared
        .servers
        .iter()
        .map(|server| mean_lack(server, sides[1]) - mean_lack(server, sides[0]))
        .collect();
    if rises.iter().all(|rise| *rise == 0.0) {
        return check(row, CheckOutcome::Passed, format!("{said}."), None);
    }
    // None: no spread within the groups, and they could not be more unlike.
    let p = group_difference(&compared.test, &compared.stratum, &rises, question).map(|found| found.p);
    if let Some(p) = p.filter(|p| *p >= SUSPECT_P) {
        return check(row, CheckOutcome::Passed, format!("{said}; {}.", by_chance(p)), Some(p));
    }
    let hidden = |quantity: BasisOf| {
        apart(compared, &|server, side| {
            let share = lack(compared, server, quantity, side);
            let most = (share * quantity(server).peak.unwrap_or(1.0)).min(HIDDEN_MOST);
            ((1.0 - share) / (1.0 - most)).ln().max(0.0)
        })
    };
    let hidden = Hidden::of(estimate, hidden(METRIC), hidden(LOAD));
    let most = rises.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    let lacks = most.filter(|(_, rise)| **rise > 0.0).map_or_else(String::new, |(at, _)| {
        let server = compared.servers[at];
        format!(
            "; {} ({} group) lost most, with {} after it",
            server.name,
            name_of(server),
            percent(1.0 - mean_lack(server, sides[1]))
        )
    });
    let why = "What is missing in one group only may be what matters: had it the highest rate that its servers reach within an interval";
    let (outcome, then) = hidden.weighed(estimate, question);
    check(row, outcome, format!("{said}{lacks}. {why}, {then}"), p)
}

/// The check that counters restarted alike in both groups; none where nothing is a counter.
pub(super) fn restarts(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Option<Check> {
    let row = &rows::RESTARTS;
    let counted = |server: &FleetServer| {
        !server.metric_basis.restarts.is_empty() || !server.load_basis.restarts.is_empty()
    };
    if !compared.servers.iter().any(|server| counted(server)) {
        return None;
    }
    let all = |server: &FleetServer, side: &[usize]| {
        let of = |quantity: BasisOf| {
            side.iter().filter_map(|at| quantity(server).restarts.get(*at).copied()).map(u64::from).sum()
        };
        u64::max(of(METRIC), of(LOAD))
    };
    let said = by_group(compared, &|servers, side| {
        servers.iter().map(|server| all(server, side)).sum::<u64>().to_string()
    });
    let sides = [compared.before.as_slice(), compared.after.as_slice()];
    if compared.servers.iter().all(|server| sides.iter().all(|side| all(server, side) == 0)) {
        return Some(check(row, CheckOutcome::Passed, "No counter restarted.".to_owned(), None));
    }
    let hidden = |quantity: BasisOf| {
        apart(compared, &|server, side| {
            let basis = quantity(server);
            let restarts: u32 = side.iter().filter_map(|at| basis.restarts.get(*at)).sum();
            let steps = basis.samples * side.len() as f64;
            let share = if steps > 0.0 { f64::from(restarts) / steps } else { 0.0 };
            -(1.0 - with_unseen(share).min(HIDDEN_MOST)).ln()
        })
    };
    let hidden = Hidden::of(estimate, hidden(METRIC), hidden(LOAD));
    let most = compared.servers.iter().max_by_key(|server| all(server, sides[1]));
    let most = most.map_or_else(String::new, |server| {
        format!(
            "; {} ({} group) most often, {} times after it",
            server.name,
            name_of(server),
            all(server, sides[1])
        )
    });
    let why = "What was counted between the last sample and a restart is lost: were it what a counter usually grows from one sample to the \
               next";
    let (outcome, then) = hidden.weighed(estimate, question);
    Some(check(row, outcome, format!("Restarts of counters: {said}{most}. {why}, {then}"), None))
}

/// The largest shifts of the ratio by values that are hidden, down and up, as logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Hidden {
    down: f64,
    up: f64,
}

impl Hidden {
    /// The shifts by the hidden parts of metric and load in the test group after the change, beyond all others.
    fn of(estimate: &Estimate, metric: f64, load: f64) -> Self {
        let elasticity = estimate.elasticity.map_or(ELASTICITY_USUAL, |it| it.value);
        let of_load = -load * elasticity.clamp(0.0, ELASTICITY_MOST);
        Hidden { down: metric.min(0.0) + of_load.min(0.0), up: metric.max(0.0) + of_load.max(0.0) }
    }

    /// The outcome, and the end of the statement.
    fn weighed(self, estimate: &Estimate, question: &FleetQuestion) -> (CheckOutcome, String) {
        let shift = self.up.max(-self.down);
        let limit = (1.0 + question.margin).ln();
        let stands = match estimate.log_interval(question.level) {
            Some(Ends { low, .. }) if low > 0.0 => low + self.down > 0.0,
            Some(Ends { high, .. }) if high < 0.0 => high + self.up < 0.0,
            Some(ends) if ends.within(limit) => {
                Ends { low: ends.low + self.down, high: ends.high + self.up }.within(limit)
            }
            // Nothing is shown that it could take away.
            Some(_) => true,
            None => shift <= limit,
        };
        let (outcome, then) = match stands {
            false => (CheckOutcome::Failed, "that is enough to make the effect or to hide it."),
            true if shift > limit => (CheckOutcome::Warning, "what is said stands even so."),
            true => (CheckOutcome::Passed, "what is said stands even so."),
        };
        (outcome, format!("it would shift the ratio by up to {}, and {then}", deviation(shift)))
    }
}

/// The share of what a server's values of a side stand for that no sample covers. Intervals without a value are not among them.
fn lack(compared: &Compared, server: &FleetServer, quantity: BasisOf, side: &[usize]) -> f64 {
    let valued = side.iter().filter(|at| compared.value(server, **at).is_some());
    let covered = valued.filter_map(|at| quantity(server).covered.get(*at));
    let (sum, n) =
        covered.fold((0.0, 0.0f64), |(sum, n), covered| (sum + 1.0 - f64::from(*covered), n + 1.0));
    sum / n.max(1.0)
}

/// The share of steps with a restart, of the share in which a counter was seen to fall. It does not fall where it counts from 0 to more than
/// it had, which takes a restart in the step before as well, and then happens every other time: of a share q that is q times q / 2.
fn with_unseen(fell: f64) -> f64 {
    1.0 - (1.0 - 2.0 * fell).max(0.0).sqrt()
}

/// After less before, test less control, of the groups' means.
fn apart(compared: &Compared, hidden: &dyn Fn(&FleetServer, &[usize]) -> f64) -> f64 {
    let rise = |group: FleetGroup| {
        let servers = compared.servers.iter().filter(|server| server.group == Some(group));
        let rises = servers.map(|server| hidden(server, &compared.after) - hidden(server, &compared.before));
        let (sum, n) = rises.fold((0.0, 0.0f64), |(sum, n), rise| (sum + rise, n + 1.0));
        sum / n.max(1.0)
    };
    rise(FleetGroup::Test) - rise(FleetGroup::Control)
}

/// `88 % in the test group after the change (100 % before), 100 % in the control group (100 % before)`.
fn by_group(compared: &Compared, figure: &dyn Fn(&[&FleetServer], &[usize]) -> String) -> String {
    let of = |group: FleetGroup| {
        let servers: Vec<&FleetServer> =
            compared.servers.iter().copied().filter(|server| server.group == Some(group)).collect();
        let (before, after) = (figure(&servers, &compared.before), figure(&servers, &compared.after));
        let change = if group == FleetGroup::Test { " after the change" } else { "" };
        format!("{after} in the {} group{change} ({before} before)", group.name())
    };
    GROUPS.map(of).join(", ")
}

fn name_of(server: &FleetServer) -> &'static str {
    server.group.map_or("neither", FleetGroup::name)
}
