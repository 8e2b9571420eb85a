//! `plumb tune`: changes to this host that can be put back, whatever happens.

mod apply;
mod export;
mod guard;
pub(super) mod host;
mod journals;
mod plan;
mod trial;

use super::End;
use crate::args::tune::TuneCommand;
use crate::errors::UsageError;
use anyhow::Result;
use plumb_model::check::TunePlan;
use plumb_model::facts::Fact;
use plumb_session::run_dir::RunDirError;
use std::path::Path;

pub(super) fn tune(command: &TuneCommand) -> Result<End> {
    match command {
        TuneCommand::Plan(arguments) => plan::plan(arguments),
        TuneCommand::Apply(arguments) => apply::apply(arguments),
        TuneCommand::Trial(arguments) => trial::trial(arguments),
        TuneCommand::Confirm(arguments) => journals::confirm(arguments),
        TuneCommand::Revert(arguments) => journals::revert(arguments),
        TuneCommand::Status(arguments) => journals::status(arguments.output),
        TuneCommand::History(arguments) => journals::history(arguments.output),
        TuneCommand::Export(arguments) => export::export(arguments),
        TuneCommand::Guard(arguments) => guard::guard(arguments),
    }
}

/// True of a plan that is known to be another host's.
fn is_made_elsewhere(plan: &TunePlan) -> bool {
    let here = plumb_observe::host_facts(
        &plumb_observe::HostRoot::default(),
        &plumb_observe::RecordedCommands::default(),
    );
    match (&plan.host_digest, &here.host_digest) {
        (Some(of_plan), Fact::Known { value, .. }) => of_plan != value,
        // A plan that does not say where it was made was not made on a host that does.
        (None, Fact::Known { .. }) => true,
        (_, Fact::Unknown { .. }) => false,
    }
}

/// A plan that was written to a file.
pub(super) fn read_plan(path: &Path) -> Result<TunePlan> {
    let text = fs_err::read_to_string(path).map_err(|error| {
        UsageError::new(format!("cannot read the plan: {error}"), "plumb tune plan --out FILE makes one")
    })?;
    let plan: TunePlan = serde_json::from_str(&text).map_err(|error| {
        UsageError::new(
            format!("{} is no plan of plumb tune: {error}", path.display()),
            "plumb tune plan --out FILE makes one",
        )
    })?;
    if plan.schema_version > plumb_model::check::SCHEMA_VERSION {
        return Err(RunDirError::Newer { path: path.to_owned(), got: plan.schema_version.into() }.into());
    }
    if plan.schema_version == 0 {
        let message = format!("{} is no plan of plumb tune: its schema_version is 0", path.display());
        return Err(UsageError::new(message, "make one: plumb tune plan --out plan.json").into());
    }
    Ok(plan)
}
