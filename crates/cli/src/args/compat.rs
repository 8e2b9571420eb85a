//! `plumb import` and `plumb compat`.

use super::OutputArgs;
use clap::{Args, Subcommand, ValueEnum};
use plumb_model::plan::Driver;
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

/// The Open Messaging Benchmark that a workload was written for. The same file means another run in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialect {
    /// The Open Messaging Benchmark itself
    Upstream,
    /// Redpanda's fork
    Redpanda,
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

/// `plumb compat kafka-producer-perf-test`
#[derive(Debug, Args)]
pub(crate) struct ProducerPerfArgs {
    /// An existing topic
    #[arg(long)]
    pub(crate) topic: String,
    /// Records to send
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) num_records: u64,
    /// Size of each record's value in bytes
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) record_size: Option<u64>,
    /// Records per second; -1 for as fast as possible
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) throughput: f64,
    /// host:port,...
    #[arg(long, value_name = "HOSTS", alias = "broker-list")]
    pub(crate) bootstrap_server: Option<String>,
    /// Properties of the producer
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., alias = "producer-props")]
    pub(crate) command_property: Vec<String>,
    /// Properties file of the producer
    #[arg(long, value_name = "FILE", alias = "producer.config")]
    pub(crate) command_config: Option<String>,
    /// Milliseconds between progress lines
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) reporting_interval: u64,
    /// A file whose lines are as long as the values are to be; in place of --record-size
    #[arg(long, value_name = "FILE", conflicts_with = "record_size")]
    pub(crate) payload_file: Option<String>,
    /// What ends a record of --payload-file
    #[arg(long, value_name = "TEXT", default_value = "\\n")]
    pub(crate) payload_delimiter: String,
    /// Taken, and of no effect: the run's document has the client's statistics
    #[arg(long)]
    pub(crate) print_metrics: bool,
    /// Of the tool, and refused.
    #[command(flatten)]
    pub(crate) refused: ProducerPerfRefused,
}

/// Flags of kafka-producer-perf-test that cannot be honoured.
#[derive(Debug, Args)]
pub(crate) struct ProducerPerfRefused {
    /// Refused.
    #[arg(long, hide = true)]
    pub(crate) payload_monotonic: bool,
    /// Refused.
    #[arg(long, hide = true)]
    pub(crate) transactional_id: Option<String>,
    /// Refused.
    #[arg(long, hide = true)]
    pub(crate) transaction_duration_ms: Option<u64>,
    /// Refused.
    #[arg(long, hide = true)]
    pub(crate) warmup_records: Option<u64>,
}

/// `plumb compat kafka-consumer-perf-test`
#[derive(Debug, Args)]
pub(crate) struct ConsumerPerfArgs {
    /// An existing topic with records in it
    #[arg(long)]
    pub(crate) topic: Option<String>,
    /// Records to consume at least
    #[arg(long, alias = "messages", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) num_records: u64,
    /// host:port,...
    #[arg(long, value_name = "HOSTS", alias = "broker-list")]
    pub(crate) bootstrap_server: Option<String>,
    /// A property of the consumer; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) command_property: Vec<String>,
    /// Properties file of the consumer
    #[arg(long, value_name = "FILE", alias = "consumer.config")]
    pub(crate) command_config: Option<String>,
    /// Most bytes of one partition in a response
    #[arg(long, value_name = "BYTES", default_value_t = 1_048_576)]
    pub(crate) fetch_size: u64,
    /// Receive buffer of each connection
    #[arg(long, value_name = "BYTES", default_value_t = 2_097_152)]
    pub(crate) socket_buffer_size: u64,
    /// Longest wait for a record in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    /// Print no header
    #[arg(long)]
    pub(crate) hide_header: bool,
    /// Milliseconds between the lines of --show-detailed-stats
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) reporting_interval: u64,
    /// A line for each interval in place of the one of the whole
    #[arg(long)]
    pub(crate) show_detailed_stats: bool,
    /// How times are printed, by Java's letters: y, M, d, H, m, s, S
    #[arg(long, value_name = "PATTERN", default_value = "yyyy-MM-dd HH:mm:ss:SSS")]
    pub(crate) date_format: String,
    /// Taken, and not used: each run reads with a group of its own and leaves the offsets of this one alone
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// Taken, and of no effect: the run's document has the client's statistics
    #[arg(long)]
    pub(crate) print_metrics: bool,
    /// Taken, and of no effect, as in the tool
    #[arg(long, value_name = "N", alias = "num-fetch-threads")]
    pub(crate) threads: Option<u32>,
    /// The topic, where it is a name and no pattern
    #[arg(long, conflicts_with = "topic", alias = "whitelist")]
    pub(crate) include: Option<String>,
    /// Of the tool, and refused.
    #[command(flatten)]
    pub(crate) refused: ConsumerPerfRefused,
}

/// Flags of kafka-consumer-perf-test that cannot be honoured.
#[derive(Debug, Args)]
pub(crate) struct ConsumerPerfRefused {
    /// Refused.
    #[arg(long, hide = true)]
    pub(crate) from_latest: bool,
    /// Refused.
    #[arg(long, hide = true)]
    pub(crate) zookeeper: Option<String>,
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
