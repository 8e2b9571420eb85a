//! `plumb import`: another tool's files as a scenario, to keep or to run at once.

use super::{End, carry_out};
use crate::args::{ConditionArgs, ImportArgs, ImportFrom, ImportOmbArgs, OutputFormat};
use crate::errors::UsageError;
use crate::printer;
use anyhow::{Context, Result};
use fs_err::os::unix::fs::OpenOptionsExt;
use plumb_model::plan::{Driver, Origin, Plan, Properties};
use plumb_model::resolve::resolve;
use plumb_scenario::omb::fate::Fates;
use plumb_scenario::omb::{self, Import, Request, client};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// Only its owner reads a file that may hold secrets.
const OWNER_ONLY: u32 = 0o600;

pub(super) fn import(arguments: &ImportArgs) -> Result<End> {
    match &arguments.from {
        ImportFrom::Omb(arguments) => import_omb(arguments),
    }
}

fn import_omb(arguments: &ImportOmbArgs) -> Result<End> {
    let runs = arguments.run || arguments.output.dry_run;
    if !runs && arguments.output.output == OutputFormat::Csv {
        let hint = "without --run there is a scenario (--output text) or a table of its keys (--output json)";
        return Err(UsageError::new("a scenario is no CSV", hint).into());
    }
    if !runs && arguments.output.out.is_some() {
        let hint = "the scenario goes to standard output: plumb import omb ... > scenario.yaml";
        return Err(UsageError::new(
            "--out is for a run's directory, and nothing is run without --run",
            hint,
        )
        .into());
    }
    refuse_conditions_without_a_run(runs, &arguments.output.conditions)?;
    let request = Request {
        workload: &arguments.workload,
        driver: &arguments.driver,
        dialect: arguments.dialect,
        goal: arguments.goal.as_deref(),
        merge_topics: arguments.merge_topics,
        bootstrap: arguments.bootstrap.as_deref(),
        config: arguments.client_config.as_deref(),
        client: arguments.client.unwrap_or(Driver::Wire),
    };
    let mut fates = Fates::default();
    let mut import = omb::import(&request, &mut fates);
    if let (Ok(imported), None) = (&import, arguments.client)
        && let Some(reason) = refused_by_the_client(imported)
    {
        printer::note(&format!("plumb: driven by librdkafka, as the wire driver refuses it: {reason}"));
        fates = Fates::default();
        import = omb::import(&Request { client: Driver::Librdkafka, ..request }, &mut fates);
    }
    let import = import.and_then(|import| {
        let refused = refused_keys(&import, &mut fates);
        refused.map_or(Ok(import), Err)
    });
    let as_json = !runs && arguments.output.output == OutputFormat::Json && import.is_ok();
    if !as_json && !fates.0.is_empty() {
        printer::note(fates.text().trim_end());
    }
    let import = import?;
    if let (Some(path), false) = (&arguments.client_config, import.connection.is_empty()) {
        write_config(Path::new(path), &import.connection)?;
    }
    let plan = plan(&import)?;
    if runs {
        return carry_out(plan, &arguments.output);
    }
    // What a run would refuse is refused here too.
    plumb_session::check(&plan)?;
    if as_json {
        let table = json!({ "scenario": import.text, "keys": fates.0 });
        printer::out(&format!("{}\n", serde_json::to_string_pretty(&table)?));
    } else {
        printer::out(&import.text);
    }
    Ok(End::Done)
}

/// Conditions are held against a run.
fn refuse_conditions_without_a_run(runs: bool, conditions: &ConditionArgs) -> Result<(), UsageError> {
    let given = [("--fail-if", !conditions.fail_if.is_empty()), ("--junit", conditions.junit.is_some())];
    match given.into_iter().find(|(_, given)| *given && !runs) {
        Some((flag, _)) => {
            let message = format!("{flag} is about a run, and nothing is run without --run");
            Err(UsageError::new(message, "add --run, or give it to plumb run with the scenario"))
        }
        None => Ok(()),
    }
}

/// The error of the client that is to drive the load about settings that it does not take; none where it takes all.
fn refused_by_the_client(import: &Import) -> Option<String> {
    let plan = plan(import).ok()?;
    let refused = |step| plumb_load::block::check(step, &Properties::new()).err();
    plan.steps.iter().find_map(refused).map(|error| error.to_string())
}

/// The error about keys of which the client, or the scenario, does not take what they come to; they have that fate then.
fn refused_keys(import: &Import, fates: &mut Fates) -> Option<UsageError> {
    match plan(import) {
        Ok(plan) => client::refuse_by_client(&plan, fates).err(),
        Err(error) => client::refuse_by_place(&error.to_string(), fates),
    }
}

/// The imported scenario as a plan whose values name the benchmark's files as their origin.
fn plan(import: &Import) -> Result<Plan> {
    const NAME: &str = "imported scenario";
    let (scenario, mut sources) = plumb_scenario::file::parse(NAME, &import.text)?;
    for origin in sources.values_mut() {
        *origin = Origin::Derived { reason: "plumb import omb".to_owned() };
    }
    sources.extend(import.sources.clone());
    Ok(resolve(&scenario, &sources)?)
}

/// Writes the client properties file. One that is there already must say the same.
fn write_config(path: &Path, content: &str) -> Result<()> {
    match fs_err::read_to_string(path) {
        Ok(there) if there == content => return Ok(()),
        Ok(_) => {
            let message = format!("{} is there already and says something else", path.display());
            let hint = "name another file with --client-config: plumb overwrites none";
            return Err(UsageError::new(message, hint).into());
        }
        Err(_) => {}
    }
    let write = || -> std::io::Result<()> {
        let mut options = fs_err::OpenOptions::new();
        options.write(true).create_new(true).mode(OWNER_ONLY);
        options.open(path)?.write_all(content.as_bytes())
    };
    write().context("cannot write the client properties file")?;
    printer::note(&format!("written: {} (readable by you alone)", path.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_on_a_run_that_is_not_made_is_refused() {
        let none = ConditionArgs { fail_if: Vec::new(), junit: None };
        let junit = ConditionArgs { junit: Some("plumb.xml".into()), ..none.clone() };
        assert!(refuse_conditions_without_a_run(false, &none).is_ok());
        assert!(refuse_conditions_without_a_run(true, &junit).is_ok());
        let refusal = refuse_conditions_without_a_run(false, &junit).unwrap_err().to_string();
        assert!(refusal.contains("--junit is about a run"), "{refusal}");
    }
}
