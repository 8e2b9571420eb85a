//! The length of a block, and the ways to end it early.

use super::error::StorageError;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Least and most of a block that goes before the measuring: a file's first commit makes its inode, a device wakes up.
const WARM_UP_SHARE: u32 = 10;
const WARM_UP_MAX: Duration = Duration::from_millis(50);
/// A block goes on for so many times its length at most to get the commits that it should have, whatever one commit takes.
pub(crate) const LENGTHS_MAX: u32 = 10;

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

    /// True if a phase of this length that began then is over.
    pub(super) fn is_over(&self, began: Instant, now: Instant, length: Duration) -> bool {
        now.duration_since(began) >= length || self.is_stopped()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The time that stands for "not yet".
const NEVER: u64 = u64::MAX;

/// The one time over which the commits of all committers of a block are counted, in nanoseconds since they were let go.
///
/// All are under load before it begins and until it has ended, so that no committer's share of the device is counted over a
/// time in which others had not begun or were done. It begins and ends when the same committer, the first, ends a commit: over
/// whole turns of one of them the others' commits come to their rate on average, however few turns there are and however many
/// commits end together (Palm's inversion formula; over many blocks, Wald's equation). A time cut out by the clock would
/// count the commit under way at its end, or would not, and on a slow device that is most of what there is.
#[derive(Debug)]
pub(super) struct CommitWindow {
    length_ns: u64,
    begin_ns: AtomicU64,
    end_ns: AtomicU64,
    /// Committers that are not under load yet.
    cold: AtomicUsize,
    over: AtomicBool,
}

impl CommitWindow {
    pub(super) fn new(length: Duration, committers: usize) -> Self {
        CommitWindow {
            length_ns: length.as_nanos() as u64,
            begin_ns: AtomicU64::new(NEVER),
            end_ns: AtomicU64::new(NEVER),
            cold: AtomicUsize::new(committers),
            over: AtomicBool::new(false),
        }
    }

    /// Counts one committer more that has done its warm-up.
    pub(super) fn warmed(&self) {
        self.cold.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn all_are_warm(&self) -> bool {
        self.cold.load(Ordering::Acquire) == 0
    }

    pub(super) fn begin(&self, at_ns: u64) {
        self.begin_ns.store(at_ns, Ordering::Release);
    }

    pub(super) fn end(&self, at_ns: u64) {
        self.end_ns.store(at_ns, Ordering::Release);
        self.give_up();
    }

    /// Ends the block for all; without an end nothing was measured.
    pub(super) fn give_up(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The time at which it began.
    pub(super) fn began(&self) -> Option<u64> {
        Some(self.begin_ns.load(Ordering::Acquire)).filter(|begin| *begin != NEVER)
    }

    /// The earliest time at which it may be over. What ended between its begin and this time is certainly in it.
    pub(super) fn may_end(&self) -> Option<u64> {
        self.began().map(|begin| begin.saturating_add(self.length_ns))
    }

    /// Its begin and its end, once it has both.
    pub(super) fn both(&self) -> Option<(u64, u64)> {
        let end = Some(self.end_ns.load(Ordering::Acquire)).filter(|end| *end != NEVER)?;
        Some((self.began()?, end))
    }

    /// Runs one of several threads, whose failure ends the block for all.
    pub(super) fn guarded<T>(
        &self,
        work: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let outcome = work();
        if outcome.is_err() {
            self.give_up();
        }
        outcome
    }
}
