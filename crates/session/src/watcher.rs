//! Watchers of a plan or a probe, and the events that they are told.
//!
//! Progress on a terminal is one; a recorder, a page or a worker's link are others of the same kind. None of them owns the
//! measurements: these are the run's document, whatever becomes of its watchers.

use plumb_lab::kafka::Step as LabStep;
use plumb_load::observation::SecondPart;
use plumb_load::patience::Unanswered;
use plumb_load::schedule::Share;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::plan::StepPlan;
use std::fmt;

/// An event of a session. Events come in their order; seconds of a block come from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run begins, or goes on with what its document has.
    Begins(&'a RunDocument),
    /// The work from now on, between the measured blocks.
    Phase(&'a str),
    /// The next step of a lab.
    Lab(LabStep),
    /// A block of a step begins.
    Block {
        /// The title of the block: its place in the order, and its step.
        title: &'a str,
        /// The step's place in the plan.
        step: usize,
        /// The block's share of the load.
        share: &'a Share,
    },
    /// A part of a second of the block under way, as one of its threads saw it.
    Second(&'a SecondPart),
    /// A block is over, with what it came to.
    BlockDone {
        /// The title of the block.
        title: &'a str,
        /// The step's place in the plan.
        step: usize,
        /// The step's plan.
        plan: &'a StepPlan,
        /// Its figures.
        block: &'a BlockResult,
    },
    /// The brokers have given no answer for some seconds; told again about every second. None: that is over.
    Silence(Option<Unanswered>),
    /// A rate of a search was tried.
    Tried {
        /// The title of the try.
        title: &'a str,
        /// Its outcome, in a line.
        outcome: &'a str,
    },
    /// A probe begins.
    ProbeBegins {
        /// The activity.
        what: &'a str,
        /// Its estimated time, in seconds, as far as it is known before anything was measured.
        estimate_s: f64,
    },
    /// A turn of a probe's rounds begins.
    Turn {
        /// Its place in the order of all turns, from 1.
        position: usize,
        /// The number of turns.
        turns: usize,
        /// The title of its measurement.
        title: &'a str,
    },
    /// The estimated rest of a probe, in seconds, by the time of its turns so far.
    Rest(f64),
    /// The run ended with an error after something was measured: the way in which it goes on.
    CanGoOn(&'a WayOn),
    /// Something that whoever started the run has to know, also where no progress is shown.
    Note(&'a str),
    /// Nothing is measured any more.
    Ends,
}

/// The way in which a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayOn {
    /// The command.
    pub command: String,
    /// The brokers, where none of them takes a connection now.
    pub unreachable: Option<String>,
}

impl fmt::Display for WayOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = &self.command;
        match &self.unreachable {
            None => write!(f, "it can go on: {command}"),
            Some(brokers) => write!(
                f,
                "no broker of {brokers} takes a connection now; once one does, it can go on: {command}"
            ),
        }
    }
}

/// Is told what happens. It is called on the session's own threads, so it must not take long.
pub trait Watcher: Send + Sync {
    /// Takes an event.
    fn event(&self, event: &Event<'_>);
}
