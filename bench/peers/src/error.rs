//! The reasons why a comparison, or a part of it, could not be made.

use std::path::PathBuf;
use std::process::ExitStatus;

/// The reason why a comparison, or a part of it, could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A word of the command line.
    #[error("{got:?} is not understood here; expected {expected}")]
    Argument {
        /// The values that it may have.
        expected: String,
        /// The value that it has.
        got: String,
    },
    /// The lab did not start or stop.
    #[error(transparent)]
    Lab(#[from] plumb_lab::kafka::LabError),
    /// The broker did not answer as asked.
    #[error(transparent)]
    Client(#[from] plumb_lab::kafka::client::ClientError),
    /// A file, a directory or a process of this machine.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A document could not be written.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The broker's end offsets.
    #[error("end offsets of {topic}: {reason}")]
    Offsets {
        /// Of which topic.
        topic: String,
        /// The fault of the answer.
        reason: String,
    },
    /// A program that this machine lacks.
    #[error("{program} is not installed; {purpose} needs it ({hint})")]
    Missing {
        /// Its name.
        program: String,
        /// The purpose of it.
        purpose: &'static str,
        /// The way to get it.
        hint: &'static str,
    },
    /// A program ended in failure.
    #[error("{program}: {status}: {said}")]
    Program {
        /// Its name.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The end of what it wrote.
        said: String,
    },
    /// A program did not end.
    #[error("{program} had not ended after {limit_s} s: {said}")]
    Endless {
        /// Its name.
        program: String,
        /// The time that it was given.
        limit_s: u64,
        /// The end of what it wrote.
        said: String,
    },
    /// A producer that left nothing in the topic.
    #[error("{tool} ended well, and the broker has no message")]
    Nothing {
        /// Its name.
        tool: &'static str,
    },
    /// A consumer that did not read the topic whole, or does not say so: what a message cost it cannot be told.
    #[error("{tool} says that it read {} of {expected} messages", got.map_or("an unknown number".to_owned(), |got| got.to_string()))]
    Unread {
        /// Its name.
        tool: &'static str,
        /// Messages in the topic.
        expected: u64,
        /// Messages that it read, if it says.
        got: Option<u64>,
    },
    /// A build left out what it was for.
    #[error("a build ended well and made no {product}")]
    Unbuilt {
        /// The file that it should have made.
        product: PathBuf,
    },
    /// Something that a file of the system should hold.
    #[error("{path}: no {expected}")]
    Absent {
        /// The file.
        path: PathBuf,
        /// The content that it should have.
        expected: &'static str,
    },
    /// A condition that did not come about.
    #[error("after {waited_s} s there was still no {expected}")]
    Late {
        /// The thing that was waited for.
        expected: String,
        /// The length of the wait.
        waited_s: u64,
    },
}

impl BenchError {
    /// Its message on one line: for lists.
    pub fn line(&self) -> String {
        self.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" | ")
    }
}
