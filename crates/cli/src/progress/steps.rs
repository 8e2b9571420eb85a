//! The progress of what has no blocks: a line that moves on a terminal, one line with an estimate elsewhere.

use crate::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Shorter than this, nothing is said.
const SAID_FROM_S: f64 = 2.0;

/// What goes on, and how long it will take.
#[derive(Debug)]
pub(crate) struct Steps {
    bar: ProgressBar,
}

impl Steps {
    pub(crate) fn begin(what: &str, estimate_s: f64) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let shown = terminal && estimate_s >= SAID_FROM_S;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(estimate_s.ceil() as u64), target);
        let style = ProgressStyle::with_template("{spinner} {elapsed}/{len}s {msg}").ok();
        bar.set_style(style.unwrap_or_else(ProgressStyle::default_spinner));
        if shown {
            bar.enable_steady_tick(Duration::from_millis(120));
            bar.set_message(what.to_owned());
        } else if !terminal && estimate_s >= SAID_FROM_S {
            printer::note(&format!("plumb: {what}, about {}", super::duration(estimate_s)));
        }
        Steps { bar }
    }

    /// What it does now.
    pub(crate) fn now(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
