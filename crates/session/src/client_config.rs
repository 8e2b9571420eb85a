//! Reads the client properties file that says how to connect.

use plumb_load::librdkafka::java::{self, ClientConfig, ConfigError};
use plumb_model::fault::{Fault, HasFault};
use plumb_model::plan::{ClusterPlan, Plan, StepPlan};
use std::borrow::Cow;
use thiserror::Error;

/// The path of a plan's client properties file; none for a lab, and where the plan has none.
pub(crate) fn path(plan: &Plan) -> Option<&str> {
    match &plan.cluster {
        ClusterPlan::Brokers { config, .. } => config.as_deref(),
        ClusterPlan::Lab { .. } => None,
    }
}

/// The same of the cluster of one step.
pub(crate) fn path_of_step<'p>(plan: &'p Plan, step: &'p StepPlan) -> Option<&'p str> {
    match step.cluster.as_ref().unwrap_or(&plan.cluster) {
        ClusterPlan::Brokers { config, .. } => config.as_deref(),
        ClusterPlan::Lab { .. } => None,
    }
}

/// A client properties file that cannot be used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum ConfigFileError {
    #[error("cannot read the client properties file")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Content(#[from] ConfigError),
}

impl HasFault for ConfigFileError {
    fn fault(&self) -> Fault {
        Fault::User
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            ConfigFileError::Read(_) => {
                "--config (or cluster.config) names a client properties file, as for the Java client or librdkafka"
            }
            ConfigFileError::Content(_) => {
                "the file says how to connect (security.protocol, sasl.*, ssl.*), with the Java client's names or librdkafka's"
            }
        };
        Some(hint.into())
    }
}

/// Reads a client properties file; none is an empty one.
pub fn read(path: Option<&str>) -> Result<ClientConfig, ConfigFileError> {
    let Some(path) = path else { return Ok(ClientConfig::default()) };
    let content = fs_err::read_to_string(path)?;
    Ok(java::read(path, &content)?)
}
