//! Tables that hold nothing to compare.

use plumb_model::fault::{Fault, HasFault};
use plumb_model::fleet::FleetGroup;
use std::borrow::Cow;
use thiserror::Error;

/// Nothing can be held against anything.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FleetError {
    /// All intervals are on one side.
    #[error("no interval in which both groups have values is {side} the change at {changed_at}; {have}")]
    OneSided {
        /// `before` or `after`.
        side: &'static str,
        /// The time of the change.
        changed_at: String,
        /// The intervals that the table has, in words.
        have: String,
    },
    /// No server is left.
    #[error(
        "the {} group has no server that can be compared: none of its {named} has values in at least half of the intervals before the \
         change and half of those after it",
        group.name()
    )]
    EmptyGroup {
        /// The group.
        group: FleetGroup,
        /// Servers of it in the table.
        named: usize,
    },
    /// The servers went with the change.
    #[error(
        "{lost} of the {had} {} servers that were there before the change are gone after it, and {other_lost} of the {other_had} of the \
         other group: too few are left to compare",
        group.name()
    )]
    Lost {
        /// The group that lost more.
        group: FleetGroup,
        /// Servers of it that are without values or load after the change.
        lost: u64,
        /// Of so many that had them before.
        had: u64,
        /// The same of the other group.
        other_lost: u64,
        /// Of so many.
        other_had: u64,
    },
    /// A surge that the user knows of and the figures do not.
    #[error(
        "no interval that is compared begins in the surge given, {from} to {until}; they begin from {first} to {last}"
    )]
    SurgeOutside {
        /// Its begin as given.
        from: String,
        /// Its end; `the end` where none is given.
        until: String,
        /// The first interval.
        first: String,
        /// The last.
        last: String,
    },
    /// A surge with nothing beside it.
    #[error(
        "the surge given leaves no interval before the change to hold it against; it has all from {first} to {last}"
    )]
    SurgeEverywhere {
        /// Its first interval.
        first: String,
        /// Its last.
        last: String,
    },
    /// A fleet of which more was seen.
    #[error("the fleet is given as {given} servers, and {seen} of it have figures")]
    FleetTooSmall {
        /// As given.
        given: u32,
        /// Servers in the table.
        seen: u32,
    },
    /// A column, or a query, that holds nothing.
    #[error("{quantity} has no value that can be used in any interval of any server of the {} group", group.name())]
    NoValues {
        /// The metric's or the load's name.
        quantity: String,
        /// The group.
        group: FleetGroup,
    },
    /// A load by which nothing can be adjusted.
    #[error("{load} is 0 in every interval of every server of the {} group; expected the load that they bear", group.name())]
    NoLoad {
        /// The load's name.
        load: String,
        /// The group.
        group: FleetGroup,
    },
    /// A stuck exporter, or a metric that does not happen.
    #[error(
        "{quantity} of the {} group is {value} in every interval of every server; expected values that change",
        group.name()
    )]
    Constant {
        /// The metric's or the load's name.
        quantity: String,
        /// The group.
        group: FleetGroup,
        /// Its only value.
        value: f64,
    },
}

impl HasFault for FleetError {
    fn fault(&self) -> Fault {
        Fault::User
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            FleetError::OneSided { .. } => {
                "is --change the right moment, with its time zone, and do both groups have data from both sides of it?"
            }
            FleetError::EmptyGroup { .. } => {
                "servers that came or went with the change cannot be compared; a longer time, or other groups, can"
            }
            FleetError::Lost { .. } => {
                "did the change take them out? If their figures only come from elsewhere since, give those, too"
            }
            FleetError::SurgeOutside { .. } | FleetError::SurgeEverywhere { .. } => {
                "is it the right time, with its time zone? Without one given, a surge is looked for in the load"
            }
            FleetError::FleetTooSmall { .. } => {
                "--fleet-size is of all servers, with those of both groups; without it, those that have figures are the fleet"
            }
            FleetError::NoValues { .. } => {
                "is it the right column or query, and is it filled in for these servers?"
            }
            FleetError::NoLoad { .. } => {
                "is it the right column or query? Without --load nothing is adjusted, and the result says so"
            }
            FleetError::Constant { .. } => {
                "is it the right column, and does it count what it should? A metric that never moves shows no change"
            }
        };
        Some(hint.into())
    }
}
