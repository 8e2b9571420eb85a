//! `plumb probe`: one resource of this host, as words.

mod crypto;
mod memory;
mod network;
mod storage;

pub(crate) use crypto::CryptoArgs;
pub(crate) use memory::MemoryArgs;
pub(crate) use network::NetworkArgs;
pub(crate) use storage::{Counts, StorageArgs};

use super::result::ResultArgs;
use clap::{Args, Subcommand};
use plumb_model::units::Nanos;

/// `plumb probe`
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The resource to probe.
    #[command(subcommand)]
    pub(crate) command: ProbeCommand,
}

/// The resources that can be probed.
#[derive(Debug, Subcommand)]
pub(crate) enum ProbeCommand {
    /// How fast directories commit and stream, and what is behind them
    Storage(StorageArgs),
    /// How fast this host encrypts, hashes and signs, and which instructions it hides
    Crypto(CryptoArgs),
    /// How fast memory is: bandwidth by node, latency by working set
    Memory(MemoryArgs),
    /// What TCP can do, on loopback or to a peer: round trips, throughput, connections
    Network(NetworkArgs),
    /// What clocks and timers can tell, and how far another host's clock is from this one's
    Clock(ClockArgs),
    /// What this host says of itself; nothing is loaded
    Facts(FactsArgs),
}

impl ProbeCommand {
    /// The place for the result.
    pub(crate) fn result(&self) -> &ResultArgs {
        match self {
            ProbeCommand::Storage(arguments) => &arguments.result,
            ProbeCommand::Crypto(arguments) => &arguments.result,
            ProbeCommand::Memory(arguments) => &arguments.result,
            ProbeCommand::Network(arguments) => &arguments.result,
            ProbeCommand::Clock(arguments) => &arguments.result,
            ProbeCommand::Facts(arguments) => &arguments.result,
        }
    }
}

/// `plumb probe facts`
#[derive(Debug, Args)]
pub(crate) struct FactsArgs {
    /// Show where each fact was read
    #[arg(long)]
    pub(crate) sources: bool,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// `plumb probe clock`
#[derive(Debug, Args)]
pub(crate) struct ClockArgs {
    /// Another host, where `plumb probe network --listen` runs: how far its clock is from this one's
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) peer: Option<String>,
    /// How long each timer and each schedule is watched; there are nine, and p99 at 1,000/s needs more than a second. With a peer, how
    /// long readings are exchanged [default: 1200ms, with a peer 10s]
    #[arg(long, value_name = "TIME", value_parser = watched)]
    pub(crate) duration: Option<Nanos>,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

fn watched(text: &str) -> Result<Nanos, String> {
    let duration = super::parse_nanos(text)?;
    let allowed = Nanos::from_millis(1)..=Nanos::from_secs(3_600);
    if allowed.contains(&duration) { Ok(duration) } else { Err("at least 1ms, at most 1h".to_owned()) }
}
