//! The verdict of the estimate and the checks.

use super::compared::Compared;
use super::estimate::Estimate;
use super::leave_out::Outlying;
use super::question::FleetQuestion;
use plumb_model::figure::{change, counted, p_value, ratio_digits};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_model::fleet::ServersNeeded;
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;
use plumb_stats::fleet::design::Groups;
use plumb_stats::fleet::permutation::{DRAWN_FOR_CHECK, chance};
use plumb_stats::paired::POWER;
use plumb_stats::power::servers_needed;

/// Ratios that people ask for, beside the margin.
const ASKED: [f64; 4] = [1.05, 1.1, 1.25, 2.0];

/// A verdict with why it is none, and with what another size would show.
pub(super) struct Weighed {
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
    pub(super) needed: Vec<ServersNeeded>,
}

pub(super) fn weigh(
    compared: &Compared,
    estimate: &Estimate,
    checks: &[Check],
    question: &FleetQuestion,
) -> Weighed {
    let needed = needed(estimate, question);
    let undecided = |reason: String| Weighed {
        verdict: Verdict::Undecided,
        reason: Some(reason),
        needed: needed.clone(),
    };
    let failed = checks.iter().find(|check| check.outcome == CheckOutcome::Failed);
    if let Some(check) = failed {
        return undecided(check.statement.clone());
    }
    let alpha = 1.0 - question.level;
    let limit = (1.0 + question.margin).ln();
    let decided = |verdict| Weighed { verdict, reason: None, needed: needed.clone() };
    let direction = |fell: bool| match fell == (question.good == Good::Lower) {
        true => decided(Verdict::Better),
        false => decided(Verdict::Worse),
    };
    let Some(p) = estimate.p else { return undecided(no_estimate(compared, estimate, question)) };
    let (Some(interval), Some(inner)) =
        (estimate.log_interval(question.level), estimate.log_interval(1.0 - 2.0 * alpha))
    else {
        // Nothing left, or all of it new: there is a direction without a ratio.
        let fell = estimate.no_ratio.and_then(|gone| gone.fell).filter(|_| p <= alpha);
        return fell.map_or_else(|| undecided(no_estimate(compared, estimate, question)), direction);
    };
    let by_interval = interval.excludes(0.0);
    let at_odds = by_interval != (p <= alpha);
    let within = inner.within(limit);
    // Within the margin is a claim like any other: the permutations have to bear it out, too.
    if within && !(by_interval && p > alpha) && within_by_permutation(compared, estimate, question, limit) {
        return decided(Verdict::Equivalent);
    }
    if by_interval && p <= alpha && !within {
        return direction(interval.high < 0.0);
    }
    if within {
        return undecided(
            "The interval is within the margin, and the permutations do not bear that out: it is at the edge of what this data shows."
                .to_owned(),
        );
    }
    if at_odds {
        return undecided(
            "The interval and the permutations do not agree whether there is a difference: it is at the edge of what this data shows."
                .to_owned(),
        );
    }
    // Why comes first, and what another size would show after it: one server far out widens the interval of all, and of whole sites
    // there are few.
    let why = [
        Outlying::of(compared, estimate).map(|apart| apart.statement(compared, question)),
        whole_units(compared),
    ];
    let too_small = too_small(compared, estimate, question, &needed);
    undecided(why.into_iter().flatten().chain([too_small]).collect::<Vec<_>>().join(" "))
}

/// True if chance hardly ever makes effects as large as the margin, either way, of this data: each on one side of the level (two
/// tests, as of the interval).
fn within_by_permutation(
    compared: &Compared,
    estimate: &Estimate,
    question: &FleetQuestion,
    limit: f64,
) -> bool {
    let outcome = &estimate.outcome;
    let load = compared.adjusted.then_some(estimate.load_change.as_slice()).filter(|_| !estimate.zero_heavy);
    let units = &compared.units;
    let groups = Groups { test: &units.test, stratum: &units.stratum, load };
    [limit, -limit].into_iter().all(|shift| {
        let shifted =
            outcome.iter().zip(&units.test).map(|(value, test)| if *test { value + shift } else { *value });
        let shifted: Vec<f64> = shifted.collect();
        chance(&groups, &shifted, DRAWN_FOR_CHECK, question.seed)
            .is_some_and(|chance| chance.p <= 2.0 * (1.0 - question.level))
    })
}

fn no_estimate(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> String {
    let metric = &question.metric;
    if estimate.zero_heavy {
        return match estimate.p {
            Some(p) if p <= 1.0 - question.level => format!(
                "A group has no {metric} before or after the change, or of one server only, so there is no ratio. That is more than chance \
                 ({}), but in how many intervals there are any and how many there are go different ways.",
                p_value(p)
            ),
            Some(p) => format!(
                "A group has no {metric} before or after the change, or of one server only, so there is no ratio, and chance alone makes as \
                 much ({}).",
                p_value(p)
            ),
            None => format!("In no server did the share of intervals with any {metric} change."),
        };
    }
    let words = compared.units.words();
    if compared.adjusted {
        format!(
            "The {words} do not differ beyond their load, or the load alone tells in which group a {} is: there is nothing to hold an \
             effect against.",
            compared.units.word()
        )
    } else {
        format!("The {words} do not differ beyond their group: there is no noise to hold an effect against.")
    }
}

/// A sentence about the number of units, where these are not the servers.
fn whole_units(compared: &Compared) -> Option<String> {
    let units = &compared.units;
    if units.are_servers() {
        return None;
    }
    let [control, test] = units.counts();
    let servers = compared.servers.len() as u64;
    Some(format!(
        "No {} has both groups, so {} are held against {}, and not their {} against each other.",
        units.word(),
        units.counted(test as u64).replacen(' ', " test ", 1),
        units.counted(control as u64).replacen(' ', " control ", 1),
        counted(servers, "server"),
    ))
}

fn too_small(
    compared: &Compared,
    estimate: &Estimate,
    question: &FleetQuestion,
    needed: &[ServersNeeded],
) -> String {
    let Some(detectable) = estimate.smallest_detectable_ratio(compared, question.level) else {
        return "Neither a difference nor its absence is shown.".to_owned();
    };
    let words = compared.units.words();
    let would = needed.first().and_then(|it| Some((it.ratio, it.servers?)));
    let would = would.map_or_else(String::new, |(of, servers)| {
        format!(
            "; for the margin of {} it would take {} in each group",
            change(of),
            compared.units.counted(servers)
        )
    });
    format!(
        "Neither a difference nor its absence is shown: with this spread of the {words}, a ratio of {} or {} is seen four times out of \
         five{would}.",
        ratio_digits(1.0 / detectable),
        ratio_digits(detectable)
    )
}

fn needed(estimate: &Estimate, question: &FleetQuestion) -> Vec<ServersNeeded> {
    let Some(spread) = estimate.spread else { return Vec::new() };
    let margin = 1.0 + question.margin;
    let asked = std::iter::once(margin).chain(ASKED.into_iter().filter(|it| *it > margin + 0.005));
    asked
        .map(|ratio| ServersNeeded {
            ratio,
            servers: servers_needed(spread, ratio, question.level, POWER).map(|servers| servers as u64),
        })
        .collect()
}
