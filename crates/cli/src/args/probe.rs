//! `plumb probe`: one resource of this host, as words.

mod crypto;
mod memory;
mod network;
mod storage;

pub use crypto::{CryptoArgs, EngineWord};
pub use memory::MemoryArgs;
pub use network::NetworkArgs;
pub use storage::{Counts, Methods, StorageArgs};

use clap::{Args, Subcommand, ValueEnum};
use plumb_model::units::Nanos;

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
    /// How fast this host encrypts, hashes and signs, and which instructions it hides
    Crypto(CryptoArgs),
    /// How fast memory is: bandwidth by node, latency by working set
    Memory(MemoryArgs),
    /// What TCP can do, on loopback or to a peer: round trips, throughput, connections
    Network(NetworkArgs),
    /// What clocks and timers can tell: cost, lateness, agreement, and Plumb's own pacing
    Clock(ClockArgs),
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
    /// Show where each fact was read
    #[arg(long)]
    pub sources: bool,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub output: ProbeOutput,
}

/// `plumb probe clock`
#[derive(Debug, Args)]
pub struct ClockArgs {
    /// How long each timer and each schedule is watched; there are nine, and p99 at 1,000/s needs more than a second
    #[arg(long, value_name = "TIME", default_value = "1200ms", value_parser = watched)]
    pub duration: Nanos,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub output: ProbeOutput,
}

fn watched(text: &str) -> Result<Nanos, String> {
    let duration = super::parse_nanos(text)?;
    let allowed = Nanos::from_millis(1)..=Nanos::from_secs(3_600);
    if allowed.contains(&duration) { Ok(duration) } else { Err("at least 1ms, at most 1h".to_owned()) }
}
