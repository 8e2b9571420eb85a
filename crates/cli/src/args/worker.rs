//! `plumb worker`, and the flags of runs whose clients workers run.

use super::parse_nanos;
use clap::Args;
use plumb_model::units::Nanos;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The workers of a run, and the door through which they come.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Workers on other hosts")]
pub(crate) struct WorkersArgs {
    /// Have so many workers run the clients, instead of this process; each is started with `plumb worker` as this run says
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<u32>,
    /// The address on which workers join, a free port where it is 0 [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The file with the token that a worker has to have; written where it is not there [default: a file that goes with the run]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Longest wait for all workers to join [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) wait_for_workers: Option<Nanos>,
}

/// `plumb worker`
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The run's address, as it prints it
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) join: String,
    /// The digest of the run's certificate, as it prints it
    #[arg(long, value_name = "HEX")]
    pub(crate) cert_sha256: String,
    /// The file with the run's token, copied from the run's host
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
    /// The worker's name, its own in the run [default: this host's name and the process id]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Client properties (security) of this host: they come before those that the run sends
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<String>,
    /// Try to join for so long [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) within: Option<Nanos>,
}
