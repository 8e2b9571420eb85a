//! The facts of this host; nothing is loaded.

use jiff::Timestamp;
use plumb_model::probe::{FactsProbe, ProbeKind, SCHEMA_VERSION};
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use std::time::Instant;

/// Reads the host's facts.
#[must_use]
pub fn probe() -> FactsProbe {
    let started_at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let began = Instant::now();
    let host = host_facts(&HostRoot::default(), &SystemCommands::default());
    FactsProbe {
        schema_version: SCHEMA_VERSION,
        probe: ProbeKind::Facts,
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        elapsed_ns: began.elapsed().as_nanos() as u64,
        host,
    }
}
