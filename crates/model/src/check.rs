//! A host held against what an ingestion host needs (`plumb check`), and the changes that follow from it (`plumb tune plan`).
//!
//! Data only. Which settings matter, what they should be and how they are changed is the work of `plumb_tune`.

use crate::change::{Assignment, Change};
use crate::facts::HostFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the documents of checks and plans. It rises when a reader of the old shape would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// What the host is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It runs brokers: many connections, page cache, sequential writes.
    KafkaBroker,
    /// It takes requests from outside: many short connections, high packet rates.
    WebEdge,
    /// It sends load and measures: its own scheduling is a part of what it measures.
    LoadGenerator,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 3] = [Role::KafkaBroker, Role::WebEdge, Role::LoadGenerator];

    /// The name on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Role::KafkaBroker => "kafka-broker",
            Role::WebEdge => "web-edge",
            Role::LoadGenerator => "load-generator",
        }
    }
}

/// What a look at a setting found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is not as recommended, counters show that it hurts now, and it can be changed while the host runs.
    Change,
    /// It is not as recommended and counters show that it hurts, but only somebody else can change it: firmware, a restart, a hypervisor,
    /// another filesystem.
    Advice,
    /// It is not as usually recommended, and nothing shows that it hurts here and now.
    NoEvidence,
    /// It could not be read; the reason says why.
    Unknown,
    /// Nobody can change it on this host.
    Unchangeable,
    /// This host has nothing that it applies to.
    NotApplicable,
    /// It is as recommended.
    Ok,
}

impl Status {
    /// All of them, what to act on first.
    pub const ALL: [Status; 7] = [
        Status::Change,
        Status::Advice,
        Status::NoEvidence,
        Status::Unknown,
        Status::Unchangeable,
        Status::NotApplicable,
        Status::Ok,
    ];

    /// The status in words.
    pub fn words(self) -> &'static str {
        match self {
            Status::Change => "change",
            Status::Advice => "advice",
            Status::NoEvidence => "no evidence",
            Status::Unknown => "unknown",
            Status::Unchangeable => "cannot be changed",
            Status::NotApplicable => "does not apply",
            Status::Ok => "ok",
        }
    }
}

/// What a change can do to the host at worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Little or nothing.
    Low,
    /// Performance can become worse at once.
    Performance,
    /// A network link goes down for a moment, or a device is reset.
    LinkFlap,
    /// It takes a restart of the host.
    Reboot,
    /// The host can become unreachable, or data can be lost.
    LockOut,
}

impl Risk {
    /// The risk in words.
    pub fn words(self) -> &'static str {
        match self {
            Risk::Low => "low",
            Risk::Performance => "performance",
            Risk::LinkFlap => "link flap",
            Risk::Reboot => "restart",
            Risk::LockOut => "lock-out or data loss",
        }
    }
}

/// A counter that shows that a setting matters here and now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The counter, by the name that its source has for it.
    pub counter: String,
    /// Its growth over the window, or its value at the window's end where it is no counter.
    pub amount: f64,
    /// The unit of the amount.
    pub unit: String,
    /// The seconds over which it grew; absent where it is a value at one moment.
    pub over_s: Option<f64>,
}

/// One setting of one thing of the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingCheck {
    /// The tunable.
    pub id: String,
    /// The thing that has the setting: an interface, a disk, a process; empty where it is the host.
    pub target: String,
    /// What was found.
    pub status: Status,
    /// The value that it was set to.
    pub configured: Option<String>,
    /// The value in effect.
    pub effective: Option<String>,
    /// The value that it should have.
    pub recommended: Option<String>,
    /// Why, in a sentence or two; for an unknown one, why it is not known.
    pub reason: String,
    /// The counters that show that it matters.
    pub evidence: Vec<Evidence>,
    /// What a change of it can do at worst.
    pub risk: Risk,
    /// Where the recommendation comes from.
    pub source: String,
    /// The settings and values that would make it as recommended; empty where nothing on this host can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<Assignment>,
    /// What a change is expected to bring.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// The commands with which somebody changes it by hand, where Plumb leaves it to them; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by_hand: String,
}

/// Where packets or connections are lost on their way to the application, or packets of its own on their way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossLayer {
    /// Before the interface: damaged on the wire.
    Wire,
    /// In the interface's own buffer: the host takes packets too slowly from it.
    PortBuffer,
    /// No free descriptor in the receive ring.
    Ring,
    /// No memory for a packet.
    Allocation,
    /// The backlog of a processor is full.
    SoftnetBacklog,
    /// In the network stack: a filter, a table, a checksum.
    Stack,
    /// The socket's buffer is full.
    Socket,
    /// The queue of connections that wait to be accepted is full.
    AcceptQueue,
    /// A queueing discipline of this host drops what the host sends, before its interface takes it.
    OwnQueue,
}

/// What a layer loses. What is lost of one kind is no consequence of what is lost of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// Packets that came.
    Received,
    /// Connections that were asked for.
    Connections,
    /// Packets that this host sends.
    Sent,
}

impl LossKind {
    /// All of them.
    pub const ALL: [LossKind; 3] = [LossKind::Received, LossKind::Connections, LossKind::Sent];

    /// What is lost, in words.
    pub fn words(self) -> &'static str {
        match self {
            LossKind::Received => "packets",
            LossKind::Connections => "connections",
            LossKind::Sent => "packets that this host sends",
        }
    }
}

impl LossLayer {
    /// All of them, in the order in which a packet meets them.
    pub const ALL: [LossLayer; 9] = [
        LossLayer::Wire,
        LossLayer::PortBuffer,
        LossLayer::Ring,
        LossLayer::Allocation,
        LossLayer::SoftnetBacklog,
        LossLayer::Stack,
        LossLayer::Socket,
        LossLayer::AcceptQueue,
        LossLayer::OwnQueue,
    ];

    /// The layer in words.
    pub fn words(self) -> &'static str {
        match self {
            LossLayer::Wire => "wire",
            LossLayer::PortBuffer => "port buffer",
            LossLayer::Ring => "receive ring",
            LossLayer::Allocation => "memory for packets",
            LossLayer::SoftnetBacklog => "processor's backlog",
            LossLayer::Stack => "network stack",
            LossLayer::Socket => "socket buffer",
            LossLayer::AcceptQueue => "accept queue",
            LossLayer::OwnQueue => "own queue on the way out",
        }
    }

    /// What it loses.
    pub fn kind(self) -> LossKind {
        match self {
            LossLayer::AcceptQueue => LossKind::Connections,
            LossLayer::OwnQueue => LossKind::Sent,
            _ => LossKind::Received,
        }
    }
}

/// Losses of one layer over the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerLoss {
    /// The layer.
    pub layer: LossLayer,
    /// Its counters that grew.
    pub counters: Vec<Evidence>,
    /// Which part of it lost how much; and why the kernel dropped packets, by its own words, where it was traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// The unit of counters of packets.
pub const PACKETS: &str = "packets";

/// Packets that these layers lost, at least: of the counters of one interface the largest alone, because several of them may count the same
/// packet.
pub fn packets_lost(losses: &[LayerLoss]) -> u64 {
    let counters = losses.iter().flat_map(|loss| &loss.counters).filter(|counter| counter.unit == PACKETS);
    let mut of_interfaces: BTreeMap<&str, f64> = BTreeMap::new();
    let mut others = 0.0;
    for counter in counters {
        match counter.counter.strip_prefix("nic.").and_then(|name| name.split_once('.')) {
            Some((interface, _)) => {
                let most = of_interfaces.entry(interface).or_default();
                *most = most.max(counter.amount);
            }
            None => others += counter.amount,
        }
    }
    (others + of_interfaces.values().sum::<f64>()) as u64
}

/// What one processor is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// The processor.
    pub cpu: u32,
    /// Its memory node.
    pub node: u32,
    /// Its core: processors with the same number share one.
    pub core: u32,
    /// The interrupts that go to it, by device, as they are.
    pub interrupts: Vec<String>,
    /// What the plan has it for: `interrupts`, `application` or `both`.
    pub planned: String,
}

/// A host against what its role needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostCheck {
    /// Shape of this document.
    pub schema_version: u32,
    /// Version of Plumb.
    pub plumb_version: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// The time over which counters were watched, in seconds.
    pub window_s: f64,
    /// What the host is for.
    pub role: Role,
    /// The host's name for people, where they gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its facts.
    pub host: HostFacts,
    /// Where packets or connections were lost, the first layer first.
    pub losses: Vec<LayerLoss>,
    /// Its settings, those to act on first.
    pub checks: Vec<SettingCheck>,
    /// Its processors, and what each is for.
    pub cpus: Vec<CpuUse>,
    /// Programs and files that also change these settings.
    pub also_changed_by: Vec<String>,
    /// What could not be seen, with the reasons.
    pub unseen: Vec<String>,
}

impl HostCheck {
    /// The checks of a status.
    pub fn of(&self, status: Status) -> impl Iterator<Item = &SettingCheck> {
        self.checks.iter().filter(move |check| check.status == status)
    }
}

/// The id of changes that the user's own file asks for; no tunable has it.
pub const PROFILE: &str = "profile";

/// One change of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedChange {
    /// The tunable that asks for it; [`PROFILE`] where a file of the user's does.
    pub id: String,
    /// Its place in the order, from 1.
    pub order: u32,
    /// What is changed, and the way back.
    #[serde(flatten)]
    pub change: Change,
    /// What it can do at worst.
    pub risk: Risk,
    /// What it may interrupt; empty where nothing is.
    pub interrupts: String,
    /// Why.
    pub reason: String,
    /// The counters that show that it matters.
    pub evidence: Vec<Evidence>,
    /// What it is expected to bring.
    pub expected: String,
    /// Where the recommendation comes from.
    pub source: String,
}

/// Changes in the order in which they are to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TunePlan {
    /// Shape of this document.
    pub schema_version: u32,
    /// Version of Plumb.
    pub plumb_version: String,
    /// UTC, RFC 3339.
    pub made_at: String,
    /// What the host is for.
    pub role: Role,
    /// The host that it was made on, as its facts digest it; absent where the host does not say.
    pub host_digest: Option<String>,
    /// The brokers whose settings are among the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<String>,
    /// The changes.
    pub changes: Vec<PlannedChange>,
    /// Settings that are not as recommended and are not in the plan, and why not.
    pub left_out: Vec<SettingCheck>,
    /// Its processors, and what each is for.
    pub cpus: Vec<CpuUse>,
}

/// Several hosts held against each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostsCompared {
    /// Shape of this document.
    pub schema_version: u32,
    /// The hosts.
    pub hosts: Vec<HostOfMany>,
    /// Settings and facts in which some differ from most.
    pub differences: Vec<HostDifference>,
    /// Hosts that differ from most in more settings than the others do.
    pub outliers: Vec<String>,
    /// What makes these checks hard to hold against each other: other roles, windows of other lengths, settings that some did not look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// One host among several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostOfMany {
    /// Its label, or where its document was found.
    pub name: String,
    /// Settings and other things that are shown to hurt, whoever can change them.
    pub changes: u32,
    /// Settings in which it differs from most.
    pub unlike: u32,
    /// The layers that lose packets or connections, the first first.
    pub losses: Vec<String>,
}

/// A setting in which hosts differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDifference {
    /// The tunable, or a fact's name.
    pub id: String,
    /// The thing that has the setting; empty where it is the host.
    pub target: String,
    /// The value that most have; words that say so where none is more usual than another.
    pub usual: String,
    /// How many have it; 0 where none is more usual than another.
    pub hosts_usual: u32,
    /// The others: all hosts that were asked where no value is usual.
    pub others: Vec<HostValue>,
}

/// A host's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostValue {
    /// The host.
    pub host: String,
    /// Its value.
    pub value: String,
}
