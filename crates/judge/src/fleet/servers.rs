//! The check that so many servers can show anything at all: by the ways to draw the groups, and by the degrees of freedom of
//! their spread.

use super::alarm::check;
use super::compared::Compared;
use super::estimate::Estimate;
use super::question::FleetQuestion;
use super::rows;
use super::strata;
use plumb_model::figure::{self, change, decimals, p_value, percent, probability};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::FleetGroup;
use plumb_stats::fleet::permutation::{servers_min, smallest_p, ways};
use plumb_stats::paired::POWER;
use plumb_stats::power::servers_needed;
use std::collections::BTreeSet;

/// Degrees of freedom below which an interval is wide because its width is hardly known (ours: t is beyond 3 at 95 %).
const FREEDOM_FEW: f64 = 3.0;

/// Fewest servers of a group whose spread is of use (ours: t of two is 12.7 at 95 %, of three 4.3).
const SPREAD_MIN: u32 = 3;

pub(super) fn servers(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::SERVERS;
    if !compared.mixed {
        let statement = "How much so many servers can show takes a stratum that has both groups.".to_owned();
        return check(row, CheckOutcome::Unknown, statement, None);
    }
    if let Some(statement) = alone(compared, estimate, question) {
        return check(row, CheckOutcome::Failed, statement, None);
    }
    let units = &compared.units;
    let words = units.words();
    let smallest = smallest_p(&units.test, &units.stratum);
    if smallest > 1.0 - question.level {
        let statement = format!(
            "So few {words} cannot show any difference: however large it is, chance alone does as much with {}. {}",
            p_value(smallest),
            takes(compared, question)
        );
        return check(row, CheckOutcome::Failed, statement, None);
    }
    let statement = format!(
        "So many {words} can show a difference: the smallest p that they can reach is {}.",
        probability(smallest)
    );
    if estimate.log_ratio.is_some() && estimate.freedom < FREEDOM_FEW {
        let statement = format!(
            "{statement} The width of the interval rests on {} degrees of freedom, as few {words} of a group tell how far such \
             {words} differ: more of these would narrow it most.",
            decimals(estimate.freedom, 1)
        );
        return check(row, CheckOutcome::Warning, statement, None);
    }
    check(row, CheckOutcome::Passed, statement, None)
}

/// A server that has nothing left whatever it does, such as the only one of its group.
fn alone(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Option<String> {
    let units = &compared.units;
    let [control, test] = units.counts();
    let sizes = [(FleetGroup::Test, test), (FleetGroup::Control, control)];
    let single = sizes.into_iter().find(|(_, size)| *size == 1).map(|(group, _)| group);
    let Some(group) = single else {
        let apart = estimate.log_ratio.is_some() && estimate.freedom == 0.0;
        return apart.then(|| {
            format!(
                "One {}'s load sets it apart from all others, and nothing tells its own spread from the effect.",
                units.word()
            )
        });
    };
    let margin = 1.0 + question.margin;
    let shows = estimate
        .spread
        .and_then(|spread| servers_needed(spread, margin, question.level, POWER))
        .map_or_else(String::new, |servers| {
            format!(
                ", and {} in each group to show {} by the spread of the others",
                units.counted(servers as u64),
                change(margin)
            )
        });
    Some(format!(
        "One {} in the {} group: nothing tells its own spread from the effect. It takes {SPREAD_MIN} there at the least{shows}.",
        units.word(),
        group.name()
    ))
}

/// The size that reaches a p small enough, as a sentence: more servers, more such strata, or no strata.
fn takes(compared: &Compared, question: &FleetQuestion) -> String {
    let alpha = 1.0 - question.level;
    let units = &compared.units;
    let strata_of = units.stratum.iter().collect::<BTreeSet<_>>().len() as u32;
    if strata_of < 2 {
        let noun = if units.are_servers() { String::new() } else { format!(" {}", units.words()) };
        return format!("It takes {}{noun} in each group.", servers_min(alpha));
    }
    // Each further stratum of their kind has as many ways as these have on average.
    let ways = ways(&units.test, &units.stratum);
    let of_one = ways.ln() / f64::from(strata_of);
    let smallest = smallest_p(&units.test, &units.stratum) * ways;
    let strata = ((smallest / alpha).ln() / of_one - 1e-9).ceil();
    let kind = match units.test.len() as u32 == 2 * strata_of {
        true => "pairs",
        false => "strata",
    };
    let whole = smallest_p(&units.test, &vec![0; units.test.len()]);
    let without = match whole <= alpha {
        true => format!(
            ", or a comparison that leaves the {} out (--strata), whose smallest p is {}",
            strata::words(&question.strata),
            probability(whole)
        ),
        false => String::new(),
    };
    format!("It takes {} such {kind} at {}{without}.", figure::whole(strata), percent(question.level))
}
