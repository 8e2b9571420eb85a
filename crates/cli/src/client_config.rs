//! Reads the client properties file that says how to connect.

use plumb_load::librdkafka::java::{self, ClientConfig, ConfigError};
use thiserror::Error;

/// A client properties file that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ConfigFileError {
    #[error("cannot read the client properties file")]
    Read(#[from] std::io::Error),
    #[error(transparent)]
    Content(#[from] ConfigError),
}

/// Reads a client properties file; none is an empty one.
pub(crate) fn read(path: Option<&str>) -> Result<ClientConfig, ConfigFileError> {
    let Some(path) = path else { return Ok(ClientConfig::default()) };
    let content = fs_err::read_to_string(path)?;
    Ok(java::read(path, &content)?)
}
