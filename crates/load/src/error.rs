//! What can go wrong while driving a path, and whose fault it is.

use thiserror::Error;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// Usage: the client library refuses a property.
    #[error("client property {key} = {value:?} is refused: {reason}")]
    Property {
        /// The property.
        key: String,
        /// Its value; `[redacted]` for secrets.
        value: String,
        /// The library's words.
        reason: String,
    },
    /// Usage: the client library refuses the properties together, or does not say which.
    #[error("the client library refuses the properties: {reason}")]
    Properties {
        /// The library's words.
        reason: String,
    },
    /// Usage: the payload file cannot be read.
    #[error("payload file {path}: {reason}")]
    PayloadFile {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
    /// Usage or target: no such topic.
    #[error("topic {topic:?} does not exist")]
    UnknownTopic {
        /// Its name.
        topic: String,
    },
    /// Target: nobody could be reached.
    #[error("no broker of {bootstrap} could be reached within {waited_s} s: {reason}")]
    Unreachable {
        /// host:port, comma separated.
        bootstrap: String,
        /// How long it was tried.
        waited_s: u64,
        /// The library's words on the last attempts.
        reason: String,
    },
    /// Target: somebody listens there and ends the connection at the first request.
    #[error("{bootstrap} takes the connection and closes it when it is spoken to as {protocol}")]
    Disconnected {
        /// host:port, comma separated.
        bootstrap: String,
        /// The security protocol that was tried.
        protocol: String,
    },
    /// Target: the broker refuses the login.
    #[error("{bootstrap} refuses the login: {reason}")]
    Authentication {
        /// host:port, comma separated.
        bootstrap: String,
        /// The library's words.
        reason: String,
    },
    /// Target: no TLS connection could be made.
    #[error("no TLS connection with {bootstrap}: {reason}")]
    Tls {
        /// host:port, comma separated.
        bootstrap: String,
        /// The library's words.
        reason: String,
    },
    /// Target: an operation was refused.
    #[error("cannot {operation}: {reason}")]
    Refused {
        /// What was asked.
        operation: String,
        /// The broker's words.
        reason: String,
    },
    /// Usage: a record is larger than the producer's own limit.
    #[error("a record of {bytes} B is larger than the producer's message.max.bytes allows")]
    TooLargeForProducer {
        /// Bytes of the value.
        bytes: u64,
    },
    /// Target: a record is larger than topic or broker allow.
    #[error("a record of {bytes} B is larger than allowed: {reason}")]
    TooLarge {
        /// Bytes of the value.
        bytes: u64,
        /// Who refused it.
        reason: String,
    },
    /// Target: a partition did not pass a record on before the run began.
    #[error("no record went round partition {partition} of {topic} within {waited_s} s{reason}")]
    NotReady {
        /// The topic.
        topic: String,
        /// The partition.
        partition: i32,
        /// How long it was tried.
        waited_s: u64,
        /// The errors seen meanwhile, if any.
        reason: String,
    },
    /// Environment: a thread could not be started.
    #[error("cannot start a thread: {reason}")]
    Thread {
        /// The system's words.
        reason: String,
    },
    /// The user asked to stop before anything was measured.
    #[error("stopped before anything was measured")]
    Stopped,
}
