//! The frame of every bench as a program: results on standard output, progress and errors on standard error, and an
//! exit code. What a bench measures is its own.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Ends a bench: an error is told.
pub fn end(done: Result<(), impl Display>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line of the result.
///
/// # Errors
/// When nobody takes it.
pub fn say(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout().lock(), "{line}")
}

/// Writes what is going on, for whoever waits.
pub fn tell(line: &str) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
