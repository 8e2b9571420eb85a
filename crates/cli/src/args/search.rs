//! `plumb search`: the best settings for a scenario, proven.

use super::result::ResultOutput;
use super::{ClusterArgs, parse_nanos};
use clap::{Args, ValueEnum};
use plumb_model::scenario::GoalWords;
use plumb_model::settings_search::Objective;
use plumb_model::units::Nanos;
use std::path::PathBuf;

/// What is made as good as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ObjectiveWord {
    /// The least latency at the load's rate
    Latency,
    /// The least CPU time per message, under the goal
    Cpu,
    /// The highest rate: as fast as possible, where the load says so
    Rate,
}

impl From<ObjectiveWord> for Objective {
    fn from(word: ObjectiveWord) -> Self {
        match word {
            ObjectiveWord::Latency => Objective::Latency,
            ObjectiveWord::Cpu => Objective::Cpu,
            ObjectiveWord::Rate => Objective::Rate,
        }
    }
}

/// `plumb search`
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The scenario, a YAML file: its first setup is what you have, others are tried as they are
    #[arg(required_unless_present = "resume")]
    pub(crate) scenario: Option<PathBuf>,
    /// Go on with a search that was stopped or killed, in its directory
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = [
            "scenario", "objective", "goal", "budget", "block", "settings", "plan", "seed", "bootstrap", "config", "out", "dry_run",
            "trial_only"
        ]
    )]
    pub(crate) resume: Option<PathBuf>,
    /// What to make as good as possible [default: latency; cpu where there is a goal; rate where the load is as fast as possible]
    #[arg(long, value_enum)]
    pub(crate) objective: Option<ObjectiveWord>,
    /// A latency that has to hold: 'p99<20ms', 'acknowledge p99.9<50ms'
    #[arg(long, value_name = "GOAL")]
    pub(crate) goal: Option<GoalWords>,
    /// Blocks of the search; the trial that proves its result has its own [default: 40]
    #[arg(long, value_name = "N")]
    pub(crate) budget: Option<u32>,
    /// Length of each block [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub(crate) block: Option<Nanos>,
    /// The settings that may change: producer, consumer, topic, or single ones such as producer.linger.ms [default: all]
    #[arg(long, value_name = "SETTINGS", value_delimiter = ',')]
    pub(crate) settings: Vec<String>,
    /// Changes of this host that may be made, a plan of plumb tune plan: each is tried with and without
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// Pairs of the trial that proves the result
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(8..=400))]
    pub(crate) pairs: u32,
    /// Search, and print the scenario of the trial instead of running it: plumb trial run proves the result another day
    #[arg(long)]
    pub(crate) trial_only: bool,
    /// Seed of everything random [default: drawn for each search]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The cluster.
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
    /// Directory for the search, its proof and its page [default: runs/TIME-search]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print what would be searched, each value with its origin, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
