//! Errors of changes that may not be made now, or cannot be written down.

use super::VARIABLE;
use super::record::JournalOwner;
use super::state::JournalState;
use plumb_model::fault::{Fault, HasFault};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Somebody else's change to this host, or a journal that cannot be had.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "each variant's message says what it is")]
pub enum JournalError {
    #[error("{} changes this host now", owner_words(owner.as_deref()))]
    Busy { owner: Option<Box<JournalOwner>> },
    #[error("{}; {}", left_words(&left.opened.owner), left.left())]
    Left { left: Box<JournalState>, journal: PathBuf },
    #[error("cannot write down in {} that this host is changed", place.display())]
    Write {
        place: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write any more into the journal {}", path.display())]
    Append {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "changes {id} were made in another network namespace ({network}); in this one their settings are others"
    )]
    OtherNetwork { id: String, network: String },
    #[error("cannot read the journal {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no changes {id:?} are written down in {}", place.display())]
    None { id: String, place: PathBuf },
    #[error("the journal {} was written by plumb {version}, which this version cannot read", path.display())]
    Later { path: PathBuf, version: String },
    #[error("the journal {} was cut off within its first line, so that it does not say what was changed", path.display())]
    CutOff { path: PathBuf },
    #[error("the journal {} is damaged in line {line}: {reason}", path.display())]
    Damaged { path: PathBuf, line: usize, reason: String },
}

fn owner_words(owner: Option<&JournalOwner>) -> String {
    match owner {
        None => "another process".to_owned(),
        Some(JournalOwner::Plan { .. }) => "`plumb tune`".to_owned(),
        Some(JournalOwner::Trial { run, .. }) => format!("the trial {}", run.display()),
    }
}

fn left_words(owner: &JournalOwner) -> String {
    match owner {
        JournalOwner::Plan { .. } => {
            "changes of `plumb tune` to this host are neither confirmed nor put back".to_owned()
        }
        JournalOwner::Trial { run, .. } => format!(
            "a trial that was killed may have left settings of this host changed, or its commands not undone: {}",
            run.display()
        ),
    }
}

impl HasFault for JournalError {
    fn fault(&self) -> Fault {
        match self {
            JournalError::None { .. } | JournalError::OtherNetwork { .. } => Fault::User,
            _ => Fault::Environment,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            JournalError::Busy { .. } => "wait until it ends, or stop it".to_owned(),
            JournalError::Left { left, journal } => left.way_out(journal),
            JournalError::Write { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                format!("nothing was changed. Make room there, or name another directory with {VARIABLE}")
            }
            JournalError::Write { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                format!("nothing was changed. The file system is read-only: name another directory with {VARIABLE}")
            }
            JournalError::Write { .. } => format!(
                "nothing was changed. Run it as root; a user who may change these settings needs a place that is theirs: HOME or \
                 XDG_STATE_HOME, and {VARIABLE} can name a directory that everybody on this host may write"
            ),
            JournalError::Append { .. } => {
                "make room where the journal is; plumb tune status says what is changed, and plumb tune revert puts it back".to_owned()
            }
            JournalError::OtherNetwork { .. } => {
                "do it there: nsenter --net=/proc/PID/ns/net plumb tune revert, with a process of that namespace".to_owned()
            }
            JournalError::Read { .. } => "journals are readable by whoever wrote them".to_owned(),
            JournalError::None { .. } => "plumb tune history lists what is written down".to_owned(),
            JournalError::Later { version, .. } => format!("put it back with plumb {version} or later"),
            JournalError::CutOff { .. } => {
                "see that this host's settings are as they should be, then remove the file".to_owned()
            }
            JournalError::Damaged { .. } => {
                "each line is a record with the value before the change: put back by hand what there is, then remove the file".to_owned()
            }
        };
        Some(hint.into())
    }
}
