//! `plumb probe facts`: what a host says of itself, without any load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProbeKind;
use crate::facts::HostFacts;

/// The facts of a host with when and by whom they were read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactsProbe {
    /// Shape of this document.
    pub schema_version: u32,
    /// `facts`.
    pub probe: ProbeKind,
    /// Version of Plumb.
    pub plumb_version: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    /// The time that reading took.
    pub elapsed_ns: u64,
    /// The facts.
    pub host: HostFacts,
}
