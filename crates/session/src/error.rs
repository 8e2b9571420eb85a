//! The errors that end a session.

use crate::arm_changes::hook::HookError;
use crate::client_config::ConfigFileError;
use crate::resumable::ResumeError;
use crate::run_dir::RunDirError;
use crate::shortage::{TooLittleMemory, TooLittleSpace};
use plumb_lab::kafka::LabError;
use plumb_lab::sink::SinkError;
use plumb_link::{LinkError, SecretError};
use plumb_load::LoadError;
use plumb_model::fault::{Fault, HasFault, UsageError};
use plumb_model::plan::Origin;
use plumb_model::resolve::ResolveError;
use plumb_observe::ObserveError;
use plumb_probe::crypto::CryptoError;
use plumb_probe::memory::{MemoryError, NodesError};
use plumb_probe::network::NetworkError;
use plumb_probe::storage::StorageError;
use plumb_stats::histogram::HistogramError;
use plumb_tune::journal::JournalError;
use plumb_tune::setting::SettingError;
use plumb_tune::steps::StepError;
use std::borrow::Cow;
use std::error::Error;
use thiserror::Error as ThisError;

/// The result of a session's functions.
pub(crate) type Result<T, E = SessionError> = std::result::Result<T, E>;

/// Any error that ends a session: each is one of the part that met it, and says itself whose fault it is.
#[derive(Debug, ThisError)]
#[expect(missing_docs, reason = "each variant is the error that it holds")]
pub enum SessionError {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    ConfigFile(#[from] ConfigFileError),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    #[error(transparent)]
    Resume(#[from] ResumeError),
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A client refuses what stands at this place.
    #[error("{place}: {error}")]
    Placed { place: Origin, error: LoadError },
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    TooLittleSpace(#[from] TooLittleSpace),
    #[error(transparent)]
    TooLittleMemory(#[from] TooLittleMemory),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Crypto(#[from] CryptoError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Nodes(#[from] NodesError),
    #[error(transparent)]
    DamagedHistogram(#[from] HistogramError),
}

impl SessionError {
    /// The error of the part that met it.
    #[must_use]
    pub fn of_part(&self) -> &(dyn Error + 'static) {
        self.part()
    }

    /// True if a client, a broker or this host did not take a setting, and would take another.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            SessionError::Load(error) | SessionError::Placed { error, .. } => error.is_refusal(),
            SessionError::Setting(error) => error.is_refusal(),
            _ => false,
        }
    }

    fn part(&self) -> &(dyn HasFault + 'static) {
        match self {
            SessionError::Usage(error) => error,
            SessionError::ConfigFile(error) => error,
            SessionError::Resolve(error) => error,
            SessionError::RunDir(error) => error,
            SessionError::Resume(error) => error,
            SessionError::Load(error) | SessionError::Placed { error, .. } => error,
            SessionError::Link(error) => error,
            SessionError::Secret(error) => error,
            SessionError::Lab(error) => error,
            SessionError::Sink(error) => error,
            SessionError::Observe(error) => error,
            SessionError::Setting(error) => error,
            SessionError::Hook(error) => error,
            SessionError::Journal(error) => error,
            SessionError::TooLittleSpace(error) => error,
            SessionError::TooLittleMemory(error) => error,
            SessionError::Storage(error) => error,
            SessionError::Crypto(error) => error,
            SessionError::Network(error) => error,
            SessionError::Memory(error) => error,
            SessionError::Nodes(error) => error,
            SessionError::DamagedHistogram(error) => error,
        }
    }
}

impl HasFault for SessionError {
    fn fault(&self) -> Fault {
        self.part().fault()
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        self.part().hint()
    }

    fn is_stop(&self) -> bool {
        self.part().is_stop()
    }
}

impl From<StepError> for SessionError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Setting(error) => error.into(),
            StepError::Journal(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_to_stop_is_told_from_a_fault() {
        let is_stop = |error: SessionError| error.is_stop();
        assert!(is_stop(LoadError::Stopped.into()) && is_stop(LabError::Interrupted.into()));
        assert!(!is_stop(LoadError::Thread { reason: String::new() }.into()));
    }
}
