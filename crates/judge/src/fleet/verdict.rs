//! What the estimate and the checks come to.

use super::checks::DECISIVE;
use super::compared::Compared;
use super::estimate::{Estimate, POWER};
use super::question::FleetQuestion;
use super::words::{change, ratio};
use plumb_model::fleet::{CheckOutcome, FleetCheck, ServersNeeded};
use plumb_model::trial::{Good, TrialVerdict};
use plumb_stats::power::servers_needed;

/// Ratios that people ask for, beside the margin.
const ASKED: [f64; 4] = [1.05, 1.1, 1.25, 2.0];

/// A verdict with why it is none, and with what another size would show.
pub(super) struct Weighed {
    pub(super) verdict: TrialVerdict,
    pub(super) reason: Option<String>,
    pub(super) needed: Vec<ServersNeeded>,
}

pub(super) fn weigh(
    compared: &Compared,
    estimate: &Estimate,
    checks: &[FleetCheck],
    question: &FleetQuestion,
) -> Weighed {
    let needed = needed(compared, estimate, question);
    let undecided = |reason: String| Weighed {
        verdict: TrialVerdict::Undecided,
        reason: Some(reason),
        needed: needed.clone(),
    };
    let failed = checks
        .iter()
        .find(|check| check.outcome == CheckOutcome::Failed && DECISIVE.contains(&check.name.as_str()));
    if let Some(check) = failed {
        return undecided(check.statement.clone());
    }
    let alpha = 1.0 - question.level;
    let limit = (1.0 + question.margin).ln();
    let inner = estimate.log_interval(1.0 - 2.0 * alpha);
    let (Some((low, high)), Some((inner_low, inner_high)), Some(p)) =
        (estimate.log_interval(question.level), inner, estimate.p)
    else {
        return undecided(no_estimate(compared, estimate, question));
    };
    let decided = |verdict| Weighed { verdict, reason: None, needed: needed.clone() };
    if inner_low > -limit && inner_high < limit {
        return decided(TrialVerdict::Equivalent);
    }
    let by_interval = low > 0.0 || high < 0.0;
    if by_interval && p <= alpha {
        let fell = high < 0.0;
        let good = fell == (question.good == Good::Lower);
        return decided(if good { TrialVerdict::Better } else { TrialVerdict::Worse });
    }
    if by_interval || p <= alpha {
        return undecided(
            "The interval and the permutations do not agree whether there is a difference: it is at the edge of what this data shows."
                .to_owned(),
        );
    }
    undecided(too_small(compared, estimate, question, &needed))
}

fn no_estimate(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> String {
    if estimate.zero_heavy {
        return match estimate.p {
            Some(p) if p <= 1.0 - question.level => format!(
                "{} does not happen at all in one group before or after the change, so there is no ratio; that is more than chance \
                 ({}), and the days show in which direction.",
                question.metric,
                super::words::p_value(p)
            ),
            _ => format!("{} happens too seldom for a ratio.", question.metric),
        };
    }
    if compared.adjusted {
        "The servers do not differ beyond their load, or the load alone tells in which group a server is: there is nothing to hold an \
         effect against."
            .to_owned()
    } else {
        "The servers do not differ beyond their group: there is no noise to hold an effect against."
            .to_owned()
    }
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
    let would = needed.first().and_then(|it| Some((it.ratio, it.servers?)));
    let would = would.map_or_else(String::new, |(of, servers)| {
        format!("; for the margin of {} it would take {servers} servers in each group", change(of))
    });
    format!(
        "Neither a difference nor its absence is shown: with this spread of the servers, a ratio of {} or {} is seen four times out of \
         five{would}.",
        ratio(1.0 / detectable),
        ratio(detectable)
    )
}

fn needed(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Vec<ServersNeeded> {
    let Some(spread) = estimate.spread(compared) else { return Vec::new() };
    let margin = 1.0 + question.margin;
    let asked = std::iter::once(margin).chain(ASKED.into_iter().filter(|it| *it > margin + 0.005));
    asked
        .map(|ratio| ServersNeeded {
            ratio,
            servers: servers_needed(spread, ratio, question.level, POWER).map(|servers| servers as u64),
        })
        .collect()
}
