//! A second opinion on counts: the same effect by the groups' totals.
//!
//! The verdict is of a typical server, by logarithms. Those say too much or too little where counts are small and the groups
//! unlike, and where a share of intervals with any event is compared, fewer intervals with more events in each look like less.
//! Totals have neither fault. They have another, that one server may outweigh the rest, so they can take a verdict away and never
//! give one.

use super::alarm::check;
use super::compared::Compared;
use super::counted::counted;
use super::estimate::{Estimate, LogRatio};
use super::question::FleetQuestion;
use super::rows;
use plumb_model::figure::{percent, ratio_digits};
use plumb_model::finding::{Check, CheckOutcome};
use plumb_stats::ends::Ends;
use plumb_stats::fleet::design::Groups;
use plumb_stats::fleet::totals::totals_effect;

/// Confidence from which totals contradict: an alarm is to be as rare as those of the other checks.
const LEVEL: f64 = 0.99;

/// Totals whose interval reaches farther than this factor to both sides bear nothing out and contradict nothing (ours).
const TELLS_AT_MOST: f64 = 10.0;

/// The check that the totals bear the verdict out.
pub(super) fn totals(compared: &Compared, estimate: &Estimate, question: &FleetQuestion) -> Check {
    let found = |outcome, statement: String| check(&rows::TOTALS, outcome, statement, None);
    if estimate.by_totals {
        let statement =
            "The ratio is of totals itself: the typical server counts too few events for logarithms."
                .to_owned();
        return found(CheckOutcome::Passed, statement);
    }
    let word = compared.units.word();
    let load = compared.adjusted.then_some(estimate.load_change.as_slice());
    let groups = Groups { test: &compared.units.test, stratum: &compared.units.stratum, load };
    let second = totals_effect(&groups, &counted(compared));
    let (Some(second), Some(Ends { low, high })) = (second, second.and_then(|second| second.interval(LEVEL)))
    else {
        let statement = format!(
            "By totals there is no ratio: too few {} have {}, or a group has none before or after the change.",
            compared.units.words(),
            question.metric
        );
        return found(CheckOutcome::Unknown, statement);
    };
    let said = format!(
        "All {} of a group together, at equal load of each {word}, have the ratio {} ({} to {} at {})",
        question.metric,
        ratio_digits(second.log_ratio.exp()),
        end(low),
        end(high),
        percent(LEVEL)
    );
    let said =
        if compared.adjusted { said } else { said.replace(&format!(", at equal load of each {word},"), "") };
    let (Some(LogRatio { value: first, .. }), Some(interval)) =
        (estimate.log_ratio, estimate.log_interval(question.level))
    else {
        return found(CheckOutcome::Unknown, format!("{said}; there is no other ratio to hold it against."));
    };
    let reach = TELLS_AT_MOST.ln();
    if low < second.log_ratio - reach && high > second.log_ratio + reach {
        return found(CheckOutcome::Unknown, format!("{said}: too wide to bear anything out."));
    }
    let apart = !(low..=high).contains(&first);
    let fell = interval.high < 0.0;
    let shown = interval.excludes(0.0);
    let bears_out = if fell { high < 0.0 } else { low > 0.0 };
    let limit = (1.0 + question.margin).ln();
    let (within, outside) = (interval.within(limit), low > limit || high < -limit);
    let contradicts = if shown && !within { !bears_out } else { outside };
    if apart && contradicts {
        let other = ratio_digits(first.exp());
        let statement = format!(
            "{said}. That contradicts the ratio of {other}: what holds for a typical {word} does not hold for what all of them count."
        );
        return found(CheckOutcome::Failed, statement);
    }
    if shown && !within && first * second.log_ratio < 0.0 {
        let statement = format!(
            "{said}. That is too uncertain to contradict the ratio of {}, and points the other way: a few {} may count more by as much \
             as all others count less. Look at those that changed unlike the others.",
            ratio_digits(first.exp()),
            compared.units.words()
        );
        return found(CheckOutcome::Warning, statement);
    }
    if apart && (first - second.log_ratio).abs() > limit {
        let statement = format!(
            "{said}: the change does not do the same to {1} with many {0} as to those with few.",
            question.metric,
            compared.units.words()
        );
        return found(CheckOutcome::Warning, statement);
    }
    found(CheckOutcome::Passed, format!("{said}, which agrees."))
}

/// An end of an interval of ratios, by its logarithm. Beyond a thousand its digits say nothing (ours).
fn end(log_ratio: f64) -> String {
    const FAR: f64 = 1_000.0;
    match log_ratio.exp() {
        far if far > FAR => "beyond 1000-fold".to_owned(),
        near_none if near_none < 1.0 / FAR => "below a thousandth".to_owned(),
        told => ratio_digits(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_of_an_interval_that_is_farther_than_a_thousand_times_is_told_in_words() {
        assert_eq!(end(76.0), "beyond 1000-fold");
        assert_eq!(end(-76.0), "below a thousandth");
        assert_eq!([end(0.0), end(6.0_f64.ln())], [ratio_digits(1.0), ratio_digits(6.0)]);
    }
}
