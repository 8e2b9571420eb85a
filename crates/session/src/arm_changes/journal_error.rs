//! Errors of a trial that may not change this host: another trial changes it, or the change cannot be written down.

use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The environment's name of the directory in which changes are written down, for all trials of a host alike.
pub(super) const VARIABLE: &str = "PLUMB_RUNTIME_DIR";

/// Another trial's change to this host, or no place to write down one's own.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum JournalError {
    #[error("another trial changes this host now: {run}")]
    Busy { run: String },
    #[error(
        "a trial that was killed may have left settings of this host changed, or its commands not undone: {run}; {left}"
    )]
    Left { run: String, left: String, gone: bool, journal: PathBuf },
    #[error("cannot write down in {place} that this host is changed")]
    Write {
        place: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl HasFault for JournalError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            JournalError::Busy { .. } => "wait until it ends, or stop it".to_owned(),
            JournalError::Left { run, gone: false, .. } => {
                format!("plumb trial run --resume {run} puts them back and goes on with it")
            }
            JournalError::Left { journal, .. } => {
                format!("its directory is gone: put them back by hand, then remove {}", journal.display())
            }
            JournalError::Write { .. } => format!(
                "run the trial as root. A user who may change these settings needs a place that is theirs: a login sets \
                 XDG_RUNTIME_DIR, and {VARIABLE} can name a directory that every trial on this host may write"
            ),
        };
        Some(hint.into())
    }
}
