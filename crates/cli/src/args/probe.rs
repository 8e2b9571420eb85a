//! `plumb probe`: one resource of this host, as words.

mod storage;

pub use storage::{Counts, Methods, StorageArgs};

use clap::{Args, Subcommand, ValueEnum};

/// `plumb probe`
#[derive(Debug, Args)]
pub struct ProbeArgs {
    /// What to look at.
    #[command(subcommand)]
    pub command: ProbeCommand,
}

/// What to look at.
#[derive(Debug, Subcommand)]
pub enum ProbeCommand {
    /// How fast directories commit and stream, and what is behind them
    Storage(StorageArgs),
    /// What this host says of itself; nothing is loaded
    Facts(FactsArgs),
}

/// How a probe prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProbeOutput {
    /// For people.
    Text,
    /// The whole result, for programs and for `--compare`.
    Json,
}

/// `plumb probe facts`
#[derive(Debug, Args)]
pub struct FactsArgs {
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub output: ProbeOutput,
}
