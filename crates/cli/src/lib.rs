//! The program: arguments, settings, the session that runs a plan, and what is printed.
//!
//! The only crate that reads arguments and the environment, prints, and decides exit codes. A command turns its words
//! into a [`plumb_model::plan::Plan`]; [`session`] runs it; the report crate renders the document.

pub mod args;
mod cache;
mod client_config;
mod commands;
mod compat;
mod errors;
mod judged;
mod lock;
mod printer;
mod progress;
mod reference;
mod run_dir;
mod scenario_file;
pub mod schema;
mod session;
mod stop;

use clap::Parser;
use std::process::ExitCode;

/// Runs the program.
pub fn run() -> ExitCode {
    let arguments = match args::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return printer::usage(&error),
    };
    match commands::run(&arguments) {
        Ok(end) => end.exit_code(),
        Err(error) => errors::report(&error),
    }
}
