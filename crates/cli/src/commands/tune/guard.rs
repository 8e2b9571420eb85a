//! `plumb tune guard`: the process over changes that have to be confirmed. `plumb tune apply` starts it; it outlives its terminal.

use crate::args::tune::GuardArgs;
use crate::commands::End;
use crate::printer;
use anyhow::{Context, Result};
use plumb_tune::guard::{Guard, ProcessStart};
use plumb_tune::journal::Places;
use signal_hook::consts::SIGHUP;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The line by which it says that it watches.
pub(super) const WATCHING: &str = "watching";

/// The line by which it says that it knows all changes.
pub(super) const HOLDS: &str = "holds";

pub(super) fn guard(arguments: &GuardArgs) -> Result<End> {
    // A session of its own, so that the terminal's end is not its own; and a signal that comes all the same is not heard.
    rustix::process::setsid().context("cannot leave the terminal's session")?;
    signal_hook::flag::register(SIGHUP, Arc::new(AtomicBool::new(false)))
        .context("cannot ignore the terminal's end")?;
    let process = |numbers: &[u64]| match numbers {
        [pid, start] => u32::try_from(*pid).ok().map(|pid| ProcessStart { pid, start: *start }),
        _ => None,
    };
    let host = super::host::with_cluster(arguments.bootstrap.as_deref(), arguments.config.as_deref())?;
    let guard = Guard {
        places: Places::here(),
        id: arguments.id.clone(),
        within: Duration::from_nanos(arguments.within.0),
        session: process(&arguments.session),
        applier: process(&arguments.applier),
        peer: arguments.peer.clone(),
    };
    printer::out(&format!("{WATCHING}\n"));
    // Whoever applies them may be gone by then.
    guard.watch(&host, || drop(writeln!(std::io::stdout(), "{HOLDS}")))?;
    Ok(End::Done)
}
