//! `plumb probe storage`: what is behind directories, how fast they commit and stream, and what speaks against it.

mod fold;
mod forecast;
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
use plumb_probe::storage::{Directory, StorageError};
use std::sync::atomic::Ordering;

pub(super) fn storage(arguments: &StorageArgs) -> Result<End> {
    let plan = Plan::of(arguments)?;
    let stop = stop::flag()?;
    let open = |path: &std::path::PathBuf| Directory::open(path).map(|directory| directory.stopped_by(&stop));
    let directories = arguments.paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
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
    if let Some(target) =
        document.targets.iter().find(|target| document.conditions.complete && is_bare(target))
    {
        return Err(nothing_measured(target).into());
    }
    Ok(match () {
        () if !document.conditions.complete => End::Interrupted,
        () if document.targets.iter().any(contradicts) => End::Found,
        () => End::Done,
    })
}

/// Whether none of the ways to commit that were asked for could be measured.
fn is_bare(target: &StorageTarget) -> bool {
    target.commits.iter().all(|commit| commit.rate_per_s.is_none())
}

fn nothing_measured(target: &StorageTarget) -> StorageError {
    let mut reasons: Vec<String> = Vec::new();
    for commit in &target.commits {
        let reason = commit.unavailable.as_deref().unwrap_or("nothing was committed");
        let said = format!("{}: {reason}", commit.case.method.name());
        if !reasons.contains(&said) {
            reasons.push(said);
        }
    }
    StorageError::NothingMeasured { path: (&target.path).into(), reasons: reasons.join("; ") }
}

/// Whether a figure is not what its name promises.
fn contradicts(target: &StorageTarget) -> bool {
    let commits = target.commits.iter().flat_map(|commit| &commit.warnings);
    commits.chain(&target.warnings).any(|warning| warning.id.contradicts_durability())
}
