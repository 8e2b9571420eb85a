//! `plumb worker manifest`: a scenario with workers as Kubernetes objects. What they look like is `crate::kubernetes`.
//!
//! The scenario is resolved as the run will resolve it, so that what the run would refuse is refused here; and what a pod cannot have (a lab
//! on another pod's loopback, a file of this host) too.

use super::use_workers;
use crate::args::worker::{ManifestArgs, WorkersArgs};
use crate::commands::End;
use crate::errors::UsageError;
use crate::kubernetes::{Experiment, Manifest, Name};
use crate::printer;
use anyhow::{Context, Result};
use plumb_model::plan::{ClusterPlan, Plan};
use plumb_model::resolve::resolve;
use plumb_model::units::Bytes;
use std::collections::BTreeSet;

/// Beyond a drain, for the clients' end and the report. Ours.
const END_S: u64 = 60;
/// Room for "-workers-NNN" within the 63 characters of a host's name.
const NAME_BYTES_MAX: usize = 50;
/// A name of an object has no more (RFC 1123).
const CLAIM_BYTES_MAX: usize = 253;
/// With less the kernel ends a pod before its first message (ours).
const MEMORY_MIN: Bytes = Bytes(64 * 1024 * 1024);
/// A ConfigMap's limit of 1 MiB, less its names.
const SCENARIO_BYTES_MAX: usize = 1_000_000;

pub(super) fn manifest(arguments: &ManifestArgs) -> Result<End> {
    let text = fs_err::read_to_string(&arguments.scenario).context("cannot read the scenario")?;
    if text.len() > SCENARIO_BYTES_MAX {
        return refused(
            "the scenario has more than 1 MB, which no ConfigMap takes",
            "leave out what is not used",
        );
    }
    let plan = planned(arguments, &text)?;
    plumb_session::check_sent(&plan)?;
    let manifest = Manifest {
        experiment: experiment(&plan)?,
        image: image(&arguments.image)?,
        name: name(&arguments.name, NAME_BYTES_MAX)?,
        namespace: name(&arguments.namespace, 63)?,
        workers: arguments.workers,
        cpus: arguments.cpus,
        memory: memory(arguments.memory)?,
        client_files: client_files(&plan)?,
        results: arguments.results.as_deref().map(claim).transpose()?,
        end_s: plan.steps.iter().map(|step| step.load.drain.0.div_ceil(1_000_000_000)).max().unwrap_or(0)
            + END_S,
        scenario: text,
    };
    printer::out(&manifest.render());
    Ok(End::Done)
}

fn refused<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T> {
    Err(UsageError::new(what, hint).into())
}

/// The plan that the run will have.
fn planned(arguments: &ManifestArgs, text: &str) -> Result<Plan> {
    let (mut scenario, mut sources) =
        plumb_scenario::file::parse(&arguments.scenario.display().to_string(), text)?;
    let flags = WorkersArgs { workers: Some(arguments.workers), ..WorkersArgs::default() };
    use_workers(&flags, &mut scenario, &mut sources);
    Ok(resolve(&scenario, &sources)?)
}

fn experiment(plan: &Plan) -> Result<Experiment> {
    if plan.settings_search.is_some() {
        return refused("a search has no workers", "leave `search` out, or run plumb search on one host");
    }
    Ok(match plan.trial {
        Some(_) => Experiment::Trial,
        None => Experiment::Run,
    })
}

/// A name of at most so many bytes that a Service can have (RFC 1035, as Kubernetes asks for).
fn name(text: &str, bytes_max: usize) -> Result<Name> {
    let hint = "a name has small letters, digits and -, begins with a letter and does not end with -";
    match Name::new(text).filter(|_| text.len() <= bytes_max) {
        Some(name) => Ok(name),
        None => {
            refused(format!("{text} cannot be a name of at most {bytes_max} characters in Kubernetes"), hint)
        }
    }
}

/// The name of a claim: that of any object (RFC 1123), in which points may stand.
fn claim(text: &str) -> Result<String> {
    let part = |part: &str| {
        let end =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let bytes = part.as_bytes();
        let inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        end(bytes.first()) && end(bytes.last()) && bytes.iter().all(inside)
    };
    match text.len() <= CLAIM_BYTES_MAX && text.split('.').all(part) {
        true => Ok(text.to_owned()),
        false => refused(
            format!("{text} cannot be the name of a PersistentVolumeClaim"),
            "a name has small letters, digits, - and ., and begins and ends with a letter or digit",
        ),
    }
}

/// An image as a kubelet takes it. What a registry makes of it is the registry's; no part of it is empty or has a space.
fn image(text: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@[]".contains(c);
    match !text.is_empty() && text.chars().all(plain) && !text.split(['/', '@']).any(str::is_empty) {
        true => Ok(text.to_owned()),
        false => refused(format!("{text:?} cannot be an image"), "such as registry.example.com/plumb:0.1"),
    }
}

fn memory(bytes: Bytes) -> Result<Bytes> {
    match bytes >= MEMORY_MIN {
        true => Ok(bytes),
        false => refused(
            format!("--memory {bytes}: expected at least {MEMORY_MIN}"),
            "a worker keeps what it has not sent yet, and its clients their queues",
        ),
    }
}

/// The client properties files that the scenario names. They come out of one Secret into the directory of the scenario.
fn client_files(plan: &Plan) -> Result<BTreeSet<String>> {
    let clusters = plan.steps.iter().filter_map(|step| step.cluster.as_ref());
    let mut files = BTreeSet::new();
    for cluster in clusters.chain([&plan.cluster]) {
        match cluster {
            ClusterPlan::Lab { .. } => {
                return refused(
                    "the scenario's brokers are a lab, which workers in other pods cannot reach",
                    "name the cluster's brokers: cluster: {bootstrap: kafka.example.com:9092}",
                );
            }
            ClusterPlan::Brokers { config: Some(file), .. } if file.contains('/') => {
                return refused(
                    format!("the client properties file {file} has a directory"),
                    "name it without one: the files of the Secret lie beside the scenario",
                );
            }
            ClusterPlan::Brokers { config, .. } => files.extend(config.clone()),
        }
    }
    Ok(files)
}
