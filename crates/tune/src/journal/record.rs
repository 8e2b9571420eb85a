//! The records of a journal.

use jiff::Timestamp;
use plumb_model::change::Change;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The first line.
    Opened(Opened),
    /// A process watches over the changes from now on.
    Guarded {
        /// Its number.
        pid: u32,
        /// The tick of its start: its number goes to another process later.
        start: u64,
    },
    /// A change is going to be made.
    Begun {
        /// Its number in this journal, from 1.
        step: u32,
        /// What it changes, and the way back.
        change: Change,
        /// What the changed thing is known by beside its name.
        identity: Option<String>,
    },
    /// It was made.
    Done {
        /// Its number.
        step: u32,
        /// What the setting reads now.
        reads: String,
        /// What is in effect, where that is something else.
        effective: Option<String>,
    },
    /// It was not made, because it cannot be on this host.
    Skipped {
        /// Its number.
        step: u32,
        /// The reason.
        reason: String,
    },
    /// A command of the user's is going to be run before a block; another one has to be run after it.
    CommandBegun(PendingCommand),
    /// The command after the block was run.
    CommandDone,
    /// All changes were made.
    Applied {
        /// When.
        at: Timestamp,
    },
    /// The user keeps them.
    Confirmed {
        /// When.
        at: Timestamp,
    },
    /// They are going to be put back.
    Reverting {
        /// When.
        at: Timestamp,
        /// Why.
        cause: Cause,
    },
    /// One was looked at in order to put it back.
    Restored {
        /// Its number.
        step: u32,
        /// What became of it.
        outcome: Restored,
    },
    /// All that could be put back is.
    Reverted {
        /// When.
        at: Timestamp,
    },
}

/// The head of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The form of the records.
    pub schema_version: u32,
    /// The program that writes it.
    pub plumb_version: String,
    /// The journal's name.
    pub id: String,
    /// When it began.
    pub opened: Timestamp,
    /// The kernel's start in which it began.
    pub boot_id: Option<String>,
    /// The network namespace whose settings are changed.
    #[serde(default)]
    pub network: Option<String>,
    /// The list of processes in which it was opened, likewise; none in journals that did not know it.
    #[serde(default)]
    pub processes: Option<String>,
    /// Who changes the host.
    pub owner: JournalOwner,
}

/// Who changes a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalOwner {
    /// A plan that is applied.
    Plan {
        /// Seconds until it is put back, unless it is confirmed; none: it stays until it is reverted.
        confirm_within_s: Option<u64>,
        /// The number of changes.
        changes: u32,
        /// The brokers whose settings are among them.
        bootstrap: Option<String>,
    },
    /// A trial, whose arms change the host in turn.
    Trial {
        /// Its directory, absolute.
        run: PathBuf,
        /// The brokers whose settings its arms change; none where it changes none, or its own lab's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bootstrap: Option<String>,
    },
}

/// A command of the user's that has to be run after a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCommand {
    /// The arm whose block it is.
    pub arm: String,
    /// The pair of blocks, from 1.
    pub pair: u32,
    /// The brokers that it is told.
    pub bootstrap: String,
    /// The command.
    pub command: String,
}

/// Why changes are put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The user asked for it.
    Asked,
    /// A change failed.
    StepFailed,
    /// The user stopped it while it was applied.
    Stopped,
    /// Nobody confirmed in time.
    NotConfirmed,
    /// The process that applied it ended before it was done.
    ApplierEnded,
    /// The terminal from which it was applied is gone.
    SessionLost,
    /// The named peer cannot be reached any more.
    PeerLost,
    /// The journal was taken away, or can no longer be read.
    JournalLost,
    /// The block of a trial is over.
    BlockOver,
}

/// What became of a change when it was to be put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restored {
    /// It reads as before.
    Restored,
    /// It read as before already.
    Unchanged,
    /// Somebody else has changed it since: it is left as it is.
    Foreign {
        /// What it reads.
        reads: String,
    },
    /// What was changed is not there any more.
    Gone {
        /// In words.
        reason: String,
    },
    /// It could not be put back.
    Failed {
        /// In words.
        reason: String,
    },
}

impl Restored {
    /// True if nothing more is to be done about it.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Restored::Failed { .. })
    }
}
