//! The reasons why the comparison could not be made.

use std::path::PathBuf;

/// The reason why the comparison could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error("{got:?} is not understood here; expected {expected}")]
    Argument { expected: &'static str, got: String },
    #[error(transparent)]
    Lab(#[from] plumb_lab::kafka::LabError),
    #[error(transparent)]
    Client(#[from] plumb_lab::kafka::client::ClientError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{program} ended with {status}: {said}")]
    Program { program: String, status: std::process::ExitStatus, said: String },
    #[error("{program} printed no {expected}: {got}")]
    Output { program: String, expected: &'static str, got: String },
    #[error("{path}: no {expected}")]
    Proc { path: PathBuf, expected: &'static str },
    #[error("librdkafka: {operation}: {reason}")]
    Librdkafka { operation: String, reason: String },
    #[error("{received} of {expected} messages came within {waited_s} s of the last send")]
    Missing { expected: usize, received: usize, waited_s: u64 },
}
