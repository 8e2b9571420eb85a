//! `plumb worker`: takes part in a run on another host; and the workers that a run asks for.

mod manifest;
mod secrets;

use super::End;
use crate::args::worker::{JoinArgs, WorkerArgs, WorkerCommand, WorkersArgs};
use crate::errors::UsageError;
use crate::{progress, stop};
use anyhow::Result;
use plumb_model::fault::HasFault;
use plumb_model::plan::{Origin, Plan};
use plumb_model::resolve::Sources;
use plumb_model::scenario::{OneOrMany, Scenario};
use plumb_model::units::Nanos;
use plumb_session::{
    CertificateDigest, CertificateFiles, WorkerOptions, WorkersOptions, certificate_digest,
    certificate_digest_of_file, client_config, needed, run_dir, work,
};
use std::path::Path;

/// Time for which a worker tries to join unless another is said.
const WITHIN: Nanos = Nanos::from_secs(60);

pub(super) fn worker(arguments: &WorkerArgs) -> Result<End> {
    match (&arguments.command, &arguments.join) {
        (Some(WorkerCommand::Manifest(arguments)), _) => manifest::manifest(arguments),
        (Some(WorkerCommand::Secrets(arguments)), _) => secrets::secrets(arguments),
        (None, Some(arguments)) => join(arguments),
        (None, None) => Err(UsageError::new("no run to join", "plumb worker --help").into()),
    }
}

fn join(arguments: &JoinArgs) -> Result<End> {
    let options = WorkerOptions {
        join: arguments.join.clone(),
        certificate_sha256: digest(arguments)?,
        token_file: arguments.token_file.clone(),
        name: arguments.name.clone().unwrap_or_else(own_name),
        properties: client_config::read(arguments.config.as_deref())?.properties,
        within: arguments.within.unwrap_or(WITHIN).to_duration(),
    };
    match work(&options, &stop::flag()?, &progress::watcher()) {
        Err(error) if error.is_stop() => Ok(End::Interrupted),
        ended => Ok(ended.map(|()| End::Done)?),
    }
}

fn digest(arguments: &JoinArgs) -> Result<CertificateDigest> {
    Ok(match &arguments.cert_file {
        Some(file) => certificate_digest_of_file(file)?,
        None => certificate_digest(arguments.cert_sha256.as_deref().unwrap_or_default())?,
    })
}

/// The host's name with the process id: two workers of one host have two names.
fn own_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}-{}", std::process::id())
}

/// The workers of the flags take the place of those that the file names, in every setup.
pub(super) fn use_workers(flags: &WorkersArgs, scenario: &mut Scenario, sources: &mut Sources) {
    let Some(workers) = flags.workers else { return };
    let origin = Origin::Flag { flag: "--workers".to_owned() };
    scenario.load.workers = Some(OneOrMany::One(workers));
    sources.insert("load.workers".to_owned(), origin);
    for (index, setup) in scenario.setups.iter_mut().enumerate() {
        setup.load.workers = None;
        sources.remove(&format!("setups.{index}.load.workers"));
    }
    for (name, arm) in &mut scenario.arms.0 {
        arm.load.workers = None;
        sources.remove(&format!("arms.{name}.load.workers"));
    }
}

/// Refuses a door through which no worker will come.
pub(super) fn check_door(plan: &Plan, flags: &WorkersArgs) -> Result<()> {
    match needed(plan) == 0 && flags.says_how_to_join() {
        true => Err(UsageError::new(
            "the flags say how workers join, but the run has none",
            "--workers N says how many; without it this process runs the clients",
        )
        .into()),
        false => Ok(()),
    }
}

/// The same of a run that goes on.
pub(super) fn check_door_of(directory: &Path, flags: &WorkersArgs) -> Result<()> {
    match flags.says_how_to_join() {
        true => check_door(&run_dir::read_document(directory)?.plan, flags),
        false => Ok(()),
    }
}

/// The door of the flags.
pub(super) fn options(flags: &WorkersArgs) -> WorkersOptions {
    let usual = WorkersOptions::default();
    WorkersOptions {
        listen: flags.listen.unwrap_or(usual.listen),
        token_file: flags.token_file.clone(),
        certificate: flags
            .cert_file
            .clone()
            .zip(flags.key_file.clone())
            .map(|(certificate, key)| CertificateFiles { certificate, key }),
        wait: flags.wait_for_workers.map_or(usual.wait, Nanos::to_duration),
        back: usual.back,
    }
}
