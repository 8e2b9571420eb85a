//! The reasons why a JVM cannot be asked.

use crate::prometheus::PageError;
use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;
use std::time::Duration;
use thiserror::Error;

/// Longest wait for a JVM to open its socket, and for an answer: a JVM in a long collection answers after it.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A JVM that cannot be asked.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum AttachError {
    #[error("process {pid} is no JVM")]
    NoJvm { pid: u32 },
    #[error("there is no process {pid}, or it may not be looked at by this user")]
    NoProcess { pid: u32 },
    #[error("process {pid} ended meanwhile")]
    Ended { pid: u32 },
    #[error("process {pid} refuses to be attached to ({flag})")]
    Refused { pid: u32, flag: String },
    #[error("process {pid} belongs to user {owner}, and only that user and root can attach to it")]
    OtherUser { pid: u32, owner: u32 },
    #[error("cannot act as user {owner}, to whom process {pid} belongs")]
    NotAs {
        pid: u32,
        owner: u32,
        #[source]
        source: io::Error,
    },
    #[error("process {pid} did not answer within {} s", PATIENCE.as_secs())]
    Silent { pid: u32 },
    #[error("the socket that process {pid} should have opened is of another process")]
    Impostor { pid: u32 },
    #[error("the connection to process {pid} failed")]
    Connection {
        pid: u32,
        #[source]
        source: io::Error,
    },
    #[error("the directory {path} of process {pid} cannot be used")]
    Directory {
        pid: u32,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("process {pid} answered {answer:?}")]
    Answer { pid: u32, answer: String },
    #[error("process {pid} answered with more than {bytes_max} bytes")]
    TooLarge { pid: u32, bytes_max: u64 },
    #[error("the agent in process {pid} could not read its beans: {reason}")]
    Beans { pid: u32, reason: String },
    #[error("the beans of process {pid} are no page of metrics")]
    Page {
        pid: u32,
        #[source]
        source: PageError,
    },
    #[error("the profiler's library cannot be had: {reason}")]
    Library { reason: String },
    #[error("async-profiler refused to start in process {pid} (it answered {answer:?})")]
    ProfilerRefused { pid: u32, answer: String },
    #[error("process {pid} has another async-profiler in it ({path}), which is left alone")]
    OtherProfiler { pid: u32, path: String },
}

impl HasFault for AttachError {
    fn fault(&self) -> Fault {
        match self {
            AttachError::NoJvm { .. } | AttachError::NoProcess { .. } => Fault::User,
            AttachError::Impostor { .. }
            | AttachError::Answer { .. }
            | AttachError::TooLarge { .. }
            | AttachError::Beans { .. }
            | AttachError::Page { .. } => Fault::Target,
            _ => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            AttachError::NoJvm { .. } | AttachError::NoProcess { .. } => {
                "look for the broker's process: pgrep -f kafka.Kafka"
            }
            AttachError::OtherUser { .. } | AttachError::NotAs { .. } => {
                "run Plumb as the broker's user: sudo -u kafka plumb ..."
            }
            AttachError::Refused { .. } => {
                "start the JVM without that flag, or read its metrics from an exporter"
            }
            AttachError::ProfilerRefused { .. } => {
                "a profile may be under way already: that of a Plumb that was killed ends 10 s after its window"
            }
            _ => return None,
        };
        Some(hint.into())
    }
}
