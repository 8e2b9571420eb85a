//! `plumb probe`: one file a resource.

mod clock;
mod crypto;
mod facts;
mod listen;
mod memory;
mod network;
mod storage;

use super::End;
use crate::args::probe::{ProbeArgs, ProbeCommand, ProbeOutput};
use crate::printer;
use anyhow::Result;
use plumb_report::text::TextStyle;
use plumb_session::probe::Probed;
use serde::Serialize;

pub(super) fn probe(arguments: &ProbeArgs) -> Result<End> {
    match &arguments.command {
        ProbeCommand::Storage(arguments) => storage::storage(arguments),
        ProbeCommand::Crypto(arguments) => crypto::crypto(arguments),
        ProbeCommand::Memory(arguments) => memory::memory(arguments),
        ProbeCommand::Network(arguments) => network::network(arguments),
        ProbeCommand::Clock(arguments) => clock::clock(arguments),
        ProbeCommand::Facts(arguments) => facts::facts(arguments),
    }
}

/// Shows what a probe came to, also where an error ended it: what was measured is worth having all the same.
fn end<D: Serialize>(
    probed: Probed<D>,
    output: ProbeOutput,
    render: impl FnOnce(&D, TextStyle) -> String,
) -> Result<End> {
    print(&probed.document, output, render)?;
    if let Some(error) = probed.error {
        return Err(error.into());
    }
    Ok(match () {
        () if probed.found => End::Found,
        () if !probed.complete => End::Interrupted,
        () => End::Done,
    })
}

fn print<D: Serialize>(
    document: &D,
    output: ProbeOutput,
    render: impl FnOnce(&D, TextStyle) -> String,
) -> Result<()> {
    printer::out(&match output {
        ProbeOutput::Text => render(document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(document)?),
    });
    Ok(())
}
