//! The check for an effect of one server, or of a few that changed unlike all others of their group.

use super::alarm::{ALARM_P, check};
use super::compared::Compared;
use super::estimate::Estimate;
use super::question::FleetQuestion;
use super::rows;
use plumb_model::figure::{change, ratio_digits};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_stats::ends::Ends;
use plumb_stats::fleet::design::{Effect, Groups};
use plumb_stats::fleet::influence::left_out;
use plumb_stats::fleet::outliers::{Outliers, outliers};

/// Servers that are named; of more there is the number (ours: what one looks at).
const NAMED_MOST: usize = 5;

/// Servers that changed unlike all others of their group.
#[derive(Debug)]
pub(super) struct Outlying(Outliers);

pub(super) fn leave_one_out(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::LEAVE_ONE_OUT;
    let (word, words) = (compared.units.word(), compared.units.words());
    let left = estimate.effect.as_ref().and_then(left_out);
    if estimate.log_ratio.is_some() && estimate.freedom == 0.0 {
        let statement =
            format!("Without one of the {words} there is no effect to tell: it hangs on that {word} alone.");
        return check(row, CheckOutcome::Warning, statement, None);
    }
    let (Some(left), Some(interval)) = (left, estimate.log_interval(question.level)) else {
        let statement = format!("There is no effect to look at without each {word}.");
        return check(row, CheckOutcome::Unknown, statement, None);
    };
    if let Some(apart) = Outlying::of(compared, estimate) {
        let outcome = match apart.carry(estimate, question) {
            true => CheckOutcome::Failed,
            false => CheckOutcome::Warning,
        };
        return check(row, outcome, apart.statement(compared, question), None);
    }
    let most = &compared.units.names[left.most];
    let said = format!(
        "Without any one {word} the ratio is between {} and {}; {most} moves it most",
        ratio_digits(left.low.exp()),
        ratio_digits(left.high.exp()),
    );
    let shown = interval.excludes(0.0);
    let turned = left.low < 0.0 && left.high > 0.0;
    if !interval.contains(left.without_most) || (shown && turned) {
        let statement = format!("{said}. The effect hangs on that {word}: look at it.");
        return check(row, CheckOutcome::Warning, statement, None);
    }
    check(row, CheckOutcome::Passed, format!("{said}."), None)
}

impl Outlying {
    /// None where there is no such server, or servers count too few events for logarithms.
    pub(super) fn of(compared: &Compared, estimate: &Estimate) -> Option<Outlying> {
        estimate.effect.as_ref().filter(|_| !estimate.by_totals)?;
        let units = &compared.units;
        let load = compared.adjusted.then_some(estimate.load_change.as_slice());
        let groups = Groups { test: &units.test, stratum: &units.stratum, load };
        let found = outliers(&groups, &estimate.outcome, ALARM_P);
        (!found.found.is_empty()).then_some(Outlying(found))
    }

    /// True if the other servers do not show what all servers together show, a difference or equivalence.
    fn carry(&self, estimate: &Estimate, question: &FleetQuestion) -> bool {
        let Some(all) = estimate.log_interval(question.level) else { return false };
        let others = |level: f64| self.0.others.as_ref().and_then(|others| others.interval(level));
        let direction = |ends: Ends| i8::from(ends.low > 0.0) - i8::from(ends.high < 0.0);
        if direction(all) != 0 {
            return others(question.level).is_none_or(|of_others| direction(of_others) != direction(all));
        }
        let limit = (1.0 + question.margin).ln();
        let within = |ends: Ends| ends.within(limit);
        let inner = 2.0 * question.level - 1.0;
        estimate.log_interval(inner).is_some_and(within) && !others(inner).is_some_and(within)
    }

    /// Names them, with what the others show.
    pub(super) fn statement(&self, compared: &Compared, question: &FleetQuestion) -> String {
        let found = &self.0.found;
        let name = |(at, beyond): &(usize, Option<f64>)| {
            let name = &compared.units.names[*at];
            beyond.map_or_else(|| name.clone(), |beyond| format!("{name} ({})", change(beyond.exp())))
        };
        let named: Vec<String> = found.iter().take(NAMED_MOST).map(name).collect();
        let more = match found.len().saturating_sub(NAMED_MOST) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let them = if found.len() == 1 { "it" } else { "them" };
        format!(
            "{}{more} changed unlike the others of the group.{} Look at what happened there before leaving {them} out: if the change did \
             that, it is part of the answer.",
            named.join(", "),
            self.0.others.as_ref().map_or_else(String::new, |others| without(them, others, question)),
        )
    }
}

/// ` Without them the ratio is 0.98 (0.93 to 1.04), which shows no difference.`
fn without(them: &str, others: &Effect, question: &FleetQuestion) -> String {
    let Some(interval) = others.interval(question.level) else { return String::new() };
    let none = if interval.contains(0.0) { ", which shows no difference" } else { "" };
    format!(
        " Without {them} the ratio is {} ({} to {}){none}.",
        ratio_digits(others.log_ratio.exp()),
        ratio_digits(interval.low.exp()),
        ratio_digits(interval.high.exp())
    )
}
