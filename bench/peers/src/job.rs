//! The job of a tool: the same for all of them.

use serde::Serialize;
use std::fmt;
use std::path::Path;

/// The number of replicas that have a message before it is acknowledged. On one broker both are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Acks {
    /// The leader.
    #[serde(rename = "1")]
    One,
    /// All that are in sync.
    All,
}

impl Acks {
    /// The word in every client's settings.
    pub fn name(self) -> &'static str {
        match self {
            Acks::One => "1",
            Acks::All => "all",
        }
    }
}

impl fmt::Display for Acks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The direction of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Into the topic, as fast as possible.
    Produce(Acks),
    /// Out of it, from the beginning.
    Consume,
}

/// One run of one tool.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The broker.
    pub bootstrap: &'a str,
    /// A topic that is there.
    pub topic: &'a str,
    /// The work to do.
    pub work: Work,
    /// Messages.
    pub count: u64,
    /// Each value.
    pub size_bytes: usize,
    /// A directory for the run's files; it is gone afterwards.
    pub scratch: &'a Path,
}

impl Job<'_> {
    /// A consumer group for this run alone: in the group of an earlier one it would go on where that ended.
    pub fn group(&self) -> String {
        self.scratch.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}
