//! How long a block goes on, and who may end it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Least and most of a block that goes before the measuring: a file's first commit makes its inode, a device wakes up.
const WARM_UP_SHARE: u32 = 10;
const WARM_UP_MAX: Duration = Duration::from_millis(50);

/// The length of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace<'a> {
    /// Measured time. A commit that has begun by then is finished and counted.
    pub(super) length: Duration,
    /// The user's word to stop.
    pub(super) stop: &'a AtomicBool,
}

impl Pace<'_> {
    /// Time before the measuring; at least one commit is made in it, however long that takes.
    pub(super) fn warm_up(&self) -> Duration {
        (self.length / WARM_UP_SHARE).min(WARM_UP_MAX)
    }

    /// Whether a phase of this length that began then is over.
    pub(super) fn is_over(&self, began: Instant, now: Instant, length: Duration) -> bool {
        now.duration_since(began) >= length || self.stop.load(Ordering::Relaxed)
    }
}
