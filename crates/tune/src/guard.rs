//! The guard over changes that are not confirmed yet: a process of its own that puts them back unless the user keeps them in time.
//!
//! It watches the journal, the terminal's session from which the changes were made, and a peer that has to stay reachable. It needs nothing
//! of the process that makes the changes: where that ends before it is done, the guard puts back what it began.

use crate::host::Host;
use crate::journal::{self, Cause, Journal, JournalError, JournalState, Places};
use crate::revert::{Reverted, Tried, note, revert_without_journal, try_all};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Between two looks at the journal. Ours.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Between two attempts to reach the peer, and the longest that one may take. Ours.
const ASK_EVERY: Duration = Duration::from_millis(500);
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// A process that makes changes and writes nothing down for so long stands still, however short the time to confirm is. Ours.
const STANDS_STILL: Duration = Duration::from_secs(5);
/// The longest that it is tried to write down that changes were put back: a full disk may get room. Ours.
const NOTE_WITHIN: Duration = Duration::from_secs(600);
/// Attempts in a row that have to fail before the peer counts as lost: a link that flaps is back within them. Ours.
const FAILURES: u32 = 4;

/// What a guard watches.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The journals' directory.
    pub places: Places,
    /// The journal.
    pub id: String,
    /// The time in which the changes have to be confirmed, from when all of them are made.
    pub within: Duration,
    /// The process whose end is the session's end.
    pub session: Option<ProcessStart>,
    /// The process that makes the changes: where it stands still it is ended, so that they can be put back.
    pub applier: Option<ProcessStart>,
    /// The peer that has to take connections, as `host:port`.
    pub peer: Option<String>,
}

/// A process by its number and start, as a number goes to another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStart {
    /// Its number.
    pub pid: u32,
    /// The tick of its start.
    pub start: u64,
}

impl ProcessStart {
    /// A process that is there.
    pub fn of(host: &Host, pid: u32) -> Option<Self> {
        let stat = Stat::of(host, pid)?;
        (!stat.is_dead).then_some(ProcessStart { pid, start: stat.start })
    }

    /// The leader of a process's session. None where that is dead, or outside what can be seen here: a process that was started into
    /// a container from its host has its leader there (`docker exec`), and the kernel says 0.
    pub fn of_session_leader(host: &Host, pid: u32) -> Option<Self> {
        Stat::of(host, pid)?
            .session
            .filter(|leader| *leader != 0)
            .and_then(|leader| ProcessStart::of(host, leader))
    }

    /// True if it is still there.
    pub fn is_there(self, host: &Host) -> bool {
        ProcessStart::of(host, self.pid) == Some(self)
    }
}

/// What the kernel says of a process (`proc_pid_stat(5)`).
struct Stat {
    is_dead: bool,
    session: Option<u32>,
    start: u64,
}

impl Stat {
    fn of(host: &Host, pid: u32) -> Option<Self> {
        let stat = host.root().read(&format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may have anything in it. What follows it begins with the third column.
        let columns: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let column = |number: usize| columns.get(number - 3).copied();
        Some(Stat {
            is_dead: matches!(column(3), Some("Z" | "X")),
            session: column(6).and_then(|leader| leader.parse().ok()),
            start: column(22)?.parse().ok()?,
        })
    }
}

/// How a guard's watch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEnd {
    /// The changes were confirmed, or put back by somebody else.
    Settled,
    /// The guard put them back.
    Reverted {
        /// Why.
        cause: Cause,
        /// What became of each.
        reverted: Reverted,
    },
}

/// True if a peer takes a connection.
pub fn reaches(peer: &str) -> bool {
    let Ok(addresses) = peer.to_socket_addrs() else { return false };
    addresses.into_iter().any(|address| TcpStream::connect_timeout(&address, ANSWER_WITHIN).is_ok())
}

impl Guard {
    /// Watches until the changes are kept or put back. `seen` is called once all of them are made and known here: from then on they come back
    /// whatever becomes of the journal.
    ///
    /// # Errors
    /// Where the journal cannot be read or written any more.
    pub fn watch(&self, host: &Host, mut seen: impl FnMut()) -> Result<WatchEnd, JournalError> {
        let path = self.places.file(&self.id)?;
        let mut deadline: Option<Instant> = None;
        let mut failures = 0;
        let mut asked = Instant::now();
        let mut known = journal::read(&path)?;
        // Open, it can be read to its end also when its name is gone.
        let mut kept = journal::Kept::open(&path)?;
        let mut moved = Instant::now();
        loop {
            let state = match journal::read(&path).ok().filter(|state| !state.is_cut(&known)) {
                Some(state) => state,
                // Who takes the journal away, or cuts it, takes away the way back, which is known here.
                None => {
                    let known = kept.state().filter(|state| !state.is_cut(&known)).unwrap_or(known);
                    if is_decided(&known) {
                        return Ok(WatchEnd::Settled);
                    }
                    self.end_applier(host);
                    let reverted = revert_without_journal(host, &known);
                    return Ok(WatchEnd::Reverted { cause: Cause::JournalLost, reverted });
                }
            };
            if state != known {
                (known, moved) = (state.clone(), Instant::now());
            }
            if state.applied.is_none() && moved.elapsed() >= self.within.max(STANDS_STILL) {
                self.end_applier(host);
            }
            if is_decided(&state) {
                return Ok(WatchEnd::Settled);
            }
            if state.applied.is_some() && deadline.is_none() {
                deadline = Some(Instant::now() + self.within);
                seen();
            }
            if let Some(peer) = &self.peer
                && asked.elapsed() >= ASK_EVERY
            {
                failures = if reaches(peer) { 0 } else { failures + 1 };
                asked = Instant::now();
            }
            let cause = match deadline {
                // Whoever makes the changes holds the lock; where it is free and they are not all made, he is gone.
                None => journal::is_free(&self.places).then_some(Cause::ApplierEnded),
                Some(deadline) if Instant::now() >= deadline => Some(Cause::NotConfirmed),
                Some(_) if failures >= FAILURES => Some(Cause::PeerLost),
                Some(_) => {
                    let is_lost = self.session.is_some_and(|session| !session.is_there(host));
                    is_lost.then_some(Cause::SessionLost)
                }
            };
            // A journal that somebody else has, or that cannot be opened for now, is tried again.
            if let Some(cause) = cause
                && let Ok(Some(end)) = self.put_back(host, cause)
            {
                return Ok(end);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Writes down that the changes are put back as soon as there is room for it. What the host has from now on is not the guard's: it is not
    /// looked at again.
    fn note_later(&self, cause: Cause, reverted: &Reverted) {
        let end = Instant::now() + NOTE_WITHIN;
        while Instant::now() < end {
            std::thread::sleep(ASK_EVERY);
            let Ok(mut journal) = Journal::reopen(&self.places, &self.id) else { continue };
            if is_decided(journal.state()) || note(&mut journal, cause, reverted).is_ok() {
                return;
            }
        }
    }

    /// Ends the process that makes the changes, if it is still there.
    fn end_applier(&self, host: &Host) {
        let Some(applier) = self.applier.filter(|applier| applier.is_there(host)) else { return };
        if let Some(pid) = i32::try_from(applier.pid).ok().and_then(rustix::process::Pid::from_raw) {
            // One that ended meanwhile needs no signal.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }

    /// Puts the changes back; none where somebody else has the journal now, or has put them back or kept them meanwhile.
    fn put_back(&self, host: &Host, cause: Cause) -> Result<Option<WatchEnd>, JournalError> {
        let is_for_others = |state: &JournalState| {
            is_decided(state) || (cause == Cause::ApplierEnded) == state.applied.is_some()
        };
        let mut journal = match Journal::reopen(&self.places, &self.id) {
            Err(JournalError::Busy { .. }) => return Ok(None),
            // It cannot be written, as on a file system that is read-only by now: the host must not stay changed for that.
            Err(JournalError::Write { .. }) => {
                let state = journal::read(&self.places.file(&self.id)?)?;
                if is_for_others(&state) {
                    return Ok(None);
                }
                let reverted = revert_without_journal(host, &state);
                self.note_later(cause, &reverted);
                return Ok(Some(WatchEnd::Reverted { cause, reverted }));
            }
            journal => journal?,
        };
        if is_for_others(journal.state()) {
            return Ok(None);
        }
        let Tried { reverted, written } = try_all(host, &mut journal, cause);
        // For whoever makes room, or looks at what is changed.
        drop(journal);
        if written.is_err() {
            self.note_later(cause, &reverted);
        }
        Ok(Some(WatchEnd::Reverted { cause, reverted }))
    }
}

/// True if the changes are kept or put back. Those that somebody began to put back and did not end are not.
fn is_decided(state: &JournalState) -> bool {
    state.confirmed.is_some() || state.reverted.is_some()
}
