//! Values that are not there, of all servers of both groups: whether one group lacks more of them than the other, and whether what it
//! lacks could make the effect.
//!
//! What the intervals have in common that a server lacks is taken off (`gaps`). What is left is that a server's own values may be
//! missing because of what they were. No figure shows that, so what is not there is taken for high: as the highest of those that are.

use super::compared::Compared;
use super::estimate::Estimate;
use super::question::FleetQuestion;
use super::traffic::ALARM_P;
use super::words::{by_chance, deviation, percent};
use plumb_model::finding::CheckOutcome;
use plumb_model::fleet::FleetGroup;
use plumb_stats::fleet::change::Scale;

/// The share of values, beside what their server and their interval make usual, that are called high (ours).
const HIGH_SHARE: f64 = 0.05;

/// Servers of which values are looked at, about.
const SERVERS_ENOUGH: usize = 2_000;

/// Shares of each group's values that are missing, 0..1.
#[derive(Debug, Default)]
pub(super) struct MissingValues {
    control: f64,
    test: f64,
    /// Chance of shares as unlike; none where it cannot be told.
    p: Option<f64>,
}

/// What the missing values could make, were they high ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WereHigh {
    /// By how much they would shift the effect, as a logarithm.
    shift: f64,
    /// Whether what is said stands all the same.
    stands: bool,
}

impl MissingValues {
    /// A share for each server, and whether it is in the test group.
    pub(super) fn of(shares: &[f64], test: &[bool], p: Option<f64>) -> Self {
        let mean = |group: bool| {
            let of_group = shares.iter().zip(test).filter(|(_, test)| **test == group);
            let (sum, n) = of_group.fold((0.0, 0.0f64), |(sum, n), (share, _)| (sum + share, n + 1.0));
            sum / n.max(1.0)
        };
        MissingValues { control: mean(false), test: mean(true), p }
    }

    /// Outcome, statement and p.
    pub(super) fn found(&self, were_high: &dyn Fn() -> WereHigh) -> (CheckOutcome, String, Option<f64>) {
        if self.test == 0.0 && self.control == 0.0 {
            return (CheckOutcome::Passed, "Every server has a value in every interval.".to_owned(), None);
        }
        let said = format!(
            "{} of the test group's values are missing, {} of the control group's",
            percent(self.test),
            percent(self.control)
        );
        let matters = "What is missing in one group only may be what matters";
        match self.p {
            Some(p) if p < ALARM_P => {
                let WereHigh { shift, stands } = were_high();
                let (outcome, then) = match stands {
                    true => (CheckOutcome::Warning, "what is said stands even so"),
                    false => (CheckOutcome::Failed, "that is enough to make or to hide the effect"),
                };
                let statement = format!(
                    "{said}: more than chance. {matters}: were those values as high as the highest {} of the others, it would shift the \
                     ratio by {}, and {then}.",
                    percent(HIGH_SHARE),
                    deviation(shift)
                );
                (outcome, statement, self.p)
            }
            None if self.test != self.control => {
                let statement = format!("{said}; whether chance makes that cannot be told. {matters}.");
                (CheckOutcome::Warning, statement, None)
            }
            Some(p) => (CheckOutcome::Passed, format!("{said}; {}.", by_chance(p)), self.p),
            None => (CheckOutcome::Passed, format!("{said}."), None),
        }
    }
}

impl WereHigh {
    pub(super) fn of(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Self {
        let shift = shift(compared);
        let limit = (1.0 + question.margin).ln();
        let stands = match estimate.log_interval(question.level) {
            _ if shift <= limit => true,
            Some((low, high)) => low - shift > 0.0 || high + shift < 0.0,
            None => false,
        };
        WereHigh { shift, stands }
    }
}

/// How far the groups' mean levels would go apart.
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

/// What a high value is over the usual one of its server and interval; at least 1.
fn high(compared: &Compared) -> f64 {
    let mut rest: Vec<f64> = Vec::new();
    let each = compared.servers.len() / SERVERS_ENOUGH + 1;
    for (server, stratum) in compared.servers.iter().zip(&compared.stratum).step_by(each) {
        for side in [&compared.before, &compared.after] {
            rest.extend(compared.gaps.rest(compared, (server, *stratum), side));
        }
    }
    let place = ((1.0 - HIGH_SHARE) * rest.len() as f64) as usize;
    if place >= rest.len() {
        return 1.0;
    }
    let (_, high, _) = rest.select_nth_unstable_by(place, f64::total_cmp);
    high.max(1.0)
}
