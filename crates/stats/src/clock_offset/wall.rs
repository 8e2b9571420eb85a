//! From the oscillators' clock to the wall clocks: what both hosts' readings of the two say of the difference that people see.
//!
//! A time service steers a wall clock, and may step it, so its offset is no line. How far it is ahead of its own host's oscillator is
//! read there at once, a reading of it between two of the oscillator's clock, and is added on either side. What is taken for granted:
//! the local wall clock does not step forth and back within one exchange.

use super::{ClockOffset, Exchange, OffsetBand, RateRange};

/// The most by which Linux lets a wall clock be slewed: a tenth by the length of its tick and 500 ppm by its frequency
/// (`adjtimex(2)`). What moves faster was set.
const SLEW_MAX: f64 = 0.1005;
/// Clocks are read in whole nanoseconds, rounded down: a difference of two readings is off by less than this.
const READING_NS: i64 = 1;

/// A wall clock's reading between two readings of the oscillator's clock of its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallReading {
    /// The oscillator's clock before.
    pub before_ns: i64,
    /// The wall clock, since 1970.
    pub wall_ns: i64,
    /// The oscillator's clock after.
    pub after_ns: i64,
}

impl WallReading {
    /// How far the wall clock was ahead of the oscillator's clock.
    pub(super) fn over_oscillator(&self) -> OffsetBand {
        OffsetBand {
            low_ns: self.wall_ns.saturating_sub(self.after_ns).saturating_sub(READING_NS),
            high_ns: self.wall_ns.saturating_sub(self.before_ns).saturating_add(READING_NS),
        }
    }
}

/// An exchange in which each side reads its wall clock as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallExchange {
    /// Here, before the question is sent, after the last of these readings.
    pub sent: WallReading,
    /// There, between question and answer.
    pub there: WallReading,
    /// Here, after the answer arrived, before the first of these readings.
    pub returned: WallReading,
}

impl From<&WallExchange> for Exchange {
    fn from(exchange: &WallExchange) -> Self {
        Exchange {
            sent_ns: exchange.sent.after_ns,
            arrived_ns: exchange.there.before_ns,
            answered_ns: exchange.there.after_ns,
            returned_ns: exchange.returned.before_ns,
        }
    }
}

impl WallExchange {
    /// How far the local wall clock was ahead of its oscillator while the other side read its own.
    fn here(&self) -> OffsetBand {
        let (sent, returned) = (self.sent.over_oscillator(), self.returned.over_oscillator());
        OffsetBand { low_ns: sent.low_ns.min(returned.low_ns), high_ns: sent.high_ns.max(returned.high_ns) }
    }
}

/// How far the remote wall clock is ahead of the local one in the middle of an exchange; absent where the offset of the oscillators'
/// clocks is.
pub fn wall_difference(exchange: &WallExchange, oscillators: &ClockOffset) -> Option<OffsetBand> {
    let times = Exchange::from(exchange);
    let (sent, returned) = (oscillators.band_at(times.sent_ns)?, oscillators.band_at(times.returned_ns)?);
    let (there, here) = (exchange.there.over_oscillator(), exchange.here());
    let sum =
        |oscillators: i64, there: i64, here: i64| oscillators.saturating_add(there.saturating_sub(here));
    Some(OffsetBand {
        low_ns: sum(sent.low_ns.min(returned.low_ns), there.low_ns, here.high_ns),
        high_ns: sum(sent.high_ns.max(returned.high_ns), there.high_ns, here.low_ns),
    })
}

/// By how much the remote wall clock ran faster than the local one from one exchange to a later one, given the oscillators' rate
/// between them; absent where the second is not later.
pub fn wall_rate(first: &WallExchange, last: &WallExchange, oscillators: RateRange) -> Option<RateRange> {
    let elapsed_ns = Exchange::from(last).sent_ns.saturating_sub(Exchange::from(first).sent_ns);
    if elapsed_ns <= 0 {
        return None;
    }
    let grown = |before: OffsetBand, after: OffsetBand| {
        (after.low_ns.saturating_sub(before.high_ns), after.high_ns.saturating_sub(before.low_ns))
    };
    let there = grown(first.there.over_oscillator(), last.there.over_oscillator());
    let here = grown(first.here(), last.here());
    let ppm = |ns: i64| ns as f64 / elapsed_ns as f64 * 1e6;
    Some(RateRange {
        low_ppm: oscillators.low_ppm + ppm(there.0.saturating_sub(here.1)),
        high_ppm: oscillators.high_ppm + ppm(there.1.saturating_sub(here.0)),
    })
}

/// A wall clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallStep {
    /// The number of the first reading after it.
    pub reading: usize,
    /// By how much it is further ahead since; what it was slewed meanwhile is in it.
    pub change: OffsetBand,
}

/// Where a host's wall clock moved against its oscillator faster than Linux can slew it, in readings in the order of their times.
pub fn wall_steps(readings: &[WallReading]) -> Vec<WallStep> {
    let step = |(number, pair): (usize, &[WallReading])| {
        let (before, after) = (pair[0].over_oscillator(), pair[1].over_oscillator());
        let change = OffsetBand {
            low_ns: after.low_ns.saturating_sub(before.high_ns),
            high_ns: after.high_ns.saturating_sub(before.low_ns),
        };
        let elapsed_ns = pair[1].after_ns.saturating_sub(pair[0].before_ns).max(0);
        let slewed_ns = (elapsed_ns as f64 * SLEW_MAX).ceil() as i64;
        let stepped = change.low_ns > slewed_ns || change.high_ns < -slewed_ns;
        stepped.then_some(WallStep { reading: number + 1, change })
    };
    readings.windows(2).enumerate().filter_map(step).collect()
}
