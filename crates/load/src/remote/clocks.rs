//! The clocks of the processes of a block: what a consumer takes for the difference between its clock and a sender's, and how the
//! latencies that it recorded are brought to what is known of it later.

use super::messages::SenderClockWord;
use crate::observation::{Origin, SecondPart};
use crate::segment::Segment;
use crate::stamp::Stamp;
use plumb_stats::clock_offset::OffsetBand;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The clocks of the producers of a block, as one process knows them. Without workers there is none: all read the same.
#[derive(Debug, Default)]
pub(crate) struct SenderClocks {
    segments: Vec<SenderClock>,
}

#[derive(Debug)]
struct SenderClock {
    producers: Range<usize>,
    ahead_ns: AtomicI64,
    one_clock: AtomicBool,
}

impl SenderClocks {
    /// The clocks of these segments, of which nothing is known yet.
    pub(super) fn of(segments: &[Segment]) -> Self {
        let clock = |segment: &Segment| SenderClock {
            producers: segment.producers.clone(),
            ahead_ns: AtomicI64::new(0),
            one_clock: AtomicBool::new(true),
        };
        SenderClocks { segments: segments.iter().map(clock).collect() }
    }

    /// Takes over what the block says.
    pub(super) fn set(&self, words: &[SenderClockWord]) {
        for (clock, word) in self.segments.iter().zip(words) {
            clock.ahead_ns.store(word.ahead_ns, Ordering::Release);
            clock.one_clock.store(word.one_clock, Ordering::Release);
        }
    }

    /// A stamp with its times on this process's clock; with its origin, where they are known to a band only.
    #[inline]
    pub(crate) fn on_this_clock(&self, stamp: &Stamp) -> (Stamp, Option<Origin>) {
        if self.segments.is_empty() {
            return (*stamp, None);
        }
        self.translated(stamp)
    }

    fn translated(&self, stamp: &Stamp) -> (Stamp, Option<Origin>) {
        let producer = usize::from(stamp.producer);
        let at = self.segments.iter().position(|segment| segment.producers.contains(&producer));
        let Some(at) = at else { return (*stamp, None) };
        let ahead_ns = self.segments[at].ahead_ns.load(Ordering::Acquire);
        let moved = |time_ns: u64| time_ns.saturating_add_signed(ahead_ns);
        let stamp = Stamp { intended_ns: moved(stamp.intended_ns), sent_ns: moved(stamp.sent_ns), ..*stamp };
        let one_clock = self.segments[at].one_clock.load(Ordering::Acquire);
        let segment = u16::try_from(at).unwrap_or(u16::MAX);
        (stamp, (!one_clock).then_some(Origin { segment, ahead_ns }))
    }
}

/// The difference of two clocks of which each one's difference from a third is known: the first minus the second.
pub(super) fn difference(first: OffsetBand, second: OffsetBand) -> OffsetBand {
    OffsetBand {
        low_ns: first.low_ns.saturating_sub(second.high_ns),
        high_ns: first.high_ns.saturating_sub(second.low_ns),
    }
}

/// Brings latencies that were recorded with one difference of the clocks to the middle of the band in which it is.
pub(super) fn correct(part: &mut SecondPart, ahead: OffsetBand) {
    let Some(origin) = part.origin.take() else { return };
    // Recorded: received - (sent + taken). Meant: received - (sent + middle).
    let move_ns = origin.ahead_ns.saturating_sub(ahead.middle_ns());
    part.response = part.response.moved(move_ns);
    part.service = part.service.moved(move_ns);
}
