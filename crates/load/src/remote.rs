//! A block whose clients run in other processes: the workers.
//!
//! The block's own thread stays where it is and goes through the same phases. What its clients' threads tell each other through
//! [`crate::shared::Shared`] is copied between the processes: a worker tells its [`Progress`], the block its [`Orders`]. Both are the
//! whole state and no event, so that what comes late or twice does no harm.
//!
//! `crews.rs` is the block's side, `worker.rs` the worker's, `clocks.rs` what the processes know of each other's clocks. How messages
//! are carried is not known here: a [`WorkerLink`] does that.

pub(crate) mod clocks;
mod crews;
pub(crate) mod lost_worker;
mod messages;
mod worker;

pub(crate) use crews::RemoteCrews;
pub use lost_worker::LostWorker;
pub use messages::BlockJob;
pub use worker::{WorkerSettings, WorkerTold, check_sent, serve};

#[cfg(doc)]
use messages::{Orders, Progress};

use plumb_stats::clock_offset::OffsetBand;
use std::time::Duration;

/// A connection that carries messages in order, each whole, or fails for good.
pub trait Carrier: Send + Sync {
    /// The largest message that it carries, in bytes.
    fn largest(&self) -> usize;

    /// Sends a message.
    ///
    /// # Errors
    /// When the other side is gone.
    fn send(&self, message: &[u8]) -> Result<(), LinkLost>;

    /// The next message, if one comes in time.
    ///
    /// # Errors
    /// When the other side is gone, or silent for too long.
    fn receive(&self, wait: Duration) -> Result<Option<Vec<u8>>, LinkLost>;
}

/// The connection with a worker, and what is known of its clock.
pub trait WorkerLink: Carrier {
    /// Its name.
    fn name(&self) -> &str;

    /// Names the clock that it reads: two workers with the same identity read the same one.
    fn clock_identity(&self) -> &str;

    /// The worker's monotonic clock minus this process's, at a time of this process's; none while nothing is known of it.
    fn clock_at(&self, at_ns: u64) -> Option<OffsetBand>;

    /// The least time that a message and its answer took.
    fn round_trip(&self) -> Duration;
}

/// The end of a connection, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkLost {
    /// What happened.
    pub reason: String,
    /// True if the other side said goodbye.
    pub goodbye: bool,
}

impl LinkLost {
    /// A link that failed.
    pub fn failed(reason: impl Into<String>) -> Self {
        LinkLost { reason: reason.into(), goodbye: false }
    }
}

/// The outcome of one worker in a block.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerOutcome {
    /// Its name.
    pub name: String,
    /// Its producers and consumers, by their numbers.
    pub segment: crate::Segment,
    /// Its measured messages that were due and tried.
    pub intended: u64,
    /// Those that its clients took.
    pub sent: u64,
    /// Mean time by which its clients handed messages over later than they were due.
    pub slip_mean_ns: Option<f64>,
    /// CPU time of its process in the block's measured part.
    pub cpu_ns: Option<u64>,
    /// The widest band in which its clock's difference from this process's was known, in the block.
    pub clock: Option<OffsetBand>,
    /// Least time that a message to it and its answer took.
    pub round_trip_ns: u64,
}

impl WorkerOutcome {
    /// The most by which the latencies that it recorded of messages of another clock may be off.
    pub fn clock_error_ns(&self) -> Option<u64> {
        self.clock.map(|band| band.half_ns().max(0).unsigned_abs())
    }
}
