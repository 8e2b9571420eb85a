//! `plumb probe storage`: what is behind directories, how fast they commit and stream, and what speaks against it.

mod fold;
mod plan;
mod rate;
mod reference;
mod rounds;

use super::window::Window;
use crate::args::probe::{ProbeOutput, StorageArgs};
use crate::commands::End;
use crate::{printer, stop};
use anyhow::Result;
use plan::Plan;
use plumb_model::probe::ProbeKind;
use plumb_model::probe::storage::{StorageProbe, StorageTarget};
use plumb_probe::storage::Directory;
use std::sync::atomic::Ordering;

pub(super) fn storage(arguments: &StorageArgs) -> Result<End> {
    let plan = Plan::of(arguments)?;
    let directories =
        arguments.paths.iter().map(|path| Directory::open(path)).collect::<Result<Vec<_>, _>>()?;
    let stop = stop::flag()?;
    let window = Window::open();
    let (targets, error) = rounds::measure(&plan, &directories, &stop)?;
    let mut document = StorageProbe {
        conditions: window.close_after(
            ProbeKind::Storage,
            !stop.load(Ordering::Relaxed),
            error.as_ref().map(|error| error as _),
        ),
        plan: plan.shown(),
        targets,
        reference: reference::devices(),
    };
    plumb_judge::storage::judge(&mut document);
    printer::out(&match arguments.output {
        ProbeOutput::Text => plumb_report::probe::storage::render(&document, printer::style()),
        ProbeOutput::Json => format!("{}\n", serde_json::to_string_pretty(&document)?),
    });
    // What was measured is worth having all the same.
    if let Some(error) = error {
        return Err(error.into());
    }
    Ok(match () {
        () if !document.conditions.complete => End::Interrupted,
        () if document.targets.iter().any(contradicts) => End::Found,
        () => End::Done,
    })
}

/// Whether a figure is not what its name promises.
fn contradicts(target: &StorageTarget) -> bool {
    let commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    commits.chain(&target.warnings).any(|warning| warning.id.contradicts_durability())
}
