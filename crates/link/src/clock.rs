//! How far a worker's `CLOCK_MONOTONIC` is ahead of the coordinator's, from exchanges that go on as long as the link lives.
//!
//! The estimate is `plumb_stats::clock_offset`'s. What is newer than half of its window may still become better, so exchanges are kept for
//! as long as they matter to one; older times are kept as bands, one each second. The exchanges themselves: `clock/exchange.rs`.

mod exchange;
mod history;

pub(crate) use exchange::{answer_questions, ask_first, ask_on};
pub use history::Identity;

use history::History;
use plumb_stats::clock_offset::{ClockStep, OffsetBand, RateRange, TimedBand, WallExchange};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The coordinator's knowledge of a worker's clock. Above zero, the worker's is ahead.
#[derive(Clone)]
pub struct PeerClock {
    history: Arc<Mutex<History>>,
}

impl PeerClock {
    pub(crate) fn new(identity: Option<i64>) -> Self {
        PeerClock { history: Arc::new(Mutex::new(History::new(identity))) }
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, exchange: &WallExchange) {
        self.history().push(exchange);
    }

    /// The band at a time of the coordinator's `CLOCK_MONOTONIC`: without width where both are one clock; else absent before the first
    /// exchange, after the last, and around a step.
    #[must_use]
    pub fn offset_at(&self, monotonic_ns: i64) -> Option<OffsetBand> {
        self.history().band_at(monotonic_ns)
    }

    /// The band as it is now known, and the coordinator's time for which it holds: that of the last exchange.
    #[must_use]
    pub fn latest(&self) -> Option<TimedBand> {
        self.history().latest()
    }

    /// What the exchanges alone say at a time, also where both are one clock.
    #[must_use]
    pub fn measured_at(&self, monotonic_ns: i64) -> Option<OffsetBand> {
        self.history().measured_at(monotonic_ns)
    }

    /// Whether both hosts read one clock, by what they say of themselves and by whether the exchanges agree.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.history().identity()
    }

    /// True if both read the clock of one boot, by what they say, and no exchange contradicts.
    #[must_use]
    pub fn one_clock(&self) -> bool {
        matches!(self.identity(), Identity::OneClock { .. })
    }

    /// Times at which one of the clocks stepped, or its machine was moved or held, by the coordinator's `CLOCK_MONOTONIC`.
    #[must_use]
    pub fn steps(&self) -> Vec<ClockStep> {
        self.history().steps()
    }

    /// The least time on the way, there and back, since the link began.
    #[must_use]
    pub fn least_round_trip_ns(&self) -> Option<i64> {
        self.history().least_round_trip_ns()
    }

    /// By how much the worker's oscillator is faster, over the last window.
    #[must_use]
    pub fn rate(&self) -> Option<RateRange> {
        self.history().rate()
    }

    /// Exchanges since the link began.
    #[must_use]
    pub fn exchanges(&self) -> u64 {
        self.history().exchanges()
    }
}
