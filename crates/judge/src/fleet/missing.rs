//! Values that are not there, of all servers of both groups: whether one group lacks more of them than the other.

use super::traffic::ALARM_P;
use super::words::{by_chance, percent};
use plumb_model::fleet::CheckOutcome;

/// Shares of each group's values that are missing, 0..1.
#[derive(Debug, Default)]
pub(super) struct MissingValues {
    control: f64,
    test: f64,
    /// Chance of shares as unlike; none where it cannot be told.
    p: Option<f64>,
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
    pub(super) fn found(&self) -> (CheckOutcome, String, Option<f64>) {
        if self.test == 0.0 && self.control == 0.0 {
            return (CheckOutcome::Passed, "No value is missing.".to_owned(), None);
        }
        let said = format!(
            "{} of the test group's values are missing, {} of the control group's",
            percent(self.test),
            percent(self.control)
        );
        let matters = "What is missing in one group only may be what matters.";
        match self.p {
            Some(p) if p < ALARM_P => {
                (CheckOutcome::Warning, format!("{said}: more than chance. {matters}"), self.p)
            }
            None if self.test != self.control => {
                let statement = format!("{said}; whether chance makes that cannot be told. {matters}");
                (CheckOutcome::Warning, statement, None)
            }
            Some(p) => (CheckOutcome::Passed, format!("{said}; {}.", by_chance(p)), self.p),
            None => (CheckOutcome::Passed, format!("{said}."), None),
        }
    }
}
