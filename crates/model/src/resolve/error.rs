//! The reasons why a scenario cannot become a plan.

use crate::fault::{Fault, HasFault};
use thiserror::Error;

/// A scenario that cannot become a plan. The user's fault, always.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ResolveError {
    /// A value outside its bounds.
    #[error("{place}{path} is {got}; it must be {expected}, because {reason}")]
    OutOfBounds {
        /// `file:line: ` or the flag, or nothing.
        place: String,
        /// Path of the value.
        path: String,
        /// The value given.
        got: String,
        /// The bounds.
        expected: String,
        /// The reason why they are there.
        reason: &'static str,
    },
    /// Two values that exclude each other.
    #[error("{place}{first} and {second} cannot both be given: {reason}")]
    Conflict {
        /// `file:line: ` or the flag, or nothing.
        place: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
        /// The reason.
        reason: &'static str,
    },
    /// A value that must be given.
    #[error("{place}{path} is missing: {reason}")]
    Missing {
        /// `file:line: ` of what it is missing in, or nothing.
        place: String,
        /// Path of the value.
        path: &'static str,
        /// The reason why it has no default.
        reason: &'static str,
    },
    /// Two steps of one name.
    #[error("{place}two setups are called {name:?}; each needs a name of its own")]
    SameName {
        /// `file:line: ` of the second, or nothing.
        place: String,
        /// The name.
        name: String,
    },
    /// Two arms of one name.
    #[error("{place}{count} called {name:?}: {hint}")]
    SameArm {
        /// `file:line: ` of the second, or nothing.
        place: String,
        /// The name.
        name: String,
        /// The two.
        count: &'static str,
        /// The next step.
        hint: &'static str,
    },
    /// A property that Plumb sets itself.
    #[error("{place}{path} cannot be set here: {reason}")]
    Reserved {
        /// `file:line: ` or the flag, or nothing.
        place: String,
        /// Path of the property.
        path: String,
        /// The one who sets it, and the key to set instead.
        reason: &'static str,
    },
}

impl HasFault for ResolveError {
    fn fault(&self) -> Fault {
        Fault::User
    }
}
