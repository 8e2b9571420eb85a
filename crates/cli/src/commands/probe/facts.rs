//! `plumb probe facts`: what this host says of itself.

use crate::args::probe::{FactsArgs, ProbeOutput};
use crate::commands::End;
use crate::printer;
use anyhow::Result;
use jiff::Timestamp;
use plumb_model::probe::{FactsProbe, ProbeKind, SCHEMA_VERSION};
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use std::time::Instant;

pub(super) fn facts(arguments: &FactsArgs) -> Result<End> {
    let started_at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let began = Instant::now();
    let host = host_facts(&HostRoot::default(), &SystemCommands::default());
    let document = FactsProbe {
        schema_version: SCHEMA_VERSION,
        probe: ProbeKind::Facts,
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        elapsed_ns: began.elapsed().as_nanos() as u64,
        host,
    };
    printer::out(&match arguments.output {
        ProbeOutput::Text => {
            plumb_report::probe::facts::render(&document, arguments.sources, printer::style())
        }
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    Ok(End::Done)
}
