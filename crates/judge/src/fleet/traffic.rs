//! The checks of the load: the groups' loads can be compared, and the change itself did not move traffic between them.

use super::alarm::{ALARM_P, SUSPECT_P, by_chance, check};
use super::compared::Compared;
use super::elasticity::USUAL;
use super::estimate::Estimate;
use super::gaps::Quantity;
use super::loads::{APART, Loads, OVERLAP_MIN};
use super::panel::Second;
use super::question::{DAY_S, FleetQuestion};
use super::rows;
use super::words::deviation;
use plumb_model::figure::{change, p_value, percent, ratio_digits};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_stats::ends::Ends;
use plumb_stats::fleet::design::{Design, Groups};
use plumb_stats::fleet::permutation::{DRAWN_FOR_CHECK, chance};

/// Share of what one group gained that the other lost, from which traffic moved between them (ours).
const MOVED_SHARE: f64 = 0.25;

/// The check that "at equal load" is within the data. Where the groups' loads changed alike there is nothing to carry over.
pub(super) fn overlap(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::OVERLAP;
    if estimate.load_is_metric {
        let statement = "The load leaves nothing of the metric: the two go up and down as one, so that at equal load there is nothing to \
                         see whatever the change did. Give a load that is not the metric itself, or none."
            .to_owned();
        return check(row, CheckOutcome::Failed, statement, None);
    }
    let Some(loads) = Loads::of(compared, &estimate.load_change) else {
        let statement = "No load was given: whether the groups were loaded alike is not known.".to_owned();
        return check(row, CheckOutcome::Unknown, statement, None);
    };
    let statement = format!(
        "The load of {} of the {} changed by an amount that both groups have",
        percent(loads.shared),
        compared.units.words()
    );
    let apart = format!("the groups' means are {} apart", deviation(loads.apart));
    if !loads.are_apart() {
        return check(row, CheckOutcome::Passed, format!("{statement}; {apart}."), None);
    }
    let (statement, else_) = match loads.shared >= OVERLAP_MIN {
        true => (format!("{statement}."), CheckOutcome::Passed),
        false => {
            let past = "below that, a comparison at equal load goes past the data";
            (
                format!("{statement}, and {apart}. It takes {}: {past}.", percent(OVERLAP_MIN)),
                CheckOutcome::Failed,
            )
        }
    };
    let Some(second) = estimate.second else { return check(row, else_, statement, None) };
    let said = by_intervals(&second, question);
    let first = estimate.ratio().map_or_else(String::new, |first| format!(" of {}", ratio_digits(first)));
    if !second.agrees {
        let statement = format!("{statement} And {said}, which contradicts the one{first} by levels.");
        return check(row, CheckOutcome::Failed, statement, None);
    }
    let statement = format!(
        "{statement} And {said}, which agrees with the one{first} by levels; the interval given holds both."
    );
    let outcome = if loads.shared >= OVERLAP_MIN { CheckOutcome::Passed } else { CheckOutcome::Warning };
    check(row, outcome, statement, None)
}

/// The second estimate in words.
fn by_intervals(second: &Second, question: &FleetQuestion) -> String {
    let intervals = if question.interval_s == DAY_S { "days" } else { "intervals" };
    let none = Ends { low: f64::NAN, high: f64::NAN };
    let Ends { low, high } = second.effect.interval(question.level).unwrap_or(none);
    format!(
        "by single {intervals}, most of which had loads that both groups had, the ratio is {} ({} to {})",
        ratio_digits(second.effect.log_ratio.exp()),
        ratio_digits(low.exp()),
        ratio_digits(high.exp())
    )
}

/// The check for traffic that moved from one group to the other when the change came.
pub(super) fn interference(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let row = &rows::INTERFERENCE;
    let units = &compared.units;
    let groups = Groups { test: &units.test, stratum: &units.stratum, load: None };
    let effect = Design::new(&groups).and_then(|design| design.effect(&estimate.load_change));
    let Some(effect) = effect.filter(|_| compared.adjusted) else {
        let statement = match compared.adjusted {
            true => format!("The load changed on all {} alike.", units.words()),
            false => {
                "No load was given: whether the change moved traffic from one group to the other is not known."
                    .to_owned()
            }
        };
        let outcome = if compared.adjusted { CheckOutcome::Passed } else { CheckOutcome::Unknown };
        return check(row, outcome, statement, None);
    };
    let p = chance(&groups, &estimate.load_change, DRAWN_FOR_CHECK, question.seed).map(|chance| chance.p);
    if let Some(found) = unequal_shares(estimate, effect.log_ratio, p, question) {
        return found;
    }
    let [control, test] = totals(compared);
    let said = format!(
        "With the change the load went {} in the test group and {} in the control group",
        change(test.after / test.before),
        change(control.after / control.before)
    );
    let Some(p) = p.filter(|p| *p < ALARM_P) else {
        let statement = format!("{said}{}.", p.map_or_else(String::new, |p| format!("; {}", by_chance(p))));
        return check(row, CheckOutcome::Passed, statement, p);
    };
    let apart = effect.log_ratio.abs();
    if apart <= APART.ln() {
        let statement = format!(
            "{said}: more apart than chance makes it{}, but only by {}, below the {} from which it matters.",
            p_in_brackets(p),
            deviation(apart),
            deviation(APART.ln())
        );
        return check(row, CheckOutcome::Passed, statement, Some(p));
    }
    let p = Some(p);
    let (gain, loss) = (test.after - test.before, control.before - control.after);
    let moved = gain * loss > 0.0 && gain.abs().min(loss.abs()) >= MOVED_SHARE * gain.abs().max(loss.abs());
    if moved {
        let statement = format!(
            "{said}: what one gained the other lost. The groups are not apart, and neither shows what it would have been without \
             the other's change."
        );
        return check(row, CheckOutcome::Failed, statement, p);
    }
    let at_equal_load = match estimate.zero_heavy {
        false => {
            "What is said is at equal load, which holds if the load came from outside and not from the change."
        }
        true => {
            "What is said is not at equal load, and stands all the same if the metric grows with the load as metrics do."
        }
    };
    let statement = format!("{said}: more apart than chance makes it. {at_equal_load}");
    check(row, CheckOutcome::Warning, statement, p)
}

/// Shares of intervals are not compared at equal load. Where the groups' loads went apart, what is said of them has to stand with that
/// taken off to the power of whatever metrics grow with: 0 to [`USUAL`]'s end.
fn unequal_shares(
    estimate: &Estimate,
    apart: f64,
    p: Option<f64>,
    question: &FleetQuestion,
) -> Option<Check> {
    let p = p.filter(|p| estimate.zero_heavy && *p < SUSPECT_P)?;
    let most = USUAL.end * apart;
    let taken_off = |ends: Ends| Ends { low: ends.low - most.max(0.0), high: ends.high - most.min(0.0) };
    let left = |level: f64| estimate.log_interval(level).map(taken_off);
    let shown = left(question.level).is_some_and(|ends| ends.excludes(0.0));
    let limit = (1.0 + question.margin).ln();
    let within = left(2.0 * question.level - 1.0).is_some_and(|ends| ends.within(limit));
    // Without a ratio, events that are all new or all gone are no matter of a load a little apart.
    let none_left = estimate.log_interval(question.level).is_none() && apart.abs() <= APART.ln();
    if shown || within || none_left {
        return None;
    }
    let statement = format!(
        "With the change the load of a test server went {} against that of a control server ({}). The share of intervals with any {} is \
         not compared at equal load, and so much load could make what is seen.",
        change(apart.exp()),
        p_value(p),
        question.metric
    );
    Some(check(&rows::INTERFERENCE, CheckOutcome::Failed, statement, Some(p)))
}

fn p_in_brackets(p: f64) -> String {
    format!(" ({})", p_value(p))
}

/// The load of one group in a mean interval.
#[derive(Clone, Copy, Default)]
struct GroupLoad {
    before: f64,
    after: f64,
}

/// The load of the control group, and of the test group.
fn totals(compared: &Compared) -> [GroupLoad; 2] {
    let mut totals = [GroupLoad::default(); 2];
    for (server, test) in compared.servers.iter().zip(&compared.test) {
        let total = &mut totals[usize::from(*test)];
        total.before += compared.mean(server, &compared.before, Quantity::Load);
        total.after += compared.mean(server, &compared.after, Quantity::Load);
    }
    totals
}
