//! The parts of an error besides its message: whose fault it is, and the next step.
//!
//! Each error that reaches the user implements [`HasFault`] beside its definition. Not here: exit codes and printing, which are
//! the program's (`crates/cli/src/errors.rs`).

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::error::Error;
use thiserror::Error as ThisError;

/// The one whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The user's: words, or the files that they name.
    User,
    /// This machine's: it lacks something, or refuses it.
    Environment,
    /// The system that is measured or asked: a broker, a metrics server, another host.
    Target,
    /// Plumb's own.
    Program,
}

/// An error that knows whose fault it is.
pub trait HasFault: std::error::Error {
    /// The one whose fault it is.
    fn fault(&self) -> Fault;

    /// The next step, where one is known.
    fn hint(&self) -> Option<Cow<'static, str>> {
        None
    }

    /// True if it is no fault at all: the user asked to stop.
    fn is_stop(&self) -> bool {
        false
    }
}

/// Something that the user asked for cannot be.
#[derive(Debug, ThisError)]
#[error("{message}")]
pub struct UsageError {
    /// The contradiction, and the reason.
    pub message: String,
    /// The next step instead.
    pub hint: Option<String>,
}

impl UsageError {
    /// An error with the way out of it.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        UsageError { message: message.into(), hint: Some(hint.into()) }
    }
}

impl HasFault for UsageError {
    fn fault(&self) -> Fault {
        Fault::User
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        self.hint.clone().map(Cow::from)
    }
}

/// The error and its causes, outermost first, without what a cause repeats.
pub fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cause in std::iter::successors(Some(error), |&error| error.source()) {
        let text = cause.to_string();
        if !lines.iter().any(|line| line.contains(&text)) {
            lines.push(text);
        }
    }
    lines
}

/// The refusals of the operating system.
impl HasFault for std::io::Error {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}
