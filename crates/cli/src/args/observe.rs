//! `plumb observe`, `plumb diagnose`, `plumb judge`.

use super::result::ResultArgs;
use clap::Args;
use plumb_model::units::{Bytes, Nanos};
use std::path::PathBuf;

/// The path that is watched, and the length of the window.
#[derive(Debug, Clone, Args)]
pub(crate) struct WatchArgs {
    /// How long to watch
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) duration: Nanos,
    /// The cluster (host:port,...): its settings are read, and of the brokers on this host only its own are watched
    #[arg(short, long, visible_alias = "bootstrap-server", value_name = "HOSTS")]
    pub(crate) bootstrap: Option<String>,
    /// Client properties (security) for --bootstrap
    #[arg(long, value_name = "FILE", requires = "bootstrap")]
    pub(crate) config: Option<String>,
    /// Where a broker serves its metrics in Prometheus' format (JMX exporter, Redpanda, MSK), http or https; once for each broker
    #[arg(long, visible_alias = "metrics", value_name = "URL")]
    pub(crate) broker_metrics: Vec<String>,
    /// An application's client statistics: a file or an address with librdkafka's, one JSON object in a line, or the address of a Java
    /// client's metrics (JMX exporter, Micrometer); may be repeated
    #[arg(long, value_name = "PATH|URL")]
    pub(crate) client_statistics: Vec<String>,
    /// The properties that the application gives to its client (linger.ms, fetch.min.bytes, ...), which librdkafka's statistics do not tell;
    /// with the client.id of that client before it, or for all; may be repeated
    #[arg(long, value_name = "[CLIENT=]FILE", requires = "client_statistics")]
    pub(crate) client_properties: Vec<String>,
    /// A process of this host to look into: its threads, its JVM, its CPU profile; may be repeated [default: the brokers of this host]
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// Do not attach to JVMs, and take no CPU profile of any process
    #[arg(long)]
    pub(crate) no_attach: bool,
    /// Trace the kernel's scheduler, fsync, journal, block devices and network drops as well (root)
    #[arg(long)]
    pub(crate) kernel: bool,
    /// Measure after the window what the log device (64 MB at most, in a file without a name in the log directory) and memory can do at most;
    /// a broker under load feels it for some seconds
    #[arg(long)]
    pub(crate) measure_limits: bool,
}

/// `plumb observe`
#[derive(Debug, Args)]
pub(crate) struct ObserveArgs {
    /// The path that is watched.
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// `plumb diagnose`
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArgs {
    /// The path that is watched.
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    /// Send a load of Plumb's own meanwhile, on a topic of its own, to see what a client waits for (needs --bootstrap)
    #[arg(long, requires = "bootstrap")]
    pub(crate) probe_load: bool,
    /// Messages per second of --probe-load
    #[arg(long, value_name = "RATE", default_value = "50", requires = "probe_load", value_parser = super::parse_rate)]
    pub(crate) rate: f64,
    /// Bytes of a message of --probe-load
    #[arg(long, value_name = "SIZE", default_value = "1KB", requires = "probe_load")]
    pub(crate) size: Bytes,
    /// Prove what was found: change the one setting on topics of Plumb's own, in turns with the setting as it is; where the cluster is a lab, a
    /// broker's setting on two more labs (needs --bootstrap)
    #[arg(long, requires = "bootstrap")]
    pub(crate) confirm: bool,
    /// Do what --confirm lists without asking first
    #[arg(long, requires = "confirm")]
    pub(crate) yes: bool,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// `plumb judge`
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    /// A watched path (of observe or diagnose): its directory, or its document
    pub(crate) path: PathBuf,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}
