//! The reasons why a secret, or the certificate beside it, cannot be made, read or used.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// A token, certificate or key that cannot be had. What a file holds is in no error.
#[derive(Debug, Clone, Error)]
pub enum SecretError {
    /// No certificate could be made or used.
    #[error("no certificate for the link to the workers: {why}")]
    Certificate {
        /// The reason.
        why: String,
    },
    /// The system has no randomness to give.
    #[error("the system has no randomness to give")]
    NoRandomness,
    /// A file could not be used.
    #[error("cannot {attempt} the {what} {}", path.display())]
    File {
        /// The attempt: read, write.
        attempt: &'static str,
        /// The purpose of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's word.
        source: Arc<io::Error>,
    },
    /// Everybody may read a secret.
    #[error("the {what} {} has mode {mode:04o}, expected one that other users cannot read, such as 0600", path.display())]
    SecretOpen {
        /// The purpose of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A file holds no token.
    #[error("{} holds no token: expected 32 hexadecimal digits", path.display())]
    NoToken {
        /// The file.
        path: PathBuf,
    },
    /// A file does not hold what it should, in PEM.
    #[error("{} holds no {what} in PEM", path.display())]
    NotPem {
        /// What it should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// A key cannot be used with its certificate.
    #[error("the key {} cannot be used with the certificate {}: {why}", key.display(), certificate.display())]
    UnusableKey {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The reason.
        why: String,
    },
}

impl SecretError {
    /// A file that could not be read or written.
    #[must_use]
    pub fn file(attempt: &'static str, what: &'static str, path: &Path, source: io::Error) -> Self {
        SecretError::File { attempt, what, path: path.to_owned(), source: Arc::new(source) }
    }
}

impl HasFault for SecretError {
    fn fault(&self) -> Fault {
        match self {
            SecretError::Certificate { .. } | SecretError::NoRandomness | SecretError::File { .. } => {
                Fault::Environment
            }
            SecretError::SecretOpen { .. }
            | SecretError::NoToken { .. }
            | SecretError::NotPem { .. }
            | SecretError::UnusableKey { .. } => Fault::User,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            SecretError::SecretOpen { .. } => {
                "chmod 600 takes it from the others; make a new one if somebody may have read it"
            }
            SecretError::NotPem { .. } | SecretError::UnusableKey { .. } => {
                "`plumb worker secrets --out DIR` makes a certificate with its key, and a token"
            }
            SecretError::File { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                "workers may know a run by it, so it is not overwritten: name another place, or remove it first"
            }
            SecretError::NoToken { .. } => {
                "the coordinator writes it when it begins to listen: copy that file here"
            }
            SecretError::Certificate { .. } | SecretError::NoRandomness | SecretError::File { .. } => {
                return None;
            }
        };
        Some(Cow::Borrowed(hint))
    }
}
