//! The processes of a lab's brokers, as those see them who neither start nor stop them.

use std::time::{Duration, Instant};

use super::identity::ProcessId;

/// The processes of a lab's brokers.
#[derive(Debug, Clone)]
pub struct BrokerProcesses(Vec<ProcessId>);

impl BrokerProcesses {
    pub(super) fn new(processes: Vec<ProcessId>) -> Self {
        Self(processes)
    }

    /// Waits until all of them have ended, no longer than `timeout`; whether they have.
    #[must_use]
    pub fn have_ended_within(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let left = || deadline.saturating_duration_since(Instant::now());
        self.0.iter().all(|process| process.has_ended_within(left()))
    }
}
