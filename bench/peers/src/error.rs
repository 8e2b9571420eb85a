//! Why a comparison, or a part of it, could not be made.

use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a comparison, or a part of it, could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A word of the command line.
    #[error("{got:?} is not understood here; expected {expected}")]
    Argument {
        /// What could have stood there.
        expected: String,
        /// What stood there.
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
        /// What is wrong with the answer.
        reason: String,
    },
    /// A program that this machine lacks.
    #[error("{program} is not installed; {purpose} needs it ({hint})")]
    Missing {
        /// Its name.
        program: String,
        /// What it is for.
        purpose: &'static str,
        /// How to get it.
        hint: &'static str,
    },
    /// A program ended in failure.
    #[error("{program}: {status}: {said}")]
    Program {
        /// Its name.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote.
        said: String,
    },
    /// A program did not end.
    #[error("{program} had not ended after {limit_s} s: {said}")]
    Endless {
        /// Its name.
        program: String,
        /// How long it was given.
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
        /// What it should hold.
        expected: &'static str,
    },
    /// A condition that did not come about.
    #[error("after {waited_s} s there was still no {expected}")]
    Late {
        /// What was waited for.
        expected: String,
        /// How long.
        waited_s: u64,
    },
}

impl BenchError {
    /// What it says, on one line: for lists.
    pub fn line(&self) -> String {
        self.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" | ")
    }
}
