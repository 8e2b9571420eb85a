//! A file with its way to commit: the interface of all of them. Which one a case needs is chosen in [`super::commit`].

use rustix::io::Errno;
use std::time::Instant;

/// The action that was tried, and the kernel's error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    /// The action, as words to follow "could not".
    pub(super) doing: &'static str,
    pub(super) errno: Errno,
}

impl Failure {
    pub(super) fn new(doing: &'static str, errno: Errno) -> Self {
        Failure { doing, errno }
    }
}

/// A file with its way to commit.
pub(super) trait Writer: Send {
    /// Goes on until a commit is done, and says when that one began: now, unless several are under way.
    fn commit(&mut self, now: Instant) -> Result<Instant, Failure>;

    /// True if a file that grows has reached its limit.
    fn is_full(&self) -> bool;

    /// Waits for what is still under way.
    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
