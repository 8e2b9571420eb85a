//! How often something dear may be done: so seldom that it takes no more than a share of one processor.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Time between two of the same work.
#[derive(Debug)]
pub(crate) struct Pause {
    least: Duration,
    share: f64,
    until: Option<Instant>,
}

impl Pause {
    /// At least so long, and so long that the work takes no more than this share of a processor.
    pub(crate) fn new(least: Duration, share: f64) -> Self {
        Pause { least, share, until: None }
    }

    /// Whether the work may be done.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// Processor time of this thread.
    pub(crate) fn clock() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    }

    /// The work that began at this time of the clock is done.
    pub(crate) fn begin(&mut self, begun: Duration) {
        let cost = Pause::clock().saturating_sub(begun);
        self.until = Instant::now().checked_add(cost.div_f64(self.share).max(self.least));
    }
}
