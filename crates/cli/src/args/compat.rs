//! `plumb import` and `plumb compat`.

use super::OutputArgs;
use clap::{Args, Subcommand};
use plumb_model::plan::Driver;
use plumb_scenario::omb::Dialect;
use plumb_scenario::perf_test::{ConsumerPerfArgs, ProducerPerfArgs};
use std::path::PathBuf;

/// `plumb import`
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The files to import.
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
}

/// The kinds of files that can be imported.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// Workload and driver of the Open Messaging Benchmark, as a scenario on standard output
    Omb(ImportOmbArgs),
}

/// `plumb import omb`
#[derive(Debug, Args)]
pub(crate) struct ImportOmbArgs {
    /// The workload, a YAML file
    pub(crate) workload: PathBuf,
    /// The driver, a YAML file
    #[arg(long, value_name = "FILE")]
    pub(crate) driver: PathBuf,
    /// Which benchmark the workload was written for [default: as its keys tell]
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<Dialect>,
    /// For producerRate 0: the latency that has to hold, such as p99=20ms
    #[arg(long, value_name = "LATENCY", value_parser = parse_goal)]
    pub(crate) goal: Option<String>,
    /// Put several topics together in one
    #[arg(long)]
    pub(crate) merge_topics: bool,
    /// The cluster to use instead of the driver's: host:port,...
    #[arg(short, long, visible_alias = "bootstrap-server", value_name = "HOSTS")]
    pub(crate) bootstrap: Option<String>,
    /// Client properties file for what the driver says of security; written if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) client_config: Option<String>,
    /// What drives the load: wire (Plumb's own client), or librdkafka [default: wire where it takes the driver file's properties]
    #[arg(long, value_name = "CLIENT", value_parser = parse_driver)]
    pub(crate) client: Option<Driver>,
    /// Run it at once instead of printing the scenario
    #[arg(long)]
    pub(crate) run: bool,
    /// Output.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `plumb compat`
#[derive(Debug, Args)]
pub(crate) struct CompatArgs {
    /// The client that drives the load: wire (Plumb's own), or librdkafka
    #[arg(long, value_name = "DRIVER", default_value = "wire", value_parser = parse_driver)]
    pub(crate) driver: Driver,
    /// Directory for the run's document and report [default: runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The tool whose flags follow.
    #[command(subcommand)]
    pub(crate) tool: Tool,
}

/// A tool whose flags and lines Plumb knows.
#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// Kafka's producer test: its flags, its lines, and what they leave out on standard error
    KafkaProducerPerfTest(ProducerPerfArgs),
    /// Kafka's consumer test
    KafkaConsumerPerfTest(ConsumerPerfArgs),
}

fn parse_driver(text: &str) -> Result<Driver, String> {
    match text {
        "librdkafka" => Ok(Driver::Librdkafka),
        "wire" => Ok(Driver::Wire),
        _ => Err("expected librdkafka or wire".to_owned()),
    }
}

/// Keeps the text of a goal that can be read.
fn parse_goal(text: &str) -> Result<String, String> {
    text.parse::<plumb_model::scenario::GoalWords>().map(|_| text.to_owned())
}
