//! The wall clock and the oscillator's clock of this host, read together.

use super::system::read_ns;
use plumb_stats::clock_offset::WallReading;

/// The wall clock between two readings of the raw clock, which counts the oscillator's ticks and is never steered.
pub(crate) fn wall_reading() -> WallReading {
    let read = |clock| read_ns(clock) as i64;
    let before_ns = read(libc::CLOCK_MONOTONIC_RAW);
    let wall_ns = read(libc::CLOCK_REALTIME);
    WallReading { before_ns, wall_ns, after_ns: read(libc::CLOCK_MONOTONIC_RAW) }
}
