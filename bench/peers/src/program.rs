//! What every comparison is as a program: words in, a table on standard output, what is going on on standard error.

use crate::error::BenchError;
use crate::options::{self, Options, Wish};
use std::io::Write;
use std::process::ExitCode;

/// Runs a comparison as the words of the command line say. `help` comes before what all comparisons have in common.
pub fn run(help: &str, with_acks: bool, compare: fn(&Options) -> Result<(), BenchError>) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = options::parse(&words, with_acks).and_then(|wish| match wish {
        Wish::Help => say(&format!("{help}{}", options::HELP)),
        Wish::Compare(options) => compare(&options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a result.
///
/// # Errors
/// When nobody takes it.
pub fn say(text: &str) -> Result<(), BenchError> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Writes what is going on, for whoever waits.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
