//! `plumb driver`, and the flags by which a run has another driver than its file says.

use super::result::ResultOutput;
use super::throughput::parse_drivers;
use clap::{Args, Subcommand, ValueEnum};
use plumb_model::scenario::{DriverWords, OneOrMany};

/// The driver that takes the place of the scenario's.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Clients")]
pub(crate) struct DriverArgs {
    /// The client that drives every setup, instead of the scenario's: librdkafka, wire (Plumb's own), java, or several
    #[arg(long, value_name = "DRIVER", value_parser = parse_drivers)]
    pub(crate) driver: Option<OneOrMany<DriverWords>>,
    /// The class path of every Java client, with kafka-clients and what else it needs [default: the jars of Plumb's labs]
    #[arg(long, value_name = "PATH")]
    pub(crate) java_classpath: Option<String>,
}

/// `plumb driver`
#[derive(Debug, Args)]
pub(crate) struct DriverCommandArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: DriverCommand,
}

/// The commands of `plumb driver`.
#[derive(Debug, Subcommand)]
pub(crate) enum DriverCommand {
    /// Try a driver against a broker that knows what it was sent and when: does it tell the truth?
    Check(DriverCheckArgs),
    /// Be a driver: librdkafka behind the protocol, on standard input, as Plumb starts it.
    Librdkafka,
}

/// `plumb driver check`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("program").required(true).args(["command", "java"]))]
pub(crate) struct DriverCheckArgs {
    /// The driver and its arguments, behind `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Try Plumb's own driver for the client for Java
    #[arg(long)]
    pub(crate) java: bool,
    /// Its class path, with kafka-clients and what else it needs [default: the jars of Plumb's labs]
    #[arg(long, value_name = "PATH", requires = "java")]
    pub(crate) java_classpath: Option<String>,
    /// The roles to try
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) role: RoleWord,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
}

/// The roles of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleWord {
    /// One that sends, and then one that receives
    Both,
    /// The first alone
    Producer,
    /// The second alone
    Consumer,
}
