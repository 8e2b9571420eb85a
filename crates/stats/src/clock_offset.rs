//! How far a remote clock is ahead of a local one, as a band that holds whatever the asymmetry of the way.
//!
//! An exchange of two messages has four readings: the local clock before the question is sent (t1), the remote one after it arrived
//! (t2) and before the answer is sent (t3), the local one after that arrived (t4). As no message arrives before it was sent, the
//! remote clock is ahead of the local one by at most t2 - t1 at t1, and by at least t3 - t4 at t4, however the delay is shared out
//! between there and back. That is certain; what is between is not known, and half of the round trip on each side of the middle is
//! what one exchange can say.
//!
//! Two oscillators drift apart by a nearly constant rate, so that over a short window the offset is a line. Of all lines of a
//! possible slope only those count that pass between the bounds of every exchange: at any moment the *band* is the range of their
//! values, the estimate its middle, and the range of their slopes is the rate. Exact, by convex hulls (Moon, Skelly and Towsley,
//! INFOCOM 1999; Zhang, Liu and Xia, INFOCOM 2002, which bound a clock's skew so; the intersection of certain intervals is Marzullo's,
//! Stanford 1984): `lines.rs`. Where no line passes, a clock stepped, or the machine was moved: `steps.rs` splits there. `wall.rs`
//! takes the band from the oscillators' clock, which nobody steers, to the wall clocks, which people read; `steered.rs` to
//! clocks that are slewed and never set, at any time.
//!
//! Times are nanoseconds of either clock, within 2^62 of zero; rates are parts per million, remote over local. A step that is smaller
//! than the band passes unseen, and one just before the end is seen only when exchanges after it say so.

mod lines;
#[cfg(test)]
mod simulated;
mod steered;
mod steps;
#[cfg(test)]
mod tests;
mod wall;

pub use lines::OffsetLines;
pub use steered::{SteeredOffset, TimedBand};
pub use wall::{WallExchange, WallReading, WallStep, wall_difference, wall_rate, wall_steps};

use std::ops::Range;
use steps::parts;

/// The four readings of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Local clock before the question was sent (t1).
    pub sent_ns: i64,
    /// Remote clock after it arrived (t2).
    pub arrived_ns: i64,
    /// Remote clock before the answer was sent (t3).
    pub answered_ns: i64,
    /// Local clock after the answer arrived (t4).
    pub returned_ns: i64,
}

impl Exchange {
    /// Time on the way, there and back, without what the other side took in between. Below zero where a clock stepped within the
    /// exchange, or somebody lied.
    pub fn round_trip_ns(&self) -> i64 {
        self.high_ns().saturating_sub(self.low_ns())
    }

    /// The remote clock is ahead by no more, at `sent_ns`.
    fn high_ns(&self) -> i64 {
        self.arrived_ns.saturating_sub(self.sent_ns)
    }

    /// The remote clock is ahead by no less, at `returned_ns`.
    fn low_ns(&self) -> i64 {
        self.answered_ns.saturating_sub(self.returned_ns)
    }
}

/// What is taken for granted about two clocks that nobody steers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockModel {
    /// Largest difference of their rates. 200 ppm is what Spanner allows an oscillator between two synchronisations (Corbett et
    /// al., OSDI 2012), and four times what crystals in servers are sold with.
    pub rate_max_ppm: f64,
    /// Within a window the difference of the rates stays this near to one rate. An oscillator in a machine room keeps within 0.1
    /// ppm of its mean at all scales (Veitch, Babu and Pàsztor, IMC 2004), so two of them within 0.2.
    pub wander_max_ppm: f64,
    /// Longest time over which the offset is taken for a line.
    pub window_ns: i64,
}

impl Default for ClockModel {
    fn default() -> Self {
        ClockModel { rate_max_ppm: 200.0, wander_max_ppm: 0.2, window_ns: 30_000_000_000 }
    }
}

impl ClockModel {
    /// A line is never further from the offset over `span_ns`, if the line is well chosen: an offset whose rate keeps within w of
    /// one rate leaves the best line of its mean rate by a quarter of w x span at most, as when it runs fast for the first half and
    /// slow for the second.
    fn off_line_ns(&self, span_ns: i64) -> f64 {
        self.wander_max_ppm / 1e6 * span_ns.min(self.window_ns) as f64 / 4.0
    }
}

/// How far the remote clock is ahead of the local one; below zero it is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetBand {
    /// It is ahead by no less.
    pub low_ns: i64,
    /// It is ahead by no more.
    pub high_ns: i64,
}

impl OffsetBand {
    /// The estimate: as far from either end.
    pub fn middle_ns(&self) -> i64 {
        self.low_ns + self.width_ns() / 2
    }

    /// From end to end.
    pub fn width_ns(&self) -> i64 {
        self.high_ns.saturating_sub(self.low_ns)
    }

    /// The estimate is off by no more.
    pub fn half_ns(&self) -> i64 {
        self.width_ns() - self.width_ns() / 2
    }

    /// True if the offset may be this one.
    pub fn holds(&self, offset_ns: i64) -> bool {
        (self.low_ns..=self.high_ns).contains(&offset_ns)
    }
}

/// By how much the remote clock is faster than the local one; below zero it is slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRange {
    /// No less.
    pub low_ppm: f64,
    /// No more.
    pub high_ppm: f64,
}

impl RateRange {
    /// The estimate.
    pub fn middle_ppm(&self) -> f64 {
        f64::midpoint(self.low_ppm, self.high_ppm)
    }
}

/// One of the clocks stepped, or its machine was moved or held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockStep {
    /// Local time at which the last exchange before it began.
    pub after_ns: i64,
    /// Local time at which the first exchange after it was over.
    pub before_ns: i64,
    /// By how much the remote clock is further ahead since; absent where too little is known of the time before.
    pub change: Option<OffsetBand>,
}

/// The offset over a whole measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockOffset {
    model: ClockModel,
    /// In the order of their times.
    exchanges: Vec<Exchange>,
    /// Exchanges between two steps, one range after the other; those of which it is not known on which side of a step they are, are
    /// in none.
    parts: Vec<Range<usize>>,
    steps: Vec<ClockStep>,
    contradictory: usize,
    /// Allowance for clocks that wander off a line.
    off_line_ns: f64,
}

impl ClockOffset {
    /// The offset from exchanges, in whatever order. Work grows with their number times those in a window.
    pub fn estimate(exchanges: &[Exchange], model: &ClockModel) -> Self {
        let mut usable: Vec<Exchange> =
            exchanges.iter().copied().filter(|exchange| exchange.round_trip_ns() >= 0).collect();
        usable.sort_by_key(|exchange| (exchange.sent_ns, exchange.returned_ns));
        let span_ns = match (usable.first(), usable.last()) {
            (Some(first), Some(last)) => last.returned_ns.saturating_sub(first.sent_ns),
            _ => 0,
        };
        let mut offset = ClockOffset {
            model: *model,
            contradictory: exchanges.len() - usable.len(),
            off_line_ns: model.off_line_ns(span_ns),
            parts: Vec::new(),
            steps: Vec::new(),
            exchanges: usable,
        };
        offset.parts = parts(&offset.exchanges, model, offset.off_line_ns);
        offset.steps = (1..offset.parts.len()).map(|part| offset.step_before(part)).collect();
        offset
    }

    /// The band at a time of the local clock; absent before the first exchange, after the last, and around a step.
    pub fn band_at(&self, local_ns: i64) -> Option<OffsetBand> {
        self.lines_at(local_ns)?.band_at(local_ns)
    }

    /// The mean rate over the window around a time of the local clock, or over the last one where it is near the end.
    pub fn rate_at(&self, local_ns: i64) -> Option<RateRange> {
        Some(self.lines_at(local_ns)?.rate())
    }

    /// The steps, in the order of their times.
    pub fn steps(&self) -> &[ClockStep] {
        &self.steps
    }

    /// Local times from which to which the band is known since the last step, or at all where there was none.
    pub fn since_last_step(&self) -> Option<(i64, i64)> {
        self.span(self.parts.len().checked_sub(1)?)
    }

    /// Exchanges that cannot be: their answer was sent before its question. A clock stepped within them.
    pub fn contradictory(&self) -> usize {
        self.contradictory
    }

    /// The least time on the way, there and back.
    pub fn least_round_trip_ns(&self) -> Option<i64> {
        self.exchanges.iter().map(Exchange::round_trip_ns).min()
    }

    /// A step may have come in the middle of the exchange beside it: then its end is of the other side.
    fn span(&self, part: usize) -> Option<(i64, i64)> {
        let exchanges = &self.exchanges[self.parts[part].clone()];
        let (first, last) = (exchanges.first()?, exchanges.last()?);
        let begin_ns = if part == 0 { first.sent_ns } else { first.returned_ns };
        let end_ns = if part + 1 == self.parts.len() { last.returned_ns } else { last.sent_ns };
        Some((begin_ns, end_ns))
    }

    /// All lines through the exchanges of the window around a time: half of it on each side, but for the ends of a part.
    fn lines_at(&self, local_ns: i64) -> Option<OffsetLines> {
        let known = |part: &usize| {
            self.span(*part).is_some_and(|(begin_ns, end_ns)| (begin_ns..=end_ns).contains(&local_ns))
        };
        let part = (0..self.parts.len()).find(known)?;
        let exchanges = &self.exchanges[self.parts[part].clone()];
        let (begin_ns, end_ns) = (exchanges.first()?.sent_ns, exchanges.last()?.returned_ns);
        let window_ns = self.model.window_ns;
        let latest_ns = end_ns.saturating_sub(window_ns).max(begin_ns);
        let from_ns = local_ns.saturating_sub(window_ns / 2).clamp(begin_ns, latest_ns);
        let first = exchanges.partition_point(|exchange| exchange.sent_ns < from_ns);
        let after =
            exchanges.partition_point(|exchange| exchange.sent_ns <= from_ns.saturating_add(window_ns));
        OffsetLines::with_allowance(&exchanges[first..after], self.model.rate_max_ppm, self.off_line_ns)
    }

    /// The step before a part: between the last exchange of the part before and the first of this one.
    fn step_before(&self, part: usize) -> ClockStep {
        let after = &self.parts[part];
        let known = self.parts[..part].iter().rev().find(|before| !before.is_empty());
        let before_ns = self.exchanges[after.start].returned_ns;
        let after_ns = known.map_or(before_ns, |known| self.exchanges[known.end - 1].sent_ns);
        let change = || {
            let (old, new) = (self.band_at(after_ns)?, self.band_at(before_ns)?);
            // Meanwhile the old line went on by at most this.
            let meanwhile = (before_ns - after_ns) as f64 * self.model.rate_max_ppm / 1e6;
            let meanwhile_ns = meanwhile.ceil() as i64;
            Some(OffsetBand {
                low_ns: new.low_ns.saturating_sub(old.high_ns).saturating_sub(meanwhile_ns),
                high_ns: new.high_ns.saturating_sub(old.low_ns).saturating_add(meanwhile_ns),
            })
        };
        ClockStep { after_ns, before_ns, change: change() }
    }
}
