//! The offset of two clocks that time services slew and never set (`CLOCK_MONOTONIC`), at any time of the local one.
//!
//! As for the wall clocks, readings of each beside its own host's oscillator take the band there. Between two readings a slewed clock is
//! somewhere between what both say: taken for granted is that it is not slewed forth and back within the tenth of a second that
//! lies between them. A rate of some 10 ppm then costs a microsecond of width.

use super::{ClockModel, ClockOffset, ClockStep, Exchange, OffsetBand, RateRange, WallExchange, WallReading};

/// The offset of the slewed clocks over a measurement.
#[derive(Debug, Clone)]
pub struct SteeredOffset {
    /// Those that can be, in the order of their times; `wall_ns` is the slewed clock.
    exchanges: Vec<WallExchange>,
    oscillators: ClockOffset,
}

/// A band and when it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedBand {
    /// Time of the local clock.
    pub local_ns: i64,
    /// How far the remote clock is ahead then.
    pub band: OffsetBand,
}

impl SteeredOffset {
    /// The offset from exchanges, in whatever order, whose `wall_ns` are readings of the slewed clocks.
    pub fn estimate(exchanges: &[WallExchange], model: &ClockModel) -> Self {
        let times: Vec<Exchange> = exchanges.iter().map(Exchange::from).collect();
        let oscillators = ClockOffset::estimate(&times, model);
        let mut exchanges: Vec<WallExchange> = exchanges
            .iter()
            .copied()
            .filter(|exchange| Exchange::from(exchange).round_trip_ns() >= 0)
            .collect();
        exchanges.sort_by_key(|exchange| (exchange.sent.after_ns, exchange.returned.before_ns));
        SteeredOffset { exchanges, oscillators }
    }

    /// The offset of the oscillators' clocks.
    pub fn oscillators(&self) -> &ClockOffset {
        &self.oscillators
    }

    /// The band at a time of the local slewed clock; absent before the first exchange, after the last, and around a step.
    pub fn band_at(&self, local_ns: i64) -> Option<OffsetBand> {
        let here = self.here(local_ns)?;
        let there = self.there(local_ns)?;
        let oscillators = self.oscillators_at(local_ns, here)?;
        let sum =
            |oscillators: i64, there: i64, here: i64| oscillators.saturating_add(there.saturating_sub(here));
        Some(OffsetBand {
            low_ns: sum(oscillators.low_ns, there.low_ns, here.high_ns),
            high_ns: sum(oscillators.high_ns, there.high_ns, here.low_ns),
        })
    }

    /// The band at the latest time at which it is known: when the last answer arrived.
    pub fn latest(&self) -> Option<TimedBand> {
        let at = |exchange: &WallExchange| {
            let local_ns = exchange.returned.wall_ns;
            self.band_at(local_ns).map(|band| TimedBand { local_ns, band })
        };
        at(self.exchanges.last()?)
    }

    /// The mean rate of the remote oscillator over the local one, over the window that ends with the last exchange.
    pub fn rate(&self) -> Option<RateRange> {
        let (_, end_ns) = self.oscillators.since_last_step()?;
        self.oscillators.rate_at(end_ns)
    }

    /// The steps, with their times by the local slewed clock.
    pub fn steps(&self) -> Vec<ClockStep> {
        let local = |oscillator_ns: i64| {
            let nearest = self.exchanges.iter().map(|exchange| exchange.sent);
            let nearest = nearest.min_by_key(|reading| reading.after_ns.abs_diff(oscillator_ns));
            nearest.map_or(oscillator_ns, |reading| {
                oscillator_ns.saturating_add(reading.over_oscillator().middle_ns())
            })
        };
        let step = |step: &ClockStep| ClockStep {
            after_ns: local(step.after_ns),
            before_ns: local(step.before_ns),
            change: step.change,
        };
        self.oscillators.steps().iter().map(step).collect()
    }

    /// How far the local slewed clock is ahead of its oscillator at one of its times: as the readings before and after it say.
    fn here(&self, local_ns: i64) -> Option<OffsetBand> {
        let next = self.exchanges.partition_point(|exchange| exchange.sent.wall_ns <= local_ns);
        let before = self.exchanges.get(next.checked_sub(1)?)?;
        // Within an exchange, or between it and the next one.
        let (from, to) = match local_ns <= before.returned.wall_ns {
            true => (before.sent, before.returned),
            false => (before.returned, self.exchanges.get(next)?.sent),
        };
        Some(hull(from.over_oscillator(), to.over_oscillator()))
    }

    /// How far the remote slewed clock is ahead of its oscillator, as the readings say of which one is surely before and one surely after.
    /// Before the first answer is that answer's reading alone, and likewise at the end: it is less than a round trip away.
    fn there(&self, local_ns: i64) -> Option<OffsetBand> {
        let before = self.exchanges.partition_point(|exchange| exchange.returned.wall_ns <= local_ns);
        let after = self.exchanges.partition_point(|exchange| exchange.sent.wall_ns < local_ns);
        let last = self.exchanges.len().checked_sub(1)?;
        let around = &self.exchanges[before.saturating_sub(1)..=after.min(last)];
        let readings = around.iter().map(|exchange| exchange.there);
        readings.map(|reading: WallReading| reading.over_oscillator()).reduce(hull)
    }

    /// The oscillators' band while the local slewed clock reads this.
    fn oscillators_at(&self, local_ns: i64, here: OffsetBand) -> Option<OffsetBand> {
        // At the ends the span of the oscillators' readings counts, which is a few nanoseconds shorter.
        let (first, last) = (self.exchanges.first()?, self.exchanges.last()?);
        let within = |ns: i64| ns.clamp(first.sent.after_ns, last.returned.before_ns);
        let early = self.oscillators.band_at(within(local_ns.saturating_sub(here.high_ns)))?;
        let late = self.oscillators.band_at(within(local_ns.saturating_sub(here.low_ns)))?;
        Some(hull(early, late))
    }
}

/// The least band that holds both.
fn hull(one: OffsetBand, other: OffsetBand) -> OffsetBand {
    OffsetBand { low_ns: one.low_ns.min(other.low_ns), high_ns: one.high_ns.max(other.high_ns) }
}
