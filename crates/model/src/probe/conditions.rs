//! Under which conditions a probe measured: when, with which version, on which host, and who else used it meanwhile.

use crate::facts::HostFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the probes' documents. It rises when a reader of the old shape would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// The resource that was probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// Devices behind paths.
    Storage,
    /// Ciphers, checksums, handshakes.
    Crypto,
    /// Bandwidth and latency of memory.
    Memory,
    /// TCP to itself or to a peer.
    Network,
    /// Clocks and timers.
    Clock,
    /// Clocks of two hosts against each other.
    ClockOffset,
    /// Nothing: what the host says of itself.
    Facts,
}

/// The head of every probe's document; flattened into it, so that a document begins with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Shape of this document.
    pub schema_version: u32,
    /// The resource that was probed.
    pub probe: ProbeKind,
    /// Version of Plumb.
    pub plumb_version: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// The time that it took.
    pub elapsed_ns: u64,
    /// False when the user or an error stopped it: what was measured until then is here.
    pub complete: bool,
    /// The error that stopped it, with its causes; absent when none did.
    pub ended_by: Option<String>,
    /// The host's facts.
    pub host: HostFacts,
    /// The other users of the processors meanwhile.
    pub noise: Noise,
}

/// Use of the host's processors while the probe ran, as shares of all their time, 0 to 1. Absent when not readable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// By the probe itself.
    pub own_cpu_share: Option<f64>,
    /// By everybody else on this host and by the kernel's threads, some of which may work for the probe, in steps of 10 ms of processor time.
    pub others_cpu_share: Option<f64>,
    /// Wanted here, but given to another guest by the hypervisor.
    pub steal_share: Option<f64>,
    /// Share of the elapsed time in which some task waited for a processor (the probe's own included).
    pub cpu_pressure_share: Option<f64>,
}
