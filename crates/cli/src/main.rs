//! `plumb`: how fast an event-ingestion path is, what bounds it, and the proof of a change.

use std::process::ExitCode;

fn main() -> ExitCode {
    plumb_cli::run()
}
