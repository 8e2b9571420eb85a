//! Ctrl-C: the first asks the run to end with what it has, a second one ends the program at once.
//!
//! One request may come as several signals: `timeout` signals the program and then its process group, and a wrapper passes on what
//! the terminal sent to both. Signals that follow the first within [`SAME_REQUEST`] are therefore that first request.
//!
//! A terminal that goes away asks as well, by SIGHUP. It does not end the program at once however often it comes: the shell and the
//! kernel send one each, and what a run has to undo would be left. Whoever wants a run to outlive its terminal ignores SIGHUP
//! (`nohup`), and it stays ignored.

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

/// Exit code of a program that ended by Ctrl-C (128 + SIGINT), as shells expect.
const INTERRUPTED: i32 = 130;

/// A second signal within this time is a copy of the first. Ours: above the delay of a copy on a busy host, below the time in which
/// someone sees that the first was not enough.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets.
pub(crate) fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // Set in the handler itself: a wait that the signal ends finds the flag set.
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot listen for Ctrl-C")?;
    }
    end_at_a_second_request().context("cannot listen for Ctrl-C")?;
    if !is_ignored(SIGHUP) {
        signal_hook::flag::register(SIGHUP, Arc::clone(&stop))
            .context("cannot listen for the terminal's end")?;
    }
    Ok(stop)
}

/// Ends the program at once when it is asked a second time to end.
fn end_at_a_second_request() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            if first.get_or_insert_with(Instant::now).elapsed() >= SAME_REQUEST {
                low_level::exit(INTERRUPTED);
            }
        }
    })?;
    Ok(())
}

/// True if whoever started this program has it ignore a signal.
fn is_ignored(signal: i32) -> bool {
    let Ok(status) = fs_err::read_to_string("/proc/self/status") else { return false };
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}
