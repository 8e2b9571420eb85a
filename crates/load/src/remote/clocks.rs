//! The clocks of the processes of a block: what a consumer takes for the difference between its clock and a sender's, and how the
//! latencies that it recorded are brought to what is known of it later.

use crate::observation::Origin;
use crate::segment::Segment;
use crate::stamp::Stamp;
use plumb_stats::clock_offset::OffsetBand;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// What a worker is to take for the difference between its clock and that of another worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SenderClockWord {
    /// Its clock minus the other's: no more than it is, so that no latency is below zero.
    pub(super) ahead_ns: i64,
    /// Both read one clock.
    pub(super) one_clock: bool,
}

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

/// How far latencies that were recorded with one difference of the clocks are from what they are with the middle of this band.
pub(super) fn correction_ns(origin: Origin, ahead: OffsetBand) -> i64 {
    // Recorded: received - (sent + taken). Meant: received - (sent + middle).
    origin.ahead_ns.saturating_sub(ahead.middle_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Measure, SecondPart};
    use crate::stamp::Part;

    const AHEAD_NS: i64 = 100_000_000_000;

    fn segment(producers: Range<usize>) -> Segment {
        Segment { producers, consumers: 0..0 }
    }

    fn stamp(producer: u16) -> Stamp {
        Stamp { run: 1, producer, part: Part::Measured, sequence: 0, intended_ns: 1_000, sent_ns: 2_000 }
    }

    #[test]
    fn a_stamp_of_another_clock_is_brought_to_this_one_and_says_by_how_much() {
        let clocks = SenderClocks::of(&[segment(0..2), segment(2..4)]);
        let word = |ahead_ns, one_clock| SenderClockWord { ahead_ns, one_clock };
        clocks.set(&[word(0, true), word(AHEAD_NS, false)]);
        let (own, origin) = clocks.on_this_clock(&stamp(1));
        assert_eq!((own, origin), (stamp(1), None));
        let (other, origin) = clocks.on_this_clock(&stamp(2));
        assert_eq!((other.intended_ns, other.sent_ns), (AHEAD_NS as u64 + 1_000, AHEAD_NS as u64 + 2_000));
        assert_eq!(origin, Some(Origin { segment: 1, ahead_ns: AHEAD_NS }));
        let (strange, origin) = clocks.on_this_clock(&stamp(9));
        assert_eq!((strange, origin), (stamp(9), None), "a producer of nobody");
        assert_eq!(SenderClocks::default().on_this_clock(&stamp(2)), (stamp(2), None), "one process");
    }

    /// Recorded with the low end of what was known, meant with the middle of what is known later.
    #[test]
    fn latencies_are_moved_from_the_difference_that_was_taken_to_the_one_that_is_known() {
        let mut part = SecondPart::new(Measure::EndToEnd);
        let origin = Origin { segment: 1, ahead_ns: AHEAD_NS - 3_000_000 };
        part.origin = Some(origin);
        part.response.record_ns(8_000_000);
        part.service.record_ns(7_000_000);
        let known = OffsetBand { low_ns: AHEAD_NS - 1_000_000, high_ns: AHEAD_NS + 1_000_000 };
        let mut sum = SecondPart::new(Measure::EndToEnd);
        sum.absorb_sent(&part.to_send(), correction_ns(origin, known)).unwrap();
        assert_eq!((sum.response.mean_ns(), sum.service.mean_ns()), (Some(5_000_000.0), Some(4_000_000.0)));
    }

    #[test]
    fn the_difference_of_two_bands_holds_every_difference_of_what_is_in_them() {
        let band = |low_ns, high_ns| OffsetBand { low_ns, high_ns };
        assert_eq!(difference(band(10, 20), band(-5, 5)), band(5, 25));
        assert_eq!(difference(band(i64::MIN, 0), band(0, i64::MAX)), band(i64::MIN, 0));
    }
}
