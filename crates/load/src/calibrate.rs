//! The instrument's own errors: cost and step of the clock, lateness of its wake-ups.

use crate::clock::now_ns;
use crate::pace::{MAX_SPIN_NS, Pace, sharpen_timers};
use plumb_stats::histogram::Histogram;

/// The instrument's own quality.
#[derive(Debug)]
pub struct Calibration {
    /// Cost of reading the clock.
    pub clock_read_ns: f64,
    /// Smallest step of the clock seen.
    pub clock_step_ns: u64,
    /// Lateness of the sleep-and-spin that sends use.
    pub wake_late: Histogram,
    /// The time before a send at which spinning starts: nine of ten plain sleeps are late by at most this.
    pub spin_ns: u64,
}

/// A schedule that was kept, without a load.
#[derive(Debug)]
pub struct Paced {
    /// The time before a send at which the sleep ended: the pace shortens it when the sends are close together.
    pub spin_ns: u64,
    /// The lateness that each send would have had.
    pub late: Histogram,
}

const CLOCK_READS: u32 = 20_000;
const WAKES: u64 = 200;
const WAKE_GAP_NS: u64 = 500_000;

/// Measures clock and timers; takes about a quarter of a second.
pub fn calibrate() -> Calibration {
    sharpen_timers();
    let (clock_read_ns, clock_step_ns) = clock_quality();
    let sleep_late = wake_lateness(Pace::new(0, 1.0));
    let spin_ns = sleep_late.at_quantile(0.9).unwrap_or(0).min(MAX_SPIN_NS);
    let wake_late = wake_lateness(Pace::new(spin_ns, 1.0));
    Calibration { clock_read_ns, clock_step_ns, wake_late, spin_ns }
}

/// Lateness of `sends` sends on a schedule of `rate_per_s`, without the send; fewer when `stop` says so.
pub fn pacing(rate_per_s: f64, spin_ns: u64, sends: u64, mut stop: impl FnMut() -> bool) -> Paced {
    sharpen_timers();
    let pace = Pace::new(spin_ns, rate_per_s);
    let gap_ns = 1e9 / rate_per_s;
    let mut late = Histogram::new();
    let start = now_ns() + gap_ns as u64;
    for send in 0..sends {
        let due = start + (send as f64 * gap_ns) as u64;
        if !pace.wait(due, |_| stop()) {
            break;
        }
        late.record_span(due, now_ns());
    }
    Paced { spin_ns: pace.spin_ns(), late }
}

fn clock_quality() -> (f64, u64) {
    let start = now_ns();
    let mut last = start;
    let mut step = u64::MAX;
    for _ in 0..CLOCK_READS {
        let now = now_ns();
        if now > last {
            step = step.min(now - last);
        }
        last = now;
    }
    ((last - start) as f64 / f64::from(CLOCK_READS), step)
}

fn wake_lateness(pace: Pace) -> Histogram {
    let mut late = Histogram::new();
    let mut due = now_ns();
    for _ in 0..WAKES {
        due = now_ns().max(due) + WAKE_GAP_NS;
        pace.wait(due, |_| false);
        late.record_span(due, now_ns());
    }
    late
}
