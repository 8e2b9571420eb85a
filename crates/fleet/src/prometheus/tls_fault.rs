//! The faults of an encrypted connection that a user can act on.

use thiserror::Error;

/// The reason why a server is not trusted, or no encryption comes about.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsFault {
    /// Nobody here believes whoever signed it.
    #[error("its certificate is from an authority that is not known here")]
    Authority,
    /// Too late, or too early.
    #[error("its certificate has expired, or is not valid yet")]
    Time,
    /// It is somebody else's.
    #[error("its certificate is for another name than that of the address")]
    Name,
    /// Anything else, in the words of the library.
    #[error("{0}")]
    Other(String),
}
