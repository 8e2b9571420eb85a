//! `plumb trial`: prove that a change helped.

mod fleet;

pub(crate) use fleet::{FleetArgs, FleetFailWord, FleetOutput, GoodWord, IntervalWord, Sampled, StratumWord};

use super::driver::DriverArgs;
use super::{ClusterArgs, CompareOutput, LatencyArgs, OutputArgs, WorkersArgs};
use clap::{Args, Subcommand, ValueEnum};
use plumb_model::scenario::MarginWords;
use plumb_model::verdict::Verdict;
use std::path::PathBuf;

/// `plumb trial`
#[derive(Debug, Args)]
pub(crate) struct TrialArgs {
    /// The kind of trial.
    #[command(subcommand)]
    pub(crate) command: TrialCommand,
}

/// The kinds of trials.
#[derive(Debug, Subcommand)]
pub(crate) enum TrialCommand {
    /// Arms that differ in something, in interleaved pairs on one path; a verdict on each metric
    Run(Box<TrialRunArgs>),
    /// Two or more settings of the clients held against each other at a rate, from flags alone
    Latency(Box<TrialLatencyArgs>),
    /// What a trial on this setup could show, and how many pairs it takes
    Power(Box<TrialPowerArgs>),
    /// Control and test groups of servers, before and after a change, from their recorded figures
    Fleet(Box<FleetArgs>),
}

/// `plumb trial run`
#[derive(Debug, Args)]
pub(crate) struct TrialRunArgs {
    /// The scenario with its arms, a YAML file
    #[arg(required_unless_present = "resume")]
    pub(crate) scenario: Option<PathBuf>,
    /// Go on with a trial that was stopped or killed, in its directory; what it left changed on this host is put back first
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = [
            "scenario", "pairs", "margin", "level", "primary", "until_decided", "max_pairs", "restart_every", "accept",
            "seed", "quick", "anyway", "bootstrap", "config", "driver", "java_classpath", "out", "dry_run", "workers"
        ]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// The comparison of the arms.
    #[command(flatten)]
    pub(crate) judged: JudgedArgs,
    /// Seed of everything random, such as the order of blocks [default: drawn for each trial]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A tenth of each block's count or duration, and 8 pairs unless --pairs says how many: a look, hardly a proof
    #[arg(long)]
    pub(crate) quick: bool,
    /// The cluster.
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// The driver.
    #[command(flatten)]
    pub(crate) driver: DriverArgs,
    /// Output.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Workers.
    #[command(flatten)]
    pub(crate) workers: WorkersArgs,
}

/// The comparison of the arms, of every trial on one path.
#[derive(Debug, Args)]
pub(crate) struct JudgedArgs {
    /// Rounds in which every arm has a block [default: 12]
    #[arg(long, value_name = "N", conflicts_with_all = ["until_decided", "max_pairs"])]
    pub(crate) pairs: Option<u32>,
    /// Differences up to this count as none [default: 3%]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) margin: Option<MarginWords>,
    /// Confidence level of every interval [default: 0.95]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Option<f64>,
    /// The metric that decides [default: end_to_end.p99, where blocks are long enough for it]
    #[arg(long, value_name = "METRIC")]
    pub(crate) primary: Option<String>,
    /// Stop as soon as it is decided, by a test that allows for looking after every pair
    #[arg(long)]
    pub(crate) until_decided: bool,
    /// The most rounds with --until-decided [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) max_pairs: Option<u32>,
    /// Start the lab's brokers anew after so many rounds; 0: never [default: six starts where arms differ in them]
    #[arg(long, value_name = "N")]
    pub(crate) restart_every: Option<u32>,
    /// Verdicts with which the command ends with exit code 0 [default: better,equivalent]
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',')]
    pub(crate) accept: Vec<VerdictWord>,
    /// What alone ends the command with exit code 1: worse (than what it is held against), undecided, invalid (a run whose figures are not
    /// fit for use) [default: whatever --accept does not name, and invalid]
    #[arg(long, value_name = "WHAT", value_delimiter = ',', conflicts_with = "accept")]
    pub(crate) fail_on: Vec<FailWord>,
    /// Run it although an earlier trial on this very setup says that so few pairs cannot show anything
    #[arg(long)]
    pub(crate) anyway: bool,
}

/// `plumb trial latency`
#[derive(Debug, Args)]
pub(crate) struct TrialLatencyArgs {
    /// Path and load, and the reference's properties as -X.
    #[command(flatten)]
    pub(crate) latency: LatencyArgs,
    /// What another arm has instead, KEY=VALUE, or several of them with spaces between; once for each arm
    #[arg(long, value_name = "KEY=VALUE", required = true)]
    pub(crate) vs: Vec<String>,
    /// The comparison of the arms.
    #[command(flatten)]
    pub(crate) judged: JudgedArgs,
}

/// `plumb trial power`
#[derive(Debug, Args)]
pub(crate) struct TrialPowerArgs {
    /// The scenario with its arms, a YAML file; only the reference is measured, against itself
    #[arg(required_unless_present = "from")]
    pub(crate) scenario: Option<PathBuf>,
    /// Measure nothing: take the equal arms of an earlier trial
    #[arg(long, value_name = "RUN", conflicts_with_all = ["scenario", "pilot", "bootstrap", "config", "out"])]
    pub(crate) from: Option<PathBuf>,
    /// Pairs of equal arms to measure [default: 8; six starts of them where pairs share a start of the brokers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) pilot: Option<u32>,
    /// The difference that is to be seen, such as 5%
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) detect: Option<MarginWords>,
    /// Differences up to this count as none [default: the scenario's]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) margin: Option<MarginWords>,
    /// Confidence level of the trial that is meant [default: the scenario's]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Option<f64>,
    /// Show no design with more pairs
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) pairs_max: u32,
    /// The cluster.
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: CompareOutput,
    /// Directory for the pilot's document and report [default: runs/TIME-NAME-pilot]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A result that may end a trial with exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailWord {
    /// An arm is worse than what it is held against
    Worse,
    /// The figures of the run are not fit for use
    Invalid,
    /// Of an arm neither a difference nor its absence is shown
    Undecided,
}

/// A verdict as a flag names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictWord {
    /// Better than what it is held against
    Better,
    /// Any difference is smaller than the margin
    Equivalent,
    /// Neither a difference nor its absence is shown
    Undecided,
    /// Worse
    Worse,
}

impl From<VerdictWord> for Verdict {
    fn from(word: VerdictWord) -> Self {
        match word {
            VerdictWord::Better => Verdict::Better,
            VerdictWord::Equivalent => Verdict::Equivalent,
            VerdictWord::Undecided => Verdict::Undecided,
            VerdictWord::Worse => Verdict::Worse,
        }
    }
}

/// A confidence level. The interval of equivalence has the level 2 x level - 1, which has to be one; and beyond 99.9 % neither samples nor
/// digits of a figure carry it.
fn level(text: &str) -> Result<f64, String> {
    let in_range = |level: &f64| *level > 0.5 && *level <= 0.999;
    let read = text.parse().ok().filter(in_range);
    read.ok_or_else(|| "a confidence level is above 0.5 and at most 0.999, such as 0.95".to_owned())
}
