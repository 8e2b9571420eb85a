//! A link with the other side, as a block or a worker uses it.

use plumb_link::{FIRST_KIND, FRAME_BYTES_MAX, Goodbye, LinkError, OffsetBand, Peer, PeerClock};
use plumb_load::remote::{Carrier, LinkLost, WorkerLink};
use std::time::Duration;

/// The longest time after the last exchange for which its band, widened, still counts.
const STALE_NS: i64 = 3_000_000_000;
/// A clock that a time service steers runs off its last band by no more than this part of the time: 1,000 ppm (ours: the kernel's own limit of
/// steering is 500 ppm, and two clocks are steered).
const STEERED_APART: i64 = 1_000;
/// A frame of ours.
const MESSAGE: u8 = FIRST_KIND;

/// A worker as a block sees it.
pub(super) struct PeerLink {
    peer: Peer,
    clock_identity: String,
}

impl PeerLink {
    pub(super) fn of(peer: Peer) -> Self {
        let hello = peer.hello();
        let clock_identity = match (&hello.boot, hello.namespace_offset_ns) {
            (Some(boot), Some(offset_ns)) => format!("{boot} {offset_ns}"),
            // Nobody else's.
            _ => format!("of worker {}", peer.name()),
        };
        PeerLink { peer, clock_identity }
    }
}

fn lost(error: &LinkError) -> LinkLost {
    let goodbye = matches!(error, LinkError::Closed { goodbye: Goodbye::RunOver, .. });
    LinkLost { reason: error.to_string(), goodbye }
}

fn send(peer: &Peer, message: &[u8]) -> Result<(), LinkLost> {
    peer.send(MESSAGE, message).map_err(|error| lost(&error))
}

fn receive(peer: &Peer, wait: Duration) -> Result<Option<Vec<u8>>, LinkLost> {
    match peer.receive(wait).map_err(|error| lost(&error))? {
        None => Ok(None),
        Some(frame) if frame.kind == MESSAGE => Ok(Some(frame.bytes)),
        Some(frame) => Err(LinkLost::failed(format!("it sent a frame of the unknown kind {}", frame.kind))),
    }
}

impl Carrier for PeerLink {
    fn largest(&self) -> usize {
        FRAME_BYTES_MAX / 2
    }

    fn send(&self, message: &[u8]) -> Result<(), LinkLost> {
        send(&self.peer, message)
    }

    fn receive(&self, wait: Duration) -> Result<Option<Vec<u8>>, LinkLost> {
        receive(&self.peer, wait)
    }
}

impl WorkerLink for PeerLink {
    fn name(&self) -> &str {
        self.peer.name()
    }

    fn clock_identity(&self) -> &str {
        &self.clock_identity
    }

    fn clock_at(&self, at_ns: u64) -> Option<OffsetBand> {
        let (clock, at_ns) = (self.peer.clock()?, i64::try_from(at_ns).ok()?);
        clock.offset_at(at_ns).or_else(|| {
            let latest = clock.latest()?;
            let age_ns = at_ns.saturating_sub(latest.local_ns).max(0);
            let apart_ns = age_ns / 1_000_000 * STEERED_APART + 1;
            let OffsetBand { low_ns, high_ns } = latest.band;
            (age_ns <= STALE_NS)
                .then_some(OffsetBand { low_ns: low_ns - apart_ns, high_ns: high_ns + apart_ns })
        })
    }

    fn round_trip(&self) -> Duration {
        let least_ns = self.peer.clock().and_then(PeerClock::least_round_trip_ns);
        Duration::from_nanos(least_ns.unwrap_or(0).max(0).unsigned_abs())
    }
}
