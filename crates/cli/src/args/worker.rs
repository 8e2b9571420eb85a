//! `plumb worker`, and the flags of runs whose clients workers run.

use super::{parse_bytes, parse_nanos};
use clap::{Args, Subcommand};
use plumb_model::units::{Bytes, Nanos};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The workers of a run, and the door through which they come.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workers on other hosts")]
pub(crate) struct WorkersArgs {
    /// Have so many workers run the clients, instead of this process; each is started with `plumb worker` as this run says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) workers: Option<u32>,
    /// The address on which workers join, a free port where it is 0 [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The file with the token that a worker has to have; written where it is not there [default: a file that goes with the run]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// A certificate that was made before (`plumb worker secrets`), so that workers can be started before the run [default: one for this run]
    #[arg(long, value_name = "FILE", requires = "key_file")]
    pub(crate) cert_file: Option<PathBuf>,
    /// The key of --cert-file
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    pub(crate) key_file: Option<PathBuf>,
    /// Longest wait for all workers to join [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) wait_for_workers: Option<Nanos>,
}

impl WorkersArgs {
    /// True if any flag says how workers join.
    pub(crate) fn says_how_to_join(&self) -> bool {
        let WorkersArgs { workers: _, listen, token_file, cert_file, key_file, wait_for_workers } = self;
        let files = [token_file, cert_file, key_file];
        listen.is_some() || wait_for_workers.is_some() || files.iter().any(|file| file.is_some())
    }
}

/// `plumb worker`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct WorkerArgs {
    /// What to do instead of joining a run.
    #[command(subcommand)]
    pub(crate) command: Option<WorkerCommand>,
    /// The run to join.
    #[command(flatten)]
    pub(crate) join: Option<JoinArgs>,
}

/// The commands of `plumb worker`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Print Kubernetes objects that carry out a scenario with workers on nodes of their own.
    Manifest(ManifestArgs),
    /// Make the token, the certificate and its key for workers that are started unattended.
    Secrets(SecretsArgs),
}

/// The run that a worker joins.
#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// The run's address, as it prints it
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    pub(crate) join: String,
    /// The digest of the run's certificate, as it prints it
    #[arg(long, value_name = "HEX", required_unless_present = "cert_file")]
    pub(crate) cert_sha256: Option<String>,
    /// The run's certificate itself, instead of its digest: a copy of the run's --cert-file
    #[arg(long, value_name = "FILE", conflicts_with = "cert_sha256")]
    pub(crate) cert_file: Option<PathBuf>,
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

/// An address as a run prints it.
fn address(text: &str) -> Result<String, String> {
    let fault =
        || "expected HOST:PORT as the run prints it, an IPv6 address in brackets: [::1]:7587".to_owned();
    let (host, port) = text.rsplit_once(':').ok_or_else(fault)?;
    let is_name = !host.is_empty() && !host.contains(':');
    let is_in_brackets = host.starts_with('[') && host.ends_with(']');
    match port.parse::<u16>() {
        Ok(1..) if is_name || is_in_brackets => Ok(text.to_owned()),
        _ => Err(fault()),
    }
}

/// `plumb worker secrets`
#[derive(Debug, Args)]
pub(crate) struct SecretsArgs {
    /// The directory for token, certificate.pem and key.pem; made where it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

/// `plumb worker manifest`
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// The scenario, a YAML file: a run, or a trial where it has arms
    pub(crate) scenario: PathBuf,
    /// The image that has plumb as its entry point
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// Workers, each on a node of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) workers: u32,
    /// The name of the run's Job and Service; others begin with it
    #[arg(long, value_name = "NAME", default_value = "plumb")]
    pub(crate) name: String,
    /// The namespace
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    /// Whole processors of each pod
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=512))]
    pub(crate) cpus: u32,
    /// Memory of each pod
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = parse_bytes)]
    pub(crate) memory: Bytes,
    /// A PersistentVolumeClaim for the run's directory; without one the text report is all that is left
    #[arg(long, value_name = "CLAIM")]
    pub(crate) results: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_has_a_host_and_a_port_and_ipv6_has_brackets() {
        for whole in ["control:7587", "127.0.0.1:1", "[::1]:7587", "control.example.com:65535"] {
            assert_eq!(address(whole).as_deref(), Ok(whole));
        }
        for faulty in
            ["control", "fd77::10", "::1:7587", ":7587", "control:0", "control:70000", "control:port"]
        {
            assert!(address(faulty).is_err(), "{faulty}");
        }
    }
}
