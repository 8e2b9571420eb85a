//! `plumb probe`: one file a resource.

mod clock;
mod crypto;
mod facts;
mod listen;
mod memory;
mod network;
mod storage;

use super::End;
use crate::args::probe::{ProbeArgs, ProbeCommand};
use crate::args::result::ResultArgs;
use crate::result_dir;
use crate::result_dir::{ResultKind, Shown};
use anyhow::Result;
use plumb_report::sheet::Sheet;
use plumb_session::probe::Probed;
use serde::Serialize;

pub(super) fn probe(arguments: &ProbeArgs) -> Result<End> {
    result_dir::check_places(arguments.command.result(), &[])?;
    match &arguments.command {
        ProbeCommand::Storage(arguments) => storage::storage(arguments),
        ProbeCommand::Crypto(arguments) => crypto::crypto(arguments),
        ProbeCommand::Memory(arguments) => memory::memory(arguments),
        ProbeCommand::Network(arguments) => network::network(arguments),
        ProbeCommand::Clock(arguments) => clock::clock(arguments),
        ProbeCommand::Facts(arguments) => facts::facts(arguments),
    }
}

/// Keeps and shows what a probe came to, also where an error ended it: what was measured is worth having all the same.
fn end<D: Serialize>(
    probed: Probed<D>,
    result: &ResultArgs,
    sheet: fn(&D) -> Sheet,
    command: &str,
) -> Result<End> {
    let shown = Shown::sheet(&probed.document, &sheet(&probed.document), command)?;
    result_dir::show(&shown, ResultKind::Probe, result)?;
    if let Some(error) = probed.error {
        return Err(error.into());
    }
    Ok(match () {
        () if probed.found => End::Found,
        () if !probed.complete => End::Interrupted,
        () => End::Done,
    })
}
