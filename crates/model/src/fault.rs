//! Whose fault an error is, and what to do next: what an error says besides its message.
//!
//! Each error that reaches the user implements [`HasFault`] beside its definition. Not here: exit codes and printing, which are
//! the program's (`crates/cli/src/errors.rs`).

use std::borrow::Cow;

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The user's: words, or the files that they name.
    User,
    /// This machine's: it lacks something, or refuses it.
    Environment,
    /// What is measured or asked: a broker, a metrics server, another host.
    Target,
    /// Plumb's own.
    Program,
}

/// An error that knows whose fault it is.
pub trait HasFault: std::error::Error {
    /// Whose fault it is.
    fn fault(&self) -> Fault;

    /// The next step, where one is known.
    fn hint(&self) -> Option<Cow<'static, str>> {
        None
    }

    /// Whether it is no fault at all: the user asked to stop.
    fn is_stop(&self) -> bool {
        false
    }
}

/// What the operating system refuses.
impl HasFault for std::io::Error {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}
