//! This host's clocks, read together: `CLOCK_MONOTONIC`, which times services slew and by which every load is timed, and
//! `CLOCK_MONOTONIC_RAW`, which nobody steers. In the exchanges the first has the place of the wall clock.

use plumb_stats::clock_offset::WallReading;
use rustix::time::{ClockId, clock_gettime};

/// Read within this it is as good as it gets: two readings without a system call take some 50 ns.
const CLOSE_NS: i64 = 1_000;
/// Readings at most: a thread that was held up between two of them tries again.
const READINGS_MAX: u32 = 3;

/// The monotonic clock between two readings of the raw clock, the last of a few where the thread was held up.
pub(crate) fn reading() -> WallReading {
    let mut reading = once();
    for _ in 1..READINGS_MAX {
        if reading.after_ns - reading.before_ns <= CLOSE_NS {
            break;
        }
        let next = once();
        // Both hold; the closer one says more. Time that went by in between is on the way's account.
        if next.after_ns - next.before_ns < reading.after_ns - reading.before_ns {
            reading = next;
        }
    }
    reading
}

fn once() -> WallReading {
    WallReading {
        before_ns: read_ns(ClockId::MonotonicRaw),
        wall_ns: read_ns(ClockId::Monotonic),
        after_ns: read_ns(ClockId::MonotonicRaw),
    }
}

fn read_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
