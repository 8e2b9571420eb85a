//! A tool that moves messages: what it is called, how it is run, and what it says of itself.
//!
//! One file each below. A tool that cannot be had on this machine is no error: the tables say why it is not in them.

pub mod franz;
pub mod java;
pub mod librdkafka;
pub mod plumb;

use crate::error::BenchError;
use crate::job::{Job, Work};
use crate::meter::Said;
use serde::Serialize;
use std::process::Command;

/// Something that produces or consumes.
pub trait Tool {
    /// Its name in every table.
    fn name(&self) -> &'static str;

    /// Version and settings for this work, where they are not the defaults.
    fn about(&self, work: Work) -> String;

    /// The command that runs it for this job. Files that it needs are written to the job's scratch directory here, before it is measured.
    ///
    /// # Errors
    /// When those cannot be written.
    fn command(&self, job: &Job<'_>) -> Result<Command, BenchError>;

    /// Exit codes with which it says that it did what it should.
    fn good_codes(&self) -> &'static [i32] {
        &[0]
    }

    /// Its own figures.
    fn claim(&self, job: &Job<'_>, said: &Said) -> Claim;
}

/// A tool's own figures of its run. A figure that it does not print, or not readably, is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Claim {
    /// Messages delivered, or received; those that it sends to try the path are among them.
    pub messages: Option<u64>,
    /// Messages a second, over whatever it takes as its time.
    pub messages_per_s: Option<f64>,
    /// CPU time for a million messages, over the part that it takes for measured.
    pub cpu_s_per_million_messages: Option<f64>,
    /// Its remark on the run.
    pub remark: Option<String>,
}

/// A place in the tables.
pub enum Entry {
    /// A tool that can be run.
    Ready(Box<dyn Tool>),
    /// One that cannot.
    Absent {
        /// The name that it would have.
        name: &'static str,
        /// The reason.
        why: String,
    },
}

impl Entry {
    /// The tool, unless it could not be had.
    pub fn of<T: Tool + 'static>(name: &'static str, tool: Result<T, BenchError>) -> Entry {
        match tool {
            Ok(tool) => Entry::Ready(Box::new(tool)),
            Err(error) => Entry::absent(name, &error),
        }
    }

    /// One that could not be had; the reason on one line.
    pub fn absent(name: &'static str, error: &BenchError) -> Entry {
        Entry::Absent { name, why: error.line() }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Entry::Ready(tool) => tool.name(),
            Entry::Absent { name, .. } => name,
        }
    }
}

/// The first number behind `mark` in the last line that has it.
fn number_behind(text: &str, mark: &str) -> Option<f64> {
    let rest = text.lines().rev().find_map(|line| line.split_once(mark))?.1;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_has_the_mark_counts() {
        let text = "rate 1 m/s\nrate  20.5 m/s\nother 3";
        assert_eq!(number_behind(text, "rate"), Some(20.5));
        assert_eq!(number_behind(text, "speed"), None);
        assert_eq!(number_behind("rate ?", "rate"), None);
    }
}
