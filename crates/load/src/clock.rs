//! The one monotonic clock of a run, in nanoseconds since the program first asked.
//!
//! CLOCK_MONOTONIC through the vDSO: about 25 ns a reading, no system call. Producer and consumer are in one process,
//! so both ends of a latency are read from the same clock and no offset enters.

use std::sync::OnceLock;
use std::time::Instant;

static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the first call in this process.
pub(crate) fn now_ns() -> u64 {
    let elapsed = ORIGIN.get_or_init(Instant::now).elapsed();
    elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
}
