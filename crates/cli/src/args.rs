//! The command line, as data.

mod examples;
mod throughput;

pub(crate) use examples::command;
pub(crate) use throughput::{ModeWord, ThroughputArgs};
pub(crate) use worker::WorkersArgs;

mod compat;

pub(crate) use compat::{CompatArgs, ImportArgs, ImportFrom, ImportOmbArgs, Tool};

pub(crate) mod driver;
pub(crate) mod observe;
pub(crate) mod probe;
pub(crate) mod result;
pub(crate) mod search;
pub(crate) mod size;
pub(crate) mod trial;
pub(crate) mod tune;
pub(crate) mod worker;

use clap::{Args, Parser, Subcommand, ValueEnum};
use plumb_model::condition::Condition;
use plumb_model::scenario::{DriverWords, OneOrMany, Scalar};
use plumb_model::start_setting::DEFAULT_HEAP;
use plumb_model::units::{Bytes, Nanos};
use std::path::PathBuf;

/// Finds how fast an event-ingestion path is, says what bounds it, and proves what changes it.
#[derive(Debug, Parser)]
#[command(
    name = "plumb",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 done; 1 a finding, or the run is invalid; 2 usage; 3 this machine; 4 the cluster; 5 a bug in plumb."
)]
pub(crate) struct Arguments {
    /// When to colour what is printed
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Every command"
    )]
    pub(crate) color: ColorWord,
    /// Leave out progress and remarks on standard error; results, warnings and errors stay
    #[arg(long, short, global = true, help_heading = "Every command")]
    pub(crate) quiet: bool,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The use of colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorWord {
    /// On a terminal, unless NO_COLOR, CLICOLOR_FORCE or CLICOLOR say something else
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A real broker on this machine, the latency experiment, a report.
    Demo(DemoArgs),
    /// Run any experiment from a scenario file.
    Run(RunArgs),
    /// Measure latency at a rate, from flags alone.
    Latency(LatencyArgs),
    /// Find how much goes through, or the highest rate that holds a latency goal; sweeps, from flags alone.
    Throughput(Box<ThroughputArgs>),
    /// Another tool's files as a scenario.
    Import(ImportArgs),
    /// Another tool's flags and lines, with Plumb underneath.
    Compat(Box<CompatArgs>),
    /// Real Kafka brokers to play with, on this machine.
    Lab(LabArgs),
    /// What a running path says of itself: brokers, clients, threads, CPU profile, kernel, host. Without load.
    Observe(observe::ObserveArgs),
    /// Watch a running path and name what bounds it; --confirm proves it.
    Diagnose(Box<observe::DiagnoseArgs>),
    /// Find what bounds a path that was watched earlier, here or on another machine.
    Judge(observe::JudgeArgs),
    /// This host against what an ingestion host needs: each setting with the counters that show whether it matters.
    Check(Box<tune::CheckArgs>),
    /// Change this host's settings so that every change can be put back, whatever happens.
    Tune(Box<tune::TuneArgs>),
    /// How many brokers a target load needs: physics and plan.
    Size(Box<size::SizeArgs>),
    /// What one resource of this host can do at most.
    Probe(Box<probe::ProbeArgs>),
    /// Find the settings that serve a scenario best, and prove them against what you have.
    Search(Box<search::SearchArgs>),
    /// Prove that a change helped: arms held against each other, with a verdict.
    Trial(Box<trial::TrialArgs>),
    /// Clients that are programs of their own: try one, or be one.
    Driver(driver::DriverCommandArgs),
    /// Run clients for a run on another host.
    Worker(worker::WorkerArgs),
    /// What two single runs, or two watched paths, show side by side, and what they cannot.
    Compare(CompareArgs),
    /// Show a finished run again.
    Report(ReportArgs),
    /// What a finding means, how it was found, what to do.
    Explain(ExplainArgs),
    /// What a shell needs to complete plumb's commands and flags, on standard output.
    Completions(CompletionsArgs),
    /// Plumb's manual pages as files.
    Man(ManArgs),
}

/// The format of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Text,
    /// The whole document, for programs.
    Json,
    /// One row a step.
    Csv,
}

/// The conditions on which a run counts as failed beyond its validity, and the file in which continuous integration reads of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConditionArgs {
    /// End with exit code 1 where this holds for any setup, or cannot be told: 'p99>20ms', 'acknowledge mean>=5ms',
    /// 'achieved<1000', 'lost>0'; may be repeated
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
    /// Write the verdict and each condition as JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// The cluster that takes the place of the scenario's.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArgs {
    /// The cluster to use instead of the scenario's: host:port,...
    #[arg(short, long, visible_alias = "bootstrap-server", value_name = "HOSTS")]
    pub(crate) bootstrap: Option<String>,
    /// Client properties (security) for --bootstrap
    #[arg(long, value_name = "FILE", requires = "bootstrap")]
    pub(crate) config: Option<String>,
}

/// The place for a run's document, and its format.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArgs {
    /// What to print on standard output; of a trial json is its result, and csv has every pair
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: OutputFormat,
    /// Directory for the run's document and report [default: runs/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print what would be done, each value with its origin, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The conditions on which the run fails.
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
}

/// `plumb demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Output.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `plumb run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scenario, a YAML file
    #[arg(required_unless_present = "resume")]
    pub(crate) scenario: Option<PathBuf>,
    /// Go on with a run that was stopped or killed, in its directory
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["scenario", "quick", "bootstrap", "config", "driver", "java_classpath", "out", "dry_run", "workers"]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// A tenth of each count and duration
    #[arg(long)]
    pub(crate) quick: bool,
    /// The cluster.
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The driver.
    #[command(flatten)]
    pub(crate) driver: driver::DriverArgs,
    /// Output.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Workers.
    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
}

/// `plumb latency`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("cluster").required(true).args(["lab", "bootstrap"]))]
#[command(group = clap::ArgGroup::new("length").args(["count", "duration"]))]
pub(crate) struct LatencyArgs {
    /// A real broker on this machine, for this run
    #[arg(long)]
    pub(crate) lab: bool,
    /// The cluster: host:port,...
    #[arg(short, long, visible_alias = "bootstrap-server", value_name = "HOSTS")]
    pub(crate) bootstrap: Option<String>,
    /// Client properties (security), as for the Java client or librdkafka
    #[arg(long, value_name = "FILE", requires = "bootstrap")]
    pub(crate) config: Option<String>,
    /// Where a broker serves its metrics in Prometheus' format (JMX exporter), http or https; once for each broker
    #[arg(long, value_name = "URL", requires = "bootstrap")]
    pub(crate) metrics: Vec<String>,
    /// A client property under test; `producer.` or `consumer.` in front limits it to one side
    #[arg(short = 'X', value_name = "KEY=VALUE")]
    pub(crate) property: Vec<String>,
    /// The client that drives it: librdkafka, wire (Plumb's own), java, or several [default: librdkafka]
    #[arg(long, value_name = "DRIVER", value_parser = throughput::parse_drivers)]
    pub(crate) driver: Option<OneOrMany<DriverWords>>,
    /// The class path of a Java client, with kafka-clients and what else it needs [default: the jars of Plumb's labs]
    #[arg(long, value_name = "PATH", requires = "driver")]
    pub(crate) java_classpath: Option<String>,
    /// Messages per second: 5000, 10k, 1.6M/s
    #[arg(long, allow_negative_numbers = true, value_parser = parse_rate)]
    pub(crate) rate: f64,
    /// Size of each value
    #[arg(long, default_value = "1KiB", value_parser = parse_bytes)]
    pub(crate) size: Bytes,
    /// Which acknowledgement the producers wait for: 0, 1 or all [default: all]
    #[arg(long, value_name = "ACKS", value_parser = throughput::parse_one_acks)]
    pub(crate) acks: Option<Scalar>,
    /// Measure so many messages
    #[arg(long)]
    pub(crate) count: Option<u64>,
    /// Measure for so long [default: 30s]
    #[arg(long, value_parser = parse_nanos)]
    pub(crate) duration: Option<Nanos>,
    /// Load before the measured part
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_nanos)]
    pub(crate) warm_up: Nanos,
    /// Producer clients
    #[arg(long, default_value_t = 1)]
    pub(crate) producers: u32,
    /// Consumer clients, in one group
    #[arg(long, default_value_t = 1)]
    pub(crate) consumers: u32,
    /// Partitions of the topic that is made for the run
    #[arg(long, conflicts_with = "topic")]
    pub(crate) partitions: Option<u32>,
    /// Replicas of the topic that is made for the run
    #[arg(long, conflicts_with = "topic")]
    pub(crate) replication: Option<u32>,
    /// An existing topic to use as it is; it is never altered or deleted
    #[arg(long)]
    pub(crate) topic: Option<String>,
    /// Unacknowledged messages that a producer may have; a send beyond it waits
    #[arg(long, value_name = "N")]
    pub(crate) in_flight: Option<u32>,
    /// Blocks in which it is measured, each with clients and a warm-up of its own: the spread between them is what intervals rest on
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Seed of everything random, such as the order of blocks [default: the same for every run; of a trial drawn anew]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Output.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `plumb lab`
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// The commands on labs.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start brokers and leave them running
    Up(LabUpArgs),
    /// Show the labs that run
    Status(LabStatusArgs),
    /// Stop them and remove their data
    Down(LabDownArgs),
    /// A small broker in memory for other programs' clients: it counts what it gets, and misbehaves as told
    #[command(long_about = SINK)]
    Sink(LabSinkArgs),
}

/// `plumb lab up`
#[derive(Debug, Args)]
pub(crate) struct LabUpArgs {
    /// Number of brokers
    #[arg(long, default_value_t = 1)]
    pub(crate) brokers: u32,
    /// Clients use TLS
    #[arg(long)]
    pub(crate) tls: bool,
    /// How brokers replicate
    #[arg(long, value_enum, value_name = "PROTOCOL", default_value_t = InterBrokerWord::Plaintext)]
    pub(crate) inter_broker: InterBrokerWord,
    /// Clients log in
    #[arg(long, value_enum, value_name = "MECHANISM")]
    pub(crate) sasl: Option<SaslMechanism>,
    /// Existing directory for the brokers' data; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Vec<PathBuf>,
    /// A broker property; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) broker_property: Vec<String>,
    /// A flag for the brokers' JVMs; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    pub(crate) jvm_flag: Vec<String>,
    /// Heap of each broker
    #[arg(long, default_value = DEFAULT_HEAP)]
    pub(crate) heap: String,
    /// An unpacked Kafka to use instead of the one that is fetched
    #[arg(long, value_name = "DIR")]
    pub(crate) kafka_home: Option<PathBuf>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// The protocol between the brokers of a lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InterBrokerWord {
    /// In the clear
    Plaintext,
    /// Over TLS
    Tls,
}

/// The mechanism by which clients of a lab log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SaslMechanism {
    /// SCRAM-SHA-256
    Scram,
}

/// `plumb lab down`
#[derive(Debug, Args)]
pub(crate) struct LabDownArgs {
    /// Labs to stop, as `plumb lab status` names them; without any, all that stay
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// `plumb lab sink`
#[derive(Debug, Args)]
pub(crate) struct LabSinkArgs {
    /// Port on 127.0.0.1; without it the system chooses a free one
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// A topic that is there from the start; others appear when a client asks for them
    #[arg(long, value_name = "NAME")]
    pub(crate) topic: Option<String>,
    /// Partitions of each topic
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    pub(crate) partitions: i32,
    /// Newest bytes of each partition that stay, to be consumed; 0: nothing stays
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_bytes)]
    pub(crate) keep: Bytes,
    /// Every answer to a produce or fetch request comes this much later
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) delay: Option<Nanos>,
    /// Every Nth record of --topic is acknowledged and not stored: a client that counts must miss it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) drop_every: Option<u64>,
    /// Every Nth record of --topic is stored twice
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) duplicate_every: Option<u64>,
    /// Ends by itself after this time, as by Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) duration: Option<Nanos>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// The properties of the sink.
const SINK: &str = "\
A small broker in memory for other programs' clients: it counts what it gets, and misbehaves as told

It speaks the Kafka protocol in the clear on 127.0.0.1, and is no Kafka: one node, no replication, no transactions, no login. With it a client's \
     own counts and figures can be held against a truth. It prints its address at once and its counts when it ends, by Ctrl-C or --duration.";

/// `plumb lab status`
#[derive(Debug, Args)]
pub(crate) struct LabStatusArgs {
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: OutputFormat,
}

/// The format of `plumb report`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// The whole document, for programs.
    Json,
    /// One row a step, and of a trial one a pair.
    Csv,
    /// A step as a result file of the Open Messaging Benchmark.
    Omb,
}

/// `plumb report`
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The directory of a run, a probe, a sizing or a trial on a fleet, or the document in it
    pub(crate) run: PathBuf,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ReportFormat,
    /// Minimum and p75 of each setup too, as text
    #[arg(long)]
    pub(crate) all_figures: bool,
    /// With --output omb: write a file for each step into this directory, named as the benchmark names them
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write the page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the winner's settings into this directory, as files to install
    #[arg(long, value_name = "DIR")]
    pub(crate) install: Option<PathBuf>,
    /// The conditions on which the run fails.
    #[command(flatten)]
    pub(crate) conditions: ConditionArgs,
}

/// `plumb compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The first: a run's directory or run.json, RUN#STEP for one step of it, by name or by number (RUN#1); a search's directory; or a watched path's directory or path.json
    #[arg(value_name = "RUN[#STEP]|SEARCH|PATH")]
    pub(crate) first: String,
    /// The second, of the same kind
    #[arg(value_name = "RUN[#STEP]|SEARCH|PATH")]
    pub(crate) second: String,
    /// Also write the page to this file; of watched paths
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: CompareOutput,
}

/// The format of `plumb compare` and `plumb trial power`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareOutput {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// `plumb explain`
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A finding's id; without it, all are listed
    pub(crate) finding: Option<String>,
}

/// `plumb completions`
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// `plumb man`
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for the pages, one for each command; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    plumb_model::units::per_second(text).map_err(|error| error.to_string())
}

fn parse_bytes(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|error: plumb_model::units::UnitError| error.to_string())
}

fn parse_nanos(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: plumb_model::units::UnitError| error.to_string())
}
