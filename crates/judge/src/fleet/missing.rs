//! The check for missing values: one group lacks more of them than the other, and high values there could make the effect.
//!
//! The course that the lacking intervals have in common is taken off before (`gaps`). A server's own values may still be missing
//! because they were high or low, and no figure shows that. So the check takes each missing value for as high as the highest of
//! the others, and asks if the verdict stands.

use super::alarm::{ALARM_P, by_chance, check};
use super::rows;
use super::words::deviation;
use plumb_model::figure::percent;
use plumb_model::finding::{Check, CheckOutcome};

/// The share of values, beside what their server and their interval make usual, that are called high (ours).
pub(super) const HIGH_SHARE: f64 = 0.05;

/// Shares of each group's values that are missing, 0..1.
#[derive(Debug, Default)]
pub(super) struct MissingValues {
    control: f64,
    test: f64,
    /// Chance of shares as unlike; none where it cannot be told.
    p: Option<f64>,
}

/// The effect of the missing values on the ratio, were they high ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HighShift {
    /// The shift of the effect, as a logarithm without a sign.
    pub(super) shift: f64,
    /// True if the verdict stands all the same.
    pub(super) stands: bool,
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

    pub(super) fn check(&self, high_shift: &dyn Fn() -> HighShift) -> Check {
        let row = &rows::MISSING;
        if self.test == 0.0 && self.control == 0.0 {
            let statement = "Every server has a value in every interval.".to_owned();
            return check(row, CheckOutcome::Passed, statement, None);
        }
        let said = format!(
            "{} of the test group's values are missing, {} of the control group's",
            percent(self.test),
            percent(self.control)
        );
        let matters = "What is missing in one group only may be what matters";
        match self.p {
            Some(p) if p < ALARM_P => {
                let HighShift { shift, stands } = high_shift();
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
                check(row, outcome, statement, self.p)
            }
            None if self.test != self.control => {
                let statement = format!("{said}; whether chance makes that cannot be told. {matters}.");
                check(row, CheckOutcome::Warning, statement, None)
            }
            Some(p) => check(row, CheckOutcome::Passed, format!("{said}; {}.", by_chance(p)), self.p),
            None => check(row, CheckOutcome::Passed, format!("{said}."), None),
        }
    }
}
