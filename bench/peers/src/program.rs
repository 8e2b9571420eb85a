//! The frame of every comparison as a program: words in, a table on standard output, progress on standard error.

use crate::error::BenchError;
use crate::options::{self, Options, Wish};
use plumb_bench_frame::say;
use std::process::ExitCode;

/// Runs a comparison as the words of the command line say. `help` comes before what all comparisons have in common.
pub fn run(help: &str, with_acks: bool, compare: fn(&Options) -> Result<(), BenchError>) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = options::parse(&words, with_acks).and_then(|wish| match wish {
        Wish::Help => Ok(say(&format!("{help}{}", options::HELP))?),
        Wish::Compare(options) => compare(&options),
    });
    plumb_bench_frame::end(done)
}
