//! The checks that a run can go on: it is not over, and the program, the host and the cluster are those with which it was begun.

use plumb_model::document::{RunDocument, RunState};
use plumb_model::facts::{Fact, HostFacts};
use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::{ClusterPlan, Plan};
use plumb_observe::{HostRoot, SystemCommands, host_facts};
use std::borrow::Cow;
use std::path::Path;
use thiserror::Error;

/// A run that cannot go on.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum ResumeError {
    #[error("{path} is complete: nothing is left to do")]
    Complete { path: String },
    #[error("{path} was begun by plumb {expected}; this is {got}")]
    OtherVersion { path: String, expected: String, got: &'static str },
    #[error("{path} was begun on another host: its {what} was {expected}, here it is {got}")]
    OtherHost { path: String, what: &'static str, expected: String, got: String },
    #[error("{path} was begun on cluster {expected}; {bootstrap} is cluster {got}")]
    OtherCluster { path: String, bootstrap: String, expected: String, got: String },
    #[error("{path} is not of this run, or is damaged")]
    Damaged { path: String },
}

impl HasFault for ResumeError {
    fn fault(&self) -> Fault {
        match self {
            ResumeError::OtherCluster { .. } => Fault::Target,
            _ => Fault::User,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            ResumeError::Complete { .. } => "plumb report shows it",
            ResumeError::OtherVersion { .. } => {
                "go on with the plumb that began it: two may not measure alike. Or start it anew"
            }
            ResumeError::OtherHost { .. } | ResumeError::OtherCluster { .. } => {
                "blocks of two machines or clusters cannot stand in one run: go on where it was begun, or start it anew"
            }
            ResumeError::Damaged { .. } => "start it anew; what it measured is in its report",
        };
        Some(hint.into())
    }
}

/// Refuses a run that is over, of another version, or damaged.
pub(super) fn check(document: &RunDocument, directory: &Path) -> Result<(), ResumeError> {
    let path = directory.display().to_string();
    if document.run.state == RunState::Complete {
        return Err(ResumeError::Complete { path });
    }
    let got = env!("CARGO_PKG_VERSION");
    if document.run.plumb_version != got {
        return Err(ResumeError::OtherVersion { path, expected: document.run.plumb_version.clone(), got });
    }
    if document.steps.len() != document.plan.steps.len() {
        return Err(ResumeError::Damaged { path });
    }
    Ok(())
}

/// A run goes on where it was begun. This comes before anything is undone: on another host that would be a change, and the way
/// back would be lost.
pub(super) fn check_host(document: &RunDocument, directory: &Path) -> Result<(), ResumeError> {
    let path = directory.display().to_string();
    let Some(before) = &document.environment.host else { return Ok(()) };
    let now = host_facts(&HostRoot::default(), &SystemCommands::default());
    for Likeness { what, expected, got } in identity(before, &now) {
        if expected != got {
            return Err(ResumeError::OtherHost { path, what, expected, got });
        }
    }
    Ok(())
}

/// Something of a host that does not change while it is the same one.
struct Likeness {
    what: &'static str,
    expected: String,
    got: String,
}

/// The properties by which a host is the same one, as far as both know them.
fn identity(before: &HostFacts, now: &HostFacts) -> Vec<Likeness> {
    fn pair<T: ToString>(what: &'static str, before: &Fact<T>, now: &Fact<T>) -> Option<Likeness> {
        Some(Likeness { what, expected: before.value()?.to_string(), got: now.value()?.to_string() })
    }
    let pairs = [
        pair("machine id's digest", &before.host_digest, &now.host_digest),
        pair("processor", &before.cpu_model, &now.cpu_model),
        pair("number of processors", &before.logical_cpus, &now.logical_cpus),
        pair("memory", &before.memory_total_bytes, &now.memory_total_bytes),
        pair("kernel", &before.kernel_release, &now.kernel_release),
    ];
    pairs.into_iter().flatten().collect()
}

/// The cluster has to be the one on which the run was begun. A lab is a new one each time, made alike.
pub(super) fn check_cluster(
    plan: &Plan,
    document: &RunDocument,
    id: Option<&str>,
) -> Result<(), ResumeError> {
    let ClusterPlan::Brokers { bootstrap, .. } = &plan.cluster else { return Ok(()) };
    match (document.environment.cluster.id.as_deref(), id) {
        (Some(expected), Some(got)) if expected != got => Err(ResumeError::OtherCluster {
            path: document.run.name.clone(),
            bootstrap: bootstrap.clone(),
            expected: expected.to_owned(),
            got: got.to_owned(),
        }),
        _ => Ok(()),
    }
}
