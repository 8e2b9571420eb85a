//! `plumb probe storage`: what is behind directories, how fast they commit and stream, and what speaks against it.

mod fold;
mod plan;
mod reference;
mod rounds;

use super::super::End;
use crate::args::probe::{ProbeOutput, StorageArgs};
use crate::{printer, stop};
use anyhow::Result;
use jiff::Timestamp;
use plan::Plan;
use plumb_model::probe::storage::{STORAGE_SCHEMA_VERSION, StorageProbe, StorageTarget};
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use plumb_probe::storage::Directory;
use std::sync::atomic::Ordering;
use std::time::Instant;

pub(super) fn storage(arguments: &StorageArgs) -> Result<End> {
    let started = Timestamp::now();
    let began = Instant::now();
    let plan = Plan::of(arguments);
    let directories =
        arguments.paths.iter().map(|path| Directory::open(path)).collect::<Result<Vec<_>, _>>()?;
    let stop = stop::flag()?;
    let host = host_facts(&HostRoot::default(), &SystemCommands::default());
    let (targets, noise) = rounds::measure(&plan, &directories, &stop)?;
    let mut document = StorageProbe {
        schema_version: STORAGE_SCHEMA_VERSION,
        probe: "storage".to_owned(),
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_ns: began.elapsed().as_nanos() as u64,
        complete: !stop.load(Ordering::Relaxed),
        plan: plan.shown(),
        targets,
        reference: reference::devices(),
        reference_source: reference::SOURCE.to_owned(),
        noise,
        host,
    };
    plumb_judge::storage::judge(&mut document);
    printer::out(&match arguments.output {
        ProbeOutput::Text => plumb_report::probe::storage::render(&document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    Ok(match () {
        () if !document.complete => End::Interrupted,
        () if document.targets.iter().any(contradicts) => End::Found,
        () => End::Done,
    })
}

/// Whether a figure is not what its name promises.
fn contradicts(target: &StorageTarget) -> bool {
    let commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    commits.chain(&target.warnings).any(|warning| warning.id.contradicts_durability())
}
