//! The progress of work without blocks: a line that moves on a terminal, one line with an estimate elsewhere.

use crate::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plumb_session::Event;
use std::cell::Cell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shorter than this, nothing is said.
const SAID_FROM_S: f64 = 2.0;

/// Another estimate is printed, if no line can be changed, only if it is so many times the last one, and so much longer.
const SAID_AGAIN_FACTOR: f64 = 1.5;
const SAID_AGAIN_S: f64 = 5.0;

/// Progress of something with one step after the other, with an estimate of its end.
#[derive(Debug)]
pub(crate) struct Steps {
    bar: ProgressBar,
    terminal: bool,
    began: Instant,
    /// Seconds from the begin to the end, as said last.
    said_s: Cell<f64>,
}

impl Steps {
    pub(crate) fn begin(what: &str, estimate_s: f64) -> Self {
        let terminal = std::io::stderr().is_terminal() && !printer::quiet();
        let shown = terminal && estimate_s >= SAID_FROM_S;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(estimate_s.ceil() as u64), target);
        let style = ProgressStyle::with_template("{spinner} {elapsed}/{len}s {msg}").ok();
        bar.set_style(style.unwrap_or_else(ProgressStyle::default_spinner));
        if shown {
            bar.enable_steady_tick(Duration::from_millis(120));
            bar.set_message(what.to_owned());
        } else if !terminal && estimate_s >= SAID_FROM_S {
            printer::remark(&format!("plumb: {what}, about {}", plumb_model::figure::estimate(estimate_s)));
        }
        Steps { bar, terminal, began: Instant::now(), said_s: Cell::new(estimate_s) }
    }

    /// Updates the estimate of the time that is left, in seconds.
    pub(crate) fn rest(&self, rest_s: f64) {
        let end_s = self.began.elapsed().as_secs_f64() + rest_s;
        if self.terminal {
            self.bar.set_length(end_s.ceil() as u64);
        } else if is_news(self.said_s.get(), end_s) {
            self.said_s.set(end_s);
            printer::remark(&format!(
                "plumb: slower than expected, about {} more",
                plumb_model::figure::estimate(rest_s)
            ));
        }
    }

    /// Shows the current step.
    pub(crate) fn now(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }
}

/// Shows an event of a probe.
pub(super) fn event(steps: &mut Option<Steps>, event: &Event<'_>) {
    let Some(shown) = steps else { return };
    match event {
        Event::Phase(what) => shown.now(what),
        Event::Turn { position, turns, title } => shown.now(&format!("{position}/{turns}  {title}")),
        Event::Rest(rest_s) => shown.rest(*rest_s),
        Event::Ends => *steps = None,
        _ => {}
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// True if another estimate of the end is worth a line of its own.
fn is_news(said_s: f64, end_s: f64) -> bool {
    end_s >= (said_s * SAID_AGAIN_FACTOR).max(said_s + SAID_AGAIN_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_said_again_only_when_it_was_far_too_short() {
        assert!(is_news(11.0, 73.0));
        assert!(!is_news(11.0, 14.0) && !is_news(11.0, 4.0));
        assert!(!is_news(1.0, 5.0), "a few seconds more are no news");
    }
}
