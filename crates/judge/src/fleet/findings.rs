//! The findings of a trial on a fleet: one for each check that does not hold, and others that a reader must know.

use super::alarm::ALARM_P;
use super::elasticity::USUAL;
use super::estimate::Estimate;
use super::pre_trend::INTERVALS_ENOUGH;
use super::rows;
use crate::row::Row;
use plumb_model::figure::{counted, ratio_digits};
use plumb_model::finding::{Check, CheckOutcome, Finding, Severity};
use plumb_model::fleet::{FleetResult, FleetUnit};
use plumb_model::verdict::Verdict;

/// All findings: those of the checks first.
pub(super) fn findings(estimate: &Estimate, result: &FleetResult) -> Vec<Finding> {
    let of_checks = result.checks.iter().filter_map(of_check);
    of_checks.chain(of_result(estimate, result)).collect()
}

/// None where the check holds, or could not be told.
fn of_check(check: &Check) -> Option<Finding> {
    let severity = match check.outcome {
        CheckOutcome::Passed | CheckOutcome::Unknown => return None,
        CheckOutcome::Warning => Severity::Note,
        CheckOutcome::Failed => Severity::Invalid,
    };
    let row = rows::ROWS.iter().find(|row| row.id == check.id)?;
    Some(row.finding(severity, check.statement.clone()))
}

/// The findings beside those of the checks.
fn of_result(estimate: &Estimate, result: &FleetResult) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |row: &Row, claim: String| found.push(row.finding(row.severity, claim));
    if result.load.is_none() {
        say(
            &rows::NO_LOAD,
            "No load was given: a surge that hits the groups differently, or traffic that moves between them, is taken for the change."
                .to_owned(),
        );
    }
    if let Some(gone) = estimate.no_ratio {
        let bound = match gone.bound {
            Some(_) => ", the bound of how many there are by what the other group did",
            None => "",
        };
        say(
            &rows::NO_EVENTS,
            format!(
                "A group has no {} at all before or after the change, or on one server only, so there is no ratio: p is of the share of \
             intervals with any{bound}. Nothing of it is at equal load.",
                result.metric
            ),
        );
    } else if estimate.zero_heavy {
        say(
            &rows::SHARES_COMPARED,
            format!(
                "Most servers of a group have no {} at all before or after the change: the share of intervals with any is compared, \
             instead of how much, and not at equal load.",
                result.metric
            ),
        );
    }
    if estimate.by_totals {
        say(
            &rows::RATIO_OF_TOTALS,
            format!(
                "The typical server has so few {} that their logarithms would be off: the ratio is that of totals (Poisson's likelihood, errors by \
             server), in which servers weigh as much as they count.",
                result.metric
            ),
        );
    }
    if let Some(claim) = time_before(result) {
        say(&rows::FEW_INTERVALS_BEFORE, claim);
    }
    if result.rollout.iter().any(|stage| stage.share >= 1.0) {
        say(
            &rows::NO_CONTROL_LEFT,
            "The last stage of the roll-out leaves no server without the change, and nothing then tells its harm from what happens to all \
             servers: keep some back until it has been watched."
                .to_owned(),
        );
    }
    if result.unit != FleetUnit::Server && matches!(result.verdict, Verdict::Better | Verdict::Equivalent) {
        say(
            &rows::NO_ROLLOUT,
            "There are no stages of a roll-out, as their limits are of how far single servers go, which whole sites do not tell: go on with some \
             servers of each site, and take that as a trial."
                .to_owned(),
        );
    }
    let interval = result.load_elasticity_low.zip(result.load_elasticity_high);
    if let Some((low, high)) = interval.filter(|(low, high)| *high < USUAL.start || *low > USUAL.end) {
        say(
            &rows::UNUSUAL_ELASTICITY,
            format!(
                "{} grows with the load to the power of {} to {}, where 1 to 2 is usual: the load may not be what drives it.",
                result.metric,
                ratio_digits(low),
                ratio_digits(high)
            ),
        );
    }
    found
}

/// The doubt that the time before the change leaves, as a sentence.
fn time_before(result: &FleetResult) -> Option<String> {
    let trend = result.checks.iter().find(|check| check.id == rows::PRE_TREND.id)?;
    match trend.outcome {
        CheckOutcome::Warning if trend.p.is_some_and(|p| p >= ALARM_P) => Some(trend.statement.clone()),
        CheckOutcome::Unknown if result.effect_ratio.is_some() => Some(format!(
            "With {} before the change nobody can see whether the groups were going apart already.",
            counted(result.intervals_before, "interval")
        )),
        CheckOutcome::Passed if result.intervals_before < INTERVALS_ENOUGH as u32 => Some(format!(
            "With only {} before the change, groups that were slowly going apart already look like groups that were not: give at least \
             {INTERVALS_ENOUGH} of them before relying on a small effect.",
            counted(result.intervals_before, "interval")
        )),
        _ => None,
    }
}
