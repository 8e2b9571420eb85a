//! `plumb check` and `plumb tune`.

use super::result::{ResultArgs, ResultOutput};
use clap::{Args, Subcommand, ValueEnum};
use plumb_model::check::Role;
use plumb_model::units::Nanos;
use std::path::PathBuf;

/// The role of a host, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum RoleWord {
    /// It runs Kafka-protocol brokers
    #[default]
    KafkaBroker,
    /// It takes requests from outside: many short connections
    WebEdge,
    /// It sends load and measures
    LoadGenerator,
}

impl RoleWord {
    pub(crate) fn role(self) -> Role {
        match self {
            RoleWord::KafkaBroker => Role::KafkaBroker,
            RoleWord::WebEdge => Role::WebEdge,
            RoleWord::LoadGenerator => Role::LoadGenerator,
        }
    }
}

/// The use of processors that a plan aims at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CpuMode {
    /// Every processor serves interrupts and the application
    #[default]
    Shared,
    /// Some processors near the network interface serve interrupts alone, the application has the rest
    Dedicated,
}

/// The host that is looked at.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostArgs {
    /// What the host is for
    #[arg(long, value_enum, default_value_t)]
    pub(crate) role: RoleWord,
    /// How long to watch the counters that show whether a setting matters
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) window: Nanos,
    /// A process that the host is for; may be repeated; brokers are looked for only where none is named
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// Trace the kernel for the reasons for which it drops packets (root)
    #[arg(long)]
    pub(crate) kernel: bool,
    /// Only these tunables; `plumb check --list` has their names, and `profile` stands for what --profile has
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Whether interrupts have processors of their own
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cpus: CpuMode,
    /// The cluster (host:port,...) whose brokers' and topics' own settings are looked at too
    #[arg(short, long, visible_alias = "bootstrap-server", value_name = "HOSTS")]
    pub(crate) bootstrap: Option<String>,
    /// Client properties (security) for --bootstrap
    #[arg(long, value_name = "FILE", requires = "bootstrap")]
    pub(crate) config: Option<String>,
    /// The management controller.
    #[command(flatten)]
    pub(crate) bmc: BmcArgs,
}

/// The management controller of the host that is looked at.
#[derive(Debug, Clone, Args)]
pub(crate) struct BmcArgs {
    /// The host's management controller (https://HOST), to read the firmware's settings from it by Redfish; nothing is changed there. Of
    /// several systems name the one that is this host: https://HOST/redfish/v1/Systems/ID
    #[arg(long, value_name = "URL", requires = "bmc_credentials")]
    pub(crate) bmc: Option<String>,
    /// The login for --bmc: a file of one line, USER:PASSWORD, that other users cannot read
    #[arg(long, value_name = "FILE", requires = "bmc")]
    pub(crate) bmc_credentials: Option<PathBuf>,
    /// The SHA-256 of the controller's certificate, where no authority of this system has signed it
    #[arg(long, value_name = "HEX", requires = "bmc")]
    pub(crate) bmc_cert_sha256: Option<String>,
}

/// `plumb check`
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Hold documents of several hosts against each other instead of looking at this one: what `plumb check --output json` printed, or
    /// directories of --out. They are what they are: nothing of how a host is looked at goes with them
    #[arg(
        value_name = "DOCUMENT",
        conflicts_with_all = [
            "role", "window", "pid", "kernel", "only", "cpus", "bootstrap", "config", "bmc", "bmc_credentials", "bmc_cert_sha256",
            "label", "list", "all", "out", "html",
        ]
    )]
    pub(crate) documents: Vec<PathBuf>,
    /// The host.
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// A name for this host in its document, to tell it from others
    #[arg(long, value_name = "NAME")]
    pub(crate) label: Option<String>,
    /// List the tunables and look at nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Also show settings that are as recommended, and those that do not apply
    #[arg(long)]
    pub(crate) all: bool,
    /// The place for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// `plumb tune`
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: TuneCommand,
}

/// The commands of `plumb tune`.
#[derive(Debug, Subcommand)]
pub(crate) enum TuneCommand {
    /// What to change on this host, in which order, with the way back of each change. Changes nothing.
    Plan(PlanArgs),
    /// Make a plan's changes; each is written down first, and all can be put back.
    Apply(ApplyArgs),
    /// Prove a plan under a load, and find the least of it that keeps the gain: apply and revert alternate as arms of a trial.
    Trial(TuneTrialArgs),
    /// Keep changes that were made with --confirm-within.
    Confirm(JournalArgs),
    /// Put changes back as they were, the last one first. What somebody else has changed since is left and told.
    Revert(RevertArgs),
    /// What is changed on this host now, and what waits to be confirmed.
    Status(ShowArgs),
    /// All changes that plans made here, what became of them and what was not put back; and what trials have left.
    History(ShowArgs),
    /// A plan as files that make it last: sysctl.d, udev, systemd, TuneD, a shell script, an Ansible role.
    Export(ExportArgs),
    /// The guard of `plumb tune apply --confirm-within`.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// `plumb tune plan`
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The host.
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// Plan what is usually recommended too where no counter shows that it matters here
    #[arg(long)]
    pub(crate) without_evidence: bool,
    /// Settings of your own, as YAML (name: value), beside what is found; they go before it
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Also write the plan, as JSON, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
}

/// `plumb tune apply`
#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The plan, as `plumb tune plan` wrote it
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Put everything back unless `plumb tune confirm` comes within this time after the last change
    #[arg(long, value_name = "TIME")]
    pub(crate) confirm_within: Option<Nanos>,
    /// Also put everything back when this peer (host:port) takes no connection any more
    #[arg(long, value_name = "PEER", requires = "confirm_within")]
    pub(crate) keep_reachable: Option<String>,
    /// Make changes that can take down the only way to this host, or lose data, all the same
    #[arg(long)]
    pub(crate) force: bool,
    /// Client properties (security) for the brokers that the plan names
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<String>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
}

/// `plumb tune trial`
#[derive(Debug, Args)]
pub(crate) struct TuneTrialArgs {
    /// The plan, as `plumb tune plan` wrote it
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The load under which it is proven: a scenario without arms
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) load: PathBuf,
    /// The cluster.
    #[command(flatten)]
    pub(crate) cluster: super::ClusterArgs,
    /// Also try changes that can take down the only way to this host
    #[arg(long)]
    pub(crate) force: bool,
    /// The directory for the trials and the proposed plan [default: a new one below runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The comparison of the arms.
    #[command(flatten)]
    pub(crate) judged: super::trial::JudgedArgs,
}

/// A journal by its name.
#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    /// The changes [default: the last that were made]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
}

/// `plumb tune revert`
#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// The changes.
    #[command(flatten)]
    pub(crate) journal: JournalArgs,
    /// Client properties (security) for the brokers among the changes
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<String>,
}

/// `plumb tune status`, `plumb tune history`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) output: ResultOutput,
}

/// `plumb tune export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The plan, as `plumb tune plan` wrote it
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The directory for the files; it must not be there yet, or be empty
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Groups of hosts (a CSV with server,group), as `plumb trial fleet --assign` draws them: they become the inventory of the Ansible role
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,
    /// Let the Ansible role make changes that can take down the only way to a host, or lose data: `plumb tune apply` refuses them there
    /// otherwise
    #[arg(long)]
    pub(crate) force: bool,
}

/// `plumb tune guard`
#[derive(Debug, Args)]
pub(crate) struct GuardArgs {
    /// The changes
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The time in which they have to be confirmed
    #[arg(long, value_name = "TIME")]
    pub(crate) within: Nanos,
    /// The process whose end is the session's end, and the tick of its start
    #[arg(long, num_args = 2, value_names = ["PID", "TICK"])]
    pub(crate) session: Vec<u64>,
    /// The process that makes the changes, and the tick of its start
    #[arg(long, num_args = 2, value_names = ["PID", "TICK"])]
    pub(crate) applier: Vec<u64>,
    /// The peer that has to take connections
    #[arg(long, value_name = "PEER")]
    pub(crate) peer: Option<String>,
    /// The cluster whose settings are among the changes
    #[arg(long, value_name = "HOSTS")]
    pub(crate) bootstrap: Option<String>,
    /// Client properties for it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<String>,
}
