//! A check's row in the result, and the chances from which checks speak up.

use crate::row::Row;
use plumb_model::figure::percent;
use plumb_model::finding::{Check, CheckOutcome};

/// Below this p a check speaks up: several are made, and each is wrong now and then.
pub(super) const ALARM_P: f64 = 0.01;

/// p of a drift in few intervals below which it takes the verdict, if it is enough for the effect: there an alarm at [`ALARM_P`]
/// would hardly ever come (ours).
pub(super) const SUSPECT_P: f64 = 0.2;

/// Below this p a reader is told that it is rare, though it is no alarm.
const RARE: f64 = 0.05;

/// The result of the check of a row.
pub(super) fn check(row: &Row, outcome: CheckOutcome, statement: String, p: Option<f64>) -> Check {
    Check { id: row.id.to_owned(), outcome, statement, p }
}

/// The words for a p that passes a check: `chance alone makes as much in 34 % of cases`; where that is rare, with the limit of an
/// alarm.
pub(super) fn by_chance(p: f64) -> String {
    let alarm = if p < RARE {
        format!(": rare, but no alarm, which is below {}", percent(ALARM_P))
    } else {
        String::new()
    };
    format!("chance alone makes as much in {} of cases{alarm}", percent(p))
}
