//! The histogram logs of a step: a line for each second and latency, of the seconds that are in its figures and no others.
//!
//! In a trial the lines wait until the block is over, because only then is it known which of its seconds were warm-up. A
//! line takes about a kilobyte, so that a block of an hour has some megabytes to wait.

use super::times::Times;
use crate::run_dir::{self, RunDir, RunDirError};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// A step's logs.
#[derive(Debug)]
pub(super) struct Logs {
    /// Start of their names.
    stem: String,
    /// The name of each, by measure.
    names: BTreeMap<String, String>,
    when: When,
}

/// The moment at which lines go into the logs.
#[derive(Debug)]
enum When {
    Never,
    AtOnce,
    /// At the end of the block, with the lines that wait.
    AfterBlock(Vec<Line>),
}

/// A second of one measure.
#[derive(Debug)]
struct Line {
    second: u32,
    measure: &'static str,
    start: SystemTime,
    text: Vec<u8>,
}

impl Logs {
    pub(super) fn new(stem: String) -> Self {
        Logs { stem, names: BTreeMap::new(), when: When::AtOnce }
    }

    /// No logs.
    pub(super) fn none() -> Self {
        Logs { when: When::Never, ..Logs::new(String::new()) }
    }

    /// The logs of a step whose blocks' warm-up is found when they are over.
    pub(super) fn after_each_block(self) -> Self {
        Logs { when: When::AfterBlock(Vec::new()), ..self }
    }

    /// Those that an earlier part of the run has written.
    pub(super) fn go_on_with(self, names: BTreeMap<String, String>) -> Self {
        Logs { names, ..self }
    }

    /// Takes over what another step wrote; the logs to come keep their names.
    pub(super) fn take_over(self, other: Logs) -> Self {
        Logs { stem: self.stem, ..other }
    }

    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// The names of the logs, by measure.
    pub(super) fn names(&self) -> &BTreeMap<String, String> {
        &self.names
    }

    /// A block begins. What waits is of one that was given up.
    pub(super) fn begin_block(&mut self) {
        if let When::AfterBlock(waiting) = &mut self.when {
            waiting.clear();
        }
    }

    /// A second is over, that began at this time.
    pub(super) fn second(
        &mut self,
        second: u32,
        start: SystemTime,
        times: &Times,
        dir: &mut RunDir,
    ) -> Result<(), RunDirError> {
        if matches!(self.when, When::Never) {
            return Ok(());
        }
        for (measure, histogram) in times.latencies().into_iter().filter(|(_, of)| of.samples() > 0) {
            let text = run_dir::interval(start, Duration::from_secs(1), histogram)?;
            let line = Line { second, measure, start, text };
            match &mut self.when {
                When::AfterBlock(waiting) => waiting.push(line),
                When::AtOnce | When::Never => self.write(&line, dir)?,
            }
        }
        Ok(())
    }

    /// A block is over: what waited is written, but for the seconds before `first`.
    pub(super) fn end_block(&mut self, first: u32, dir: &mut RunDir) -> Result<(), RunDirError> {
        let When::AfterBlock(waiting) = &mut self.when else { return Ok(()) };
        let waiting = std::mem::take(waiting);
        waiting.iter().filter(|line| line.second >= first).try_for_each(|line| self.write(line, dir))
    }

    fn write(&mut self, line: &Line, dir: &mut RunDir) -> Result<(), RunDirError> {
        let log = self.names.entry(line.measure.to_owned());
        let log = log.or_insert_with(|| format!("{}.{}.hlog", self.stem, line.measure));
        dir.append(log, line.start, &line.text)
    }
}
