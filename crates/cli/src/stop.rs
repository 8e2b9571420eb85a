//! Ctrl-C: the first asks the run to end with what it has, the second ends the program at once.
//!
//! A terminal that goes away asks as well, by SIGHUP. It does not end the program at once however often it comes: the shell and the
//! kernel send one each, and what a run has to undo would be left. Whoever wants a run to outlive its terminal ignores SIGHUP
//! (`nohup`), and it stays ignored.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code of a program that ended by Ctrl-C (128 + SIGINT), as shells expect.
const INTERRUPTED: i32 = 130;

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets.
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: the second signal finds the flag set.
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot listen for Ctrl-C")?;
    }
    if !is_ignored(SIGHUP) {
        signal_hook::flag::register(SIGHUP, Arc::clone(&stop))
            .context("cannot listen for the terminal's end")?;
    }
    Ok(stop)
}

/// Whether whoever started this program has it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = fs_err::read_to_string("/proc/self/status") else { return false };
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}
