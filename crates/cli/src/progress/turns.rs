//! The progress of a probe: which turn of how many, on one line that moves on a terminal, in one line at the beginning
//! elsewhere.

use crate::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

/// Shorter than this, nobody needs to be told how long it takes.
const WORTH_TELLING_S: f64 = 2.0;

/// Turns of a probe.
#[derive(Debug)]
pub(crate) struct Turns {
    bar: ProgressBar,
    total: usize,
    done: Cell<usize>,
}

impl Turns {
    /// So many turns that take about so long in all.
    pub(crate) fn new(name: &str, total: usize, estimate_s: f64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(estimate_s.ceil() as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {elapsed}/{len}s {msg}").ok();
        bar.set_style(style.unwrap_or_else(ProgressStyle::default_spinner));
        bar.enable_steady_tick(Duration::from_millis(120));
        if !std::io::stderr().is_terminal() && estimate_s > WORTH_TELLING_S {
            printer::note(&format!("plumb: {name} in {total} blocks, about {}", super::duration(estimate_s)));
        }
        Turns { bar, total, done: Cell::new(0) }
    }

    /// Says what happens now.
    pub(crate) fn note(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// The next turn begins.
    pub(crate) fn next(&self, what: &str) {
        self.done.set(self.done.get() + 1);
        self.note(&format!("block {}/{}  {what}", self.done.get(), self.total));
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
