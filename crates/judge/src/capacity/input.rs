//! A figure with its source: as it is known of a machine, and as an input of a bound.

use super::CapacityError;
use serde::{Deserialize, Serialize};

/// A figure, in the unit that its field's name carries, and where it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The value.
    pub value: f64,
    /// As it was written, with its unit.
    pub shown: String,
    /// Its source.
    pub source: Source,
}

/// The source of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
pub enum Source {
    /// The user, by this flag.
    Given(String),
    /// A published table.
    Published(String),
    /// A run: which step, and its verdict.
    Measured(String),
    /// Nobody knows: whose assumption it is.
    Assumed(String),
}

/// A figure that a bound was worked out from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its value with its unit.
    pub shown: String,
    /// Its source.
    pub source: Source,
}

impl Figure {
    /// A value that the user gave by a flag.
    pub fn given(value: f64, shown: &str, flag: &str) -> Self {
        Figure { value, shown: shown.to_owned(), source: Source::Given(flag.to_owned()) }
    }

    /// As input of a bound.
    pub(super) fn input(&self, name: &'static str) -> Input {
        Input { name: name.to_owned(), shown: self.shown.clone(), source: self.source.clone() }
    }
}

impl Input {
    /// True if it is an assumption.
    pub fn is_assumed(&self) -> bool {
        matches!(self.source, Source::Assumed(_))
    }
}

/// Refuses a figure that is there and outside of its range.
pub(super) fn in_range(
    what: &'static str,
    got: Option<f64>,
    expected: &'static str,
    possible: fn(f64) -> bool,
) -> Result<(), CapacityError> {
    match got {
        Some(got) if !got.is_finite() || !possible(got) => {
            Err(CapacityError::OutOfRange { what, got, expected })
        }
        _ => Ok(()),
    }
}
