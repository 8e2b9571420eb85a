//! `plumb check`: this host against what an ingestion host needs, or several hosts against each other.

use super::End;
use crate::args::result::ResultOutput;
use crate::args::tune::{BmcArgs, CheckArgs, CpuMode, HostArgs};
use crate::errors::UsageError;
use crate::progress::waiting;
use crate::result_dir::{self, ResultKind, Shown};
use crate::{near, printer, stop};
use anyhow::Result;
use plumb_judge::hosts::{self, NamedCheck};
use plumb_model::check::HostCheck;
use plumb_model::units::Nanos;
use plumb_observe::{Bmc, HostRoot, SystemCommands, firmware_settings};
use plumb_report::host;
use plumb_report::sheet::text;
use plumb_session::{bmc_certificate, bmc_login};
use plumb_tune::check::Asked;
use plumb_tune::host::Host;
use plumb_tune::tunables::{self, Firmware};
use std::path::Path;

/// A shorter window shows nothing: most counters of a busy host grow in less than this. Ours.
const WINDOW_MIN: Nanos = Nanos(100_000_000);

pub(super) fn check(arguments: &CheckArgs) -> Result<End> {
    if arguments.list {
        list(arguments.result.output)?;
        return Ok(End::Done);
    }
    if !arguments.documents.is_empty() {
        return compare(arguments);
    }
    result_dir::check_places(&arguments.result, &[])?;
    refuse_short(arguments.host.window)?;
    let mut found = look(&arguments.host)?;
    found.label = arguments.label.clone();
    let shown = Shown::sheet(&found, &host::check::sheet(&found, arguments.all), "check")?;
    result_dir::show(&shown, ResultKind::Check, &arguments.result)?;
    Ok(if hosts::hurts(&found) { End::Found } else { End::Done })
}

pub(super) fn refuse_short(window: Nanos) -> Result<(), UsageError> {
    match window < WINDOW_MIN {
        false => Ok(()),
        true => Err(UsageError::new(
            format!("--window {window} is too short to see a counter grow: expected at least {WINDOW_MIN}"),
            "watch the host under its load, such as --window 10s; its settings alone are in `plumb probe facts`",
        )),
    }
}

/// Looks at this host over the window that was asked for.
pub(super) fn look(arguments: &HostArgs) -> Result<HostCheck> {
    refuse_unknown(&arguments.only)?;
    refuse_ended(&arguments.pid)?;
    let asked = Asked {
        role: arguments.role.role(),
        processes: arguments.pid.clone(),
        only: arguments.only.clone(),
        kernel: arguments.kernel,
        shared_cpus: arguments.cpus == CpuMode::Shared,
        firmware: firmware(&arguments.bmc)?,
    };
    let stop = stop::flag()?;
    let window = arguments.window;
    let wait = || waiting("watching this host's counters", window, &stop);
    Ok(plumb_tune::check::check(&this_host(arguments)?, &SystemCommands::default(), &asked, wait))
}

/// The firmware's settings, from the management controller that was named. One that does not tell them ends nothing: the rest of the host
/// is looked at all the same.
fn firmware(arguments: &BmcArgs) -> Result<Firmware> {
    let (Some(url), Some(credentials)) = (&arguments.bmc, &arguments.bmc_credentials) else {
        return Ok(Firmware::NotAsked);
    };
    let certificate = arguments.bmc_cert_sha256.as_deref().map(bmc_certificate).transpose()?;
    let bmc = Bmc::new(url, bmc_login(credentials)?, certificate)?;
    Ok(match firmware_settings(&bmc, &HostRoot::default()) {
        Ok(settings) => Firmware::Read(settings),
        Err(error) => Firmware::Unread(error.in_words()),
    })
}

/// This host, with the cluster that was named.
pub(super) fn this_host(arguments: &HostArgs) -> Result<Host> {
    super::tune::host::with_cluster(arguments.bootstrap.as_deref(), arguments.config.as_deref())
}

fn refuse_unknown(only: &[String]) -> Result<(), UsageError> {
    let names: Vec<&str> = tunables::ids().map(|(id, _)| id).chain([plumb_model::check::PROFILE]).collect();
    match only.iter().find(|id| !names.contains(&id.as_str())) {
        None => Ok(()),
        Some(id) => {
            let list = "plumb check --list has all of them";
            let hint = match near::question(&near::near(id, names.iter().copied())) {
                Some(question) => format!("{question} {list}"),
                None => list.to_owned(),
            };
            Err(UsageError::new(format!("no tunable is called {id:?}"), hint))
        }
    }
}

fn refuse_ended(pids: &[u32]) -> Result<(), UsageError> {
    match pids.iter().find(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
        None => Ok(()),
        Some(pid) => Err(UsageError::new(format!("no process {pid}"), "name one that runs: pgrep -a java")),
    }
}

fn list(output: ResultOutput) -> Result<()> {
    let rows: Vec<(&str, &str)> = tunables::ids().collect();
    printer::out(&match output {
        ResultOutput::Json => {
            let object = |(id, title): &(&str, &str)| serde_json::json!({"id": id, "title": title});
            result_dir::json(&rows.iter().map(object).collect::<Vec<_>>())?
        }
        ResultOutput::Text => {
            let width = rows.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
            rows.iter().map(|(id, title)| format!("{id:width$}  {title}\n")).collect()
        }
    });
    Ok(())
}

/// Several hosts against each other, from their documents.
fn compare(arguments: &CheckArgs) -> Result<End> {
    let mut checks: Vec<(String, HostCheck)> = Vec::new();
    for path in &arguments.documents {
        let check = result_dir::read_check(path)?;
        checks.push((name(path, &check, &checks), check));
    }
    if checks.len() < 2 {
        return Err(UsageError::new("one document is no comparison", "name those of several hosts").into());
    }
    let named: Vec<NamedCheck<'_>> = checks.iter().map(|(name, check)| NamedCheck { name, check }).collect();
    let compared = hosts::compare(&named);
    let any_hurts = checks.iter().any(|(_, check)| hosts::hurts(check));
    printer::out(&match arguments.result.output {
        ResultOutput::Json => result_dir::json(&compared)?,
        ResultOutput::Text => text::render(&host::hosts::sheet(&compared), printer::style()),
    });
    Ok(if any_hurts || !compared.outliers.is_empty() { End::Found } else { End::Done })
}

/// A host's label, or its document's place where it has none or shares it.
fn name(path: &Path, check: &HostCheck, others: &[(String, HostCheck)]) -> String {
    let place = path.display().to_string();
    match &check.label {
        Some(label) if others.iter().all(|(name, _)| name != label) => label.clone(),
        _ => place,
    }
}
