//! The other side of a link.

use crate::carrier::Shared;
use crate::clock::PeerClock;
use crate::error::LinkError;
use crate::frame::{Frame, json_bytes};
use crate::goodbye::Goodbye;
use crate::greeting::Hello;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait until a link is closed.
pub(crate) const CLOSING_MAX: Duration = Duration::from_secs(2);

/// The other side: on the coordinator a worker, on a worker the coordinator. Copies are of the same link; when the last one is
/// dropped the link is closed.
#[derive(Clone)]
pub struct Peer(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) hello: Hello,
    pub(crate) clock: Option<PeerClock>,
    pub(crate) shared: Arc<Shared>,
}

/// The place of a link in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) index: usize,
    pub(crate) workers: usize,
    pub(crate) epoch: u32,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("name", &self.0.name)
            .field("place", &self.0.place)
            .finish_non_exhaustive()
    }
}

impl Peer {
    pub(crate) fn new(inner: Inner) -> Self {
        Peer(Arc::new(inner))
    }

    /// The other side's name: a worker's own, or `coordinator`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The worker's number, from 0. On a worker it is its own.
    #[must_use]
    pub fn index(&self) -> usize {
        self.0.place.index
    }

    /// The number of workers of the run.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.0.place.workers
    }

    /// The number of this link among those that the worker of this name had, from 1.
    #[must_use]
    pub fn epoch(&self) -> u32 {
        self.0.place.epoch
    }

    /// What the other side said of itself.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.0.hello
    }

    /// How far the worker's clock is ahead; on the coordinator alone.
    #[must_use]
    pub fn clock(&self) -> Option<&PeerClock> {
        self.0.clock.as_ref()
    }

    /// Sends a message, of a kind from [`crate::FIRST_KIND`] and at most [`crate::FRAME_BYTES_MAX`]. Returns when it is in the queue; while
    /// 8 MiB are, it waits.
    ///
    /// # Errors
    /// When the link is no more, or such a message cannot be.
    pub fn send(&self, kind: u8, bytes: &[u8]) -> Result<(), LinkError> {
        self.0.shared.send(kind, bytes)
    }

    /// Sends a value as JSON.
    ///
    /// # Errors
    /// As [`Peer::send`]; and when the value has no form in JSON.
    pub fn send_json<T: Serialize + ?Sized>(&self, kind: u8, value: &T) -> Result<(), LinkError> {
        self.send(kind, &json_bytes("a message", value)?)
    }

    /// The next message, or none within the time. What came before the link broke is handed out before its error.
    ///
    /// # Errors
    /// When the link is no more: the other side closed it, was cut off, was silent for 3 s, or sent what no Plumb sends.
    pub fn receive(&self, timeout: Duration) -> Result<Option<Frame>, LinkError> {
        self.0.shared.receive(timeout)
    }

    /// The reason why the link is no more, if it is so.
    #[must_use]
    pub fn broken(&self) -> Option<LinkError> {
        self.0.shared.broken()
    }

    /// Closes the link. Messages that wait are sent first, for at most half a second, then the reason.
    pub fn close(&self, goodbye: Goodbye) {
        self.0.shared.close(goodbye);
    }

    /// Closes the link and waits until that is done: before a process ends.
    pub fn close_and_wait(&self, goodbye: Goodbye) {
        self.close(goodbye);
        self.0.shared.await_end(CLOSING_MAX);
    }

    /// Waits until the link is no more, or the time is over.
    pub fn await_end(&self, time: Duration) {
        self.0.shared.await_end(time);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close(Goodbye::Leaves { why: "this link is no longer needed".to_owned() });
    }
}
