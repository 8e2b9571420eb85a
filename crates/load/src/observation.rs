//! The observations that a block pushes while it runs, and the sink that takes them.

use plumb_stats::histogram::{CompactHistogram, Histogram, HistogramError};
use serde::{Deserialize, Serialize};

/// Whoever takes what a running block observes: a recorder, a live view, a web page. All are equal.
pub trait Sink {
    /// Takes one observation. It must return soon: the block's own bookkeeping waits for it (its sending does not).
    fn observe(&mut self, observation: Observation<'_>);
}

impl<F: FnMut(Observation<'_>)> Sink for F {
    fn observe(&mut self, observation: Observation<'_>) {
        self(observation);
    }
}

/// Something observed.
#[derive(Debug)]
pub enum Observation<'a> {
    /// Clients, group and partitions are ready: the first message is due within milliseconds.
    ScheduleBegins,
    /// The first measured message is due now.
    MeasuredPartBegins,
    /// The end of so many whole seconds of the block. Left out where that could not be told in time.
    SecondBegins(u32),
    /// The last measured message was sent. Comes only after `MeasuredPartBegins`.
    MeasuredPartEnds,
    /// The observations of one thread in one second.
    Second(&'a SecondPart),
}

/// The observations of one thread in one second of a block, by the time at which things happened. With [`CompactHistogram`]s it is the
/// form in which it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct SecondPart<H = Histogram> {
    /// Seconds since the block's first intended send.
    pub second: u32,
    /// True if this is about warm-up messages.
    pub warm_up: bool,
    /// Messages sent.
    pub sent: u64,
    /// Messages acknowledged.
    pub acked: u64,
    /// First receptions.
    pub received: u64,
    /// Times from the intended send time.
    pub response: H,
    /// Times from the actual send time.
    pub service: H,
    /// The measure of the histograms.
    pub measure: Measure,
    /// The process whose messages they are, where its clock is another one; none: times are of one clock.
    pub origin: Option<Origin>,
}

/// Another process whose messages came, and what was taken for the difference of the clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Its place among the processes of the block.
    pub segment: u16,
    /// The clock on which the message came minus that on which it was sent, as it was taken.
    pub ahead_ns: i64,
}

/// The measure that a thread records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// The schedule's slip (response only).
    Slip,
    /// Acknowledge latency.
    Acknowledge,
    /// End-to-end latency.
    EndToEnd,
}

impl SecondPart {
    /// An empty part.
    pub fn new(measure: Measure) -> Self {
        SecondPart {
            second: 0,
            warm_up: false,
            sent: 0,
            acked: 0,
            received: 0,
            response: Histogram::new(),
            service: Histogram::new(),
            measure,
            origin: None,
        }
    }

    /// Adds what another thread observed in the same second.
    pub(crate) fn absorb(&mut self, other: &SecondPart) {
        self.absorb_counts(other);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    /// Adds what threads of another process observed in the same second, with their times moved by so much.
    ///
    /// # Errors
    /// When its times cannot be what was recorded; then the part may be added in part, and is not to be used.
    pub(crate) fn absorb_sent(
        &mut self,
        other: &SecondPart<CompactHistogram>,
        move_ns: i64,
    ) -> Result<(), HistogramError> {
        self.response.add_moved(&other.response, move_ns)?;
        self.service.add_moved(&other.service, move_ns)?;
        self.absorb_counts(other);
        Ok(())
    }

    /// Adds the counts alone.
    pub(crate) fn absorb_counts<H>(&mut self, other: &SecondPart<H>) {
        self.sent += other.sent;
        self.acked += other.acked;
        self.received += other.received;
    }

    /// As it is sent.
    pub(crate) fn to_send(&self) -> SecondPart<CompactHistogram> {
        SecondPart {
            second: self.second,
            warm_up: self.warm_up,
            sent: self.sent,
            acked: self.acked,
            received: self.received,
            response: (&self.response).into(),
            service: (&self.service).into(),
            measure: self.measure,
            origin: self.origin,
        }
    }

    /// Empties it for reuse.
    pub(crate) fn clear(&mut self) {
        (self.sent, self.acked, self.received) = (0, 0, 0);
        self.response.clear();
        self.service.clear();
    }
}
