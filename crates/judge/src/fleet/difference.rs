//! The difference between the groups in a value of each server.

use super::question::FleetQuestion;
use plumb_stats::fleet::design::{Design, Groups};
use plumb_stats::fleet::permutation::{DRAWN_FOR_CHECK, chance};

/// The difference between the groups in a value of each server.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupDifference {
    /// Test less control: the logarithm of a ratio where the values are logarithms.
    pub(super) log_ratio: f64,
    /// The chance of as large a difference between groups drawn at random.
    pub(super) p: f64,
}

/// The difference in a value of each server, within strata; none where the groups cannot be told apart.
pub(super) fn group_difference(
    test: &[bool],
    stratum: &[u32],
    values: &[f64],
    question: &FleetQuestion,
) -> Option<GroupDifference> {
    let groups = Groups { test, stratum, load: None };
    let effect = Design::new(&groups)?.effect(values)?;
    let p = chance(&groups, values, DRAWN_FOR_CHECK, question.seed)?.p;
    Some(GroupDifference { log_ratio: effect.log_ratio, p })
}
