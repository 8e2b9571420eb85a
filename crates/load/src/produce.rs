//! A producer's account, whatever the driver: the messages it sent, their fate, and those still under way.

use crate::acknowledged::Acknowledged;
use crate::error_counts::{ErrorCounts, ErrorWords};
use crate::schedule::{Due, Share};
use crate::shared::Shared;
use crate::statistics::StatisticsSum;
use crate::verify::RunningSet;
use plumb_model::plan::Mode;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state that the threads of a producer share.
///
/// Each counter is written by one thread only, so that neither waits for the other's cache line at every message.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    /// Handed to the client so far. Only the thread that sends writes it.
    handed_over: AtomicU64,
    /// Reported so far, or taken back. Only the thread that hears the reports writes it.
    reported: Padded,
    /// The sender waits for a report.
    pub(crate) waiting: AtomicBool,
}

/// A counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

impl Outstanding {
    /// Handed to the client and not yet reported.
    pub(crate) fn count(&self) -> u64 {
        // In this order, so that what is reported was surely handed over.
        let reported = self.reported.0.load(Ordering::Acquire);
        self.handed_over.load(Ordering::Acquire).saturating_sub(reported)
    }

    /// The thread that sends hands over so many; before it does, because the report may come before the call returns.
    pub(crate) fn hand_over(&self, messages: u64) {
        let before = self.handed_over.load(Ordering::Relaxed);
        self.handed_over.store(before + messages, Ordering::Release);
    }

    /// As many are under way in another process, as it says.
    pub(crate) fn set(&self, under_way: u64) {
        let reported = self.reported.0.load(Ordering::Acquire);
        self.handed_over.store(reported + under_way, Ordering::Release);
    }

    /// The client did not take a message.
    pub(crate) fn take_back(&self) {
        let before = self.handed_over.load(Ordering::Relaxed);
        self.handed_over.store(before.saturating_sub(1), Ordering::Release);
    }

    /// The thread that hears the reports heard of so many.
    pub(crate) fn report(&self, messages: u64) {
        let before = self.reported.0.load(Ordering::Relaxed);
        self.reported.0.store(before + messages, Ordering::Release);
    }
}

/// The account of a sender.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Measured messages that were due and tried.
    pub(crate) intended: u64,
    /// Measured messages that the client took.
    pub(crate) measured: u64,
    /// All messages that the client took.
    pub(crate) all: u64,
    pub(crate) queue_full_waits: u64,
    pub(crate) first_due_ns: Option<u64>,
    pub(crate) last_due_ns: Option<u64>,
    pub(crate) errors: ErrorCounts,
}

impl Sent {
    /// Counts the rest of the schedule of a block that began at `at` as not sent: its time is over. It was due all the same.
    pub(crate) fn leave_out(&mut self, rest: impl Iterator<Item = Due>, at: u64) {
        for due in rest.filter(|due| due.measured) {
            let due_ns = at + due.offset_ns;
            self.intended += 1;
            self.first_due_ns.get_or_insert(due_ns);
            self.last_due_ns = Some(due_ns);
        }
    }
}

/// What has no report when a block ends.
pub(crate) const UNDER_WAY: ErrorWords = ErrorWords {
    code: "UNDER_WAY",
    text: "still under way when the block ended: whether the brokers have them is not known",
};
/// Those of them of which the logs say more.
pub(crate) const NEVER_SENT: ErrorWords = ErrorWords {
    code: "NEVER_SENT",
    text: "taken by a client program, which told nothing of them when the block ended, and no log has them",
};

/// The account of the delivery reports.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reported {
    /// Measured messages acknowledged.
    pub(crate) acked: RunningSet,
    /// Bytes of their values.
    pub(crate) acked_bytes: u64,
    pub(crate) failed: u64,
    /// Probes and warm-up included.
    pub(crate) acked_all: u64,
    /// The offsets that were reported, probes and warm-up included.
    pub(crate) offsets: Acknowledged,
    pub(crate) failed_all: u64,
    /// Measured messages that a program of its own was ordered to send, and told nothing of.
    pub(crate) untold: u64,
    /// The time at which the last measured message was acknowledged.
    pub(crate) last_ack_ns: Option<u64>,
    pub(crate) statistics: StatisticsSum,
    pub(crate) errors: ErrorCounts,
}

impl Reported {
    /// Notes that so many messages have no report, and will have none.
    pub(crate) fn note_under_way(&mut self, messages: u64) {
        if messages > 0 {
            self.errors.note_times("produce", UNDER_WAY.code, UNDER_WAY.text, messages);
        }
    }
}

/// The times at which a producer's messages are due: as scheduled, or at once, again and again, until the block has enough.
#[derive(Debug)]
pub(crate) enum Course<I> {
    /// Each at its time.
    Scheduled(I),
    /// As fast as possible.
    Saturating(Saturating),
}

/// As fast as possible: first a warm-up by the clock, then the measured part by the clock or by a count that the producers
/// share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saturating {
    warm_up_ns: u64,
    share: Share,
}

/// The messages that a saturating producer may send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// So many messages of the warm-up.
    WarmUp(u64),
    /// So many measured messages.
    Measured(u64),
    /// No more.
    Nothing,
}

impl Saturating {
    pub(crate) fn new(warm_up_ns: u64, share: Share) -> Self {
        Saturating { warm_up_ns, share }
    }

    /// True if the block's messages are counted, not timed.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.share, Share::Count(_))
    }

    /// Allows at most `wanted` messages at this time. Messages that are allowed of a count must be sent: nobody else is allowed
    /// them.
    pub(crate) fn allow(&self, shared: &Shared<'_>, at: u64, now: u64, wanted: u64) -> Allowed {
        let measured_from = at + self.warm_up_ns;
        if now < measured_from || shared.backlog_is_growing() {
            return Allowed::WarmUp(wanted);
        }
        match self.share {
            Share::Time(time) => {
                // A backlog ends its own build; what fills a topic begins at once.
                let from = match shared.load.mode {
                    Mode::Backlog(_) => shared.measured_from_ns(),
                    Mode::Mixed | Mode::Produce | Mode::Consume => measured_from,
                };
                if now < from.saturating_add(time.0) { Allowed::Measured(wanted) } else { Allowed::Nothing }
            }
            Share::Count(count) => match shared.claim(wanted, count) {
                0 => Allowed::Nothing,
                granted => Allowed::Measured(granted),
            },
        }
    }
}
