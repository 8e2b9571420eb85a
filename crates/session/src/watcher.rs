//! Whoever wants to know what happens while a plan or a probe runs.
//!
//! Progress on a terminal is one; a recorder, a page or a worker's link are others of the same kind. None of them owns what is
//! measured: that is the run's document, whatever becomes of its watchers.

use plumb_lab::kafka::Step as LabStep;
use plumb_load::observation::SecondPart;
use plumb_load::schedule::Share;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::plan::StepPlan;

/// What happens in a session, in the order in which it happens. Seconds of a block come from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// The run begins, or goes on with what its document has.
    Begins(&'a RunDocument),
    /// What is done from now on, between the measured blocks.
    Phase(&'a str),
    /// What a lab is about to do.
    Lab(LabStep),
    /// A block of a step begins.
    Block {
        /// What the block is called: its place in the order, and its step.
        title: &'a str,
        /// The step's place in the plan.
        step: usize,
        /// How much of the load is the block's.
        share: &'a Share,
    },
    /// A part of a second of the block under way, as one of its threads saw it.
    Second(&'a SecondPart),
    /// A block is over, with what it came to.
    BlockDone {
        /// What the block is called.
        title: &'a str,
        /// The step's place in the plan.
        step: usize,
        /// The step's plan.
        plan: &'a StepPlan,
        /// Its figures.
        block: &'a BlockResult,
    },
    /// A rate of a search was tried.
    Tried {
        /// What the try is called.
        title: &'a str,
        /// What it came to, in a line.
        outcome: &'a str,
    },
    /// A probe begins.
    ProbeBegins {
        /// What it does.
        what: &'a str,
        /// How long it will take, in seconds, as far as is known before anything was measured.
        estimate_s: f64,
    },
    /// A turn of a probe's rounds begins.
    Turn {
        /// Its place in the order of all turns, from 1.
        position: usize,
        /// How many turns there are.
        turns: usize,
        /// What is measured in it.
        title: &'a str,
    },
    /// How long the rest of a probe takes, in seconds, by what its turns took so far.
    Rest(f64),
    /// Something that whoever started the run has to know, also where no progress is shown.
    Note(&'a str),
    /// Nothing is measured any more.
    Ends,
}

/// Is told what happens. It is called on the session's own threads, so it must not take long.
pub trait Watcher: Send + Sync {
    /// Takes an event.
    fn event(&self, event: &Event<'_>);
}
