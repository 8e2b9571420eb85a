//! Identities: processes that cannot be mistaken for a later one with the same number, this boot of this machine, and random
//! names.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// A process: its number together with its start time, since the system uses numbers again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessId {
    pub(super) pid: i32,
    /// Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process.
    start_ticks: u64,
}

impl ProcessId {
    /// The process that has this number now, unless it has ended.
    pub(super) fn read(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Self { pid, start_ticks: running_start_ticks(&stat)? })
    }

    /// A process that had ended before it could be looked at. It equals no living one.
    pub(super) fn ended(pid: i32) -> Self {
        Self { pid, start_ticks: u64::MAX }
    }

    /// This process.
    pub(super) fn own() -> Option<Self> {
        Self::read(i32::try_from(std::process::id()).ok()?)
    }

    pub(super) fn is_alive(self) -> bool {
        Self::read(self.pid) == Some(self)
    }

    /// Sends the signal to this process and to no later one of the same number. Does nothing when it has ended.
    pub(super) fn signal(self, signal: Signal) {
        if let Some(fd) = self.open() {
            // It may end at any moment; then there is nobody left to tell.
            let _ = pidfd_send_signal(&fd, signal);
        }
    }

    /// True if the process has ended by the end of `timeout`.
    pub(super) fn has_ended_within(self, timeout: Duration) -> bool {
        let Some(fd) = self.open() else { return true };
        let Ok(timeout) = Timespec::try_from(timeout) else { return false };
        // Readable means ended (pidfd_open(2)). An interrupted wait counts as still running; callers ask again.
        matches!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)), Ok(1..))
    }

    /// A handle to the process. It is opened before the identity is compared, so that the number cannot change hands
    /// in between.
    fn open(self) -> Option<rustix::fd::OwnedFd> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        self.is_alive().then_some(fd)
    }
}

/// The start time in a line of `/proc/PID/stat`, unless it says that the process is dead and only waits to be reaped.
fn running_start_ticks(stat: &str) -> Option<u64> {
    // The second field is the command in parentheses, and may itself hold spaces and parentheses.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?;
    let start_ticks = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start_ticks)
}

/// The scope in which process numbers are unique: one boot of one machine, seen from one PID namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessScope {
    machine: String,
    boot: String,
    pid_namespace: String,
}

impl ProcessScope {
    pub(super) fn here() -> Self {
        let line = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            machine: line("/etc/machine-id"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            pid_namespace: std::fs::read_link("/proc/self/ns/pid")
                .map(|target| target.to_string_lossy().into_owned())
                .unwrap_or_default(),
        }
    }

    /// True if process numbers written down at `self` can be compared with those seen at `here`.
    pub(super) fn shares_processes_with(&self, here: &Self) -> bool {
        !self.boot.is_empty() && self.boot == here.boot && self.pid_namespace == here.pid_namespace
    }

    /// True if `self` was this machine before it was restarted, so that no process of then is left.
    pub(super) fn is_earlier_boot_of(&self, here: &Self) -> bool {
        !self.machine.is_empty()
            && self.machine == here.machine
            && !self.boot.is_empty()
            && self.boot != here.boot
    }
}

/// A random word of letters and digits: for names, cluster ids and passwords.
pub(super) fn random_word(length: usize) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut word = String::with_capacity(length);
    while word.len() < length {
        let mut bytes = [0u8; 64];
        // It fails only when a signal comes in between (getrandom(2)); then it is asked again.
        let filled =
            rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
        // 248 = 4 x 62: taking only bytes below it keeps every letter equally likely.
        let letters = bytes[..filled].iter().filter(|&&byte| byte < 248);
        word.extend(
            letters.map(|&byte| char::from(ALPHABET[usize::from(byte % 62)])).take(length - word.len()),
        );
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let line = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        assert_eq!(running_start_ticks(line), Some(4711));
    }

    #[test]
    fn a_process_that_waits_to_be_reaped_counts_as_ended() {
        let line = "12 (java) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        assert_eq!(running_start_ticks(line), None);
    }

    #[test]
    fn this_process_is_alive_and_one_that_started_earlier_under_its_number_is_not() {
        let own = ProcessId::own().unwrap();
        assert!(own.is_alive());
        assert!(!ProcessId { start_ticks: own.start_ticks - 1, ..own }.is_alive());
    }

    #[test]
    fn a_signal_does_not_reach_a_process_that_only_has_the_same_number() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = ProcessId::read(child.id().try_into().unwrap()).unwrap();
        ProcessId { start_ticks: id.start_ticks + 1, ..id }.signal(Signal::KILL);
        assert!(id.is_alive());
        id.signal(Signal::KILL);
        assert!(id.has_ended_within(Duration::from_secs(10)));
        child.wait().unwrap();
        assert!(!id.is_alive());
    }

    #[test]
    fn only_a_known_machine_can_be_said_to_have_been_restarted() {
        let place = |machine: &str, boot: &str| ProcessScope {
            machine: machine.into(),
            boot: boot.into(),
            pid_namespace: "pid:[1]".into(),
        };
        assert!(place("m", "b1").is_earlier_boot_of(&place("m", "b2")));
        assert!(!place("", "b1").is_earlier_boot_of(&place("", "b2")));
        assert!(!place("m", "b1").is_earlier_boot_of(&place("n", "b2")));
        assert!(!place("m", "b1").shares_processes_with(&place("m", "b2")));
    }
}
