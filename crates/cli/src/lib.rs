//! The program: arguments, settings, screens, and what is printed.
//!
//! The only crate that reads arguments, prints, and decides exit codes. A command turns its words
//! into a [`plumb_model::plan::Plan`]; [`plumb_session`] runs it and tells `progress` what happens; the report crate renders the document.

mod args;
mod client_properties;
mod commands;
mod conditions;
mod errors;
mod handed_over;
mod inherited;
mod install_dir;
mod judged;
mod kubernetes;
mod near;
mod printer;
mod progress;
mod result_dir;
pub mod schema;
mod stop;
mod whole_file;

use clap::FromArgMatches;
use std::process::ExitCode;

/// Runs the program.
pub fn run() -> ExitCode {
    inherited::keep_from_children();
    printer::set(printer::Looks::of_words(std::env::args_os()));
    let read = args::command().try_get_matches();
    let ended = match read.and_then(|matches| args::Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => commands::run(&arguments).map(commands::End::exit_code),
        Err(error) if printer::usage(&error) => Ok(ExitCode::from(errors::USAGE)),
        Err(_) => Ok(ExitCode::SUCCESS),
    };
    // Whatever a command found, nobody was told if it could not be printed.
    match ended.and_then(|code| Ok(printer::printed().map(|()| code)?)) {
        Ok(code) => code,
        Err(error) => errors::report(&error),
    }
}
