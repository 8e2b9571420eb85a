//! The place for the result of a command that makes no run: a probe's, a watched path's.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// The format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultOutput {
    /// For people.
    Text,
    /// The whole result, for programs.
    Json,
}

/// The place for a result.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
    /// Also keep the result and its page in this directory; `plumb report DIR` shows it again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write the page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}
