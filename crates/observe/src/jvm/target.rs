//! The process that is asked: its owner, its number and its `/tmp` as it sees them itself, in whatever namespaces it runs.
//!
//! Root asks another user's JVM as that user: HotSpot serves its own user alone (before Java 11 not even root), and what is done in
//! a directory that others may write to is done with no more rights than they have.

use super::attach_error::AttachError;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::process::{Gid, Pid, PidfdFlags, Signal, Uid, getegid, geteuid, pidfd_open, pidfd_send_signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

/// A process, held by handles that stay with it: its number may be another's when it has ended.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) pid: u32,
    /// Its number within its own namespace.
    pub(super) inside: u32,
    pub(super) owner: Owner,
    handle: OwnedFd,
    tmp: OwnedFd,
}

/// The user and group as whom a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Owner {
    fn this_process() -> Self {
        Owner { uid: geteuid().as_raw(), gid: getegid().as_raw() }
    }
}

impl Target {
    /// Takes hold of a process that this user may ask.
    pub(super) fn new(pid: u32) -> Result<Self, AttachError> {
        let gone = |_| AttachError::NoProcess { pid };
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(AttachError::NoProcess { pid })?;
        let handle = pidfd_open(number, PidfdFlags::empty()).map_err(gone)?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).map_err(|_| gone(Errno::SRCH))?;
        let owner = owner(&status).ok_or(AttachError::NoProcess { pid })?;
        let own = Owner::this_process();
        if owner.uid != own.uid && own.uid != 0 {
            return Err(AttachError::OtherUser { pid, owner: owner.uid });
        }
        let tmp = tmp_of(pid).map_err(|error| match error {
            Errno::SRCH => AttachError::NoProcess { pid },
            error => AttachError::Connection { pid, source: error.into() },
        })?;
        Ok(Target { pid, inside: inside_number(&status).unwrap_or(pid), owner, handle, tmp })
    }

    /// Its `/tmp`, by a path that holds in this process, whoever asks.
    pub(super) fn tmp(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.tmp.as_raw_fd()))
    }

    /// True where its numbers are this process's too.
    pub(super) fn shares_numbers(&self) -> bool {
        self.inside == self.pid
    }

    /// Sends SIGQUIT.
    pub(super) fn quit(&self) -> Result<(), AttachError> {
        pidfd_send_signal(&self.handle, Signal::QUIT).map_err(|error| match error {
            Errno::SRCH => AttachError::NoProcess { pid: self.pid },
            error => AttachError::Connection { pid: self.pid, source: error.into() },
        })
    }

    /// True once it has ended; its parent need not have noticed.
    pub(super) fn has_ended(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = state.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        matches!(state, None | Some('Z' | 'X'))
    }

    /// Runs something with the rights of the process's owner, on a thread of its own where those are not this user's.
    pub(super) fn as_owner<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, AttachError> + Send,
    ) -> Result<T, AttachError> {
        if self.owner == Owner::this_process() || geteuid().as_raw() != 0 {
            return work();
        }
        let become_owner_and_work = || {
            become_owner(self.owner).map_err(|source| AttachError::NotAs {
                pid: self.pid,
                owner: self.owner.uid,
                source,
            })?;
            work()
        };
        std::thread::scope(|scope| {
            let ended = scope.spawn(become_owner_and_work).join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Gives this thread, and no other, the rights of a user; it cannot get its own back.
fn become_owner(owner: Owner) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// `/tmp` within the process's own file system. A container may have a link there: it is followed within the container, not out of it.
fn tmp_of(pid: u32) -> Result<OwnedFd, Errno> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(format!("/proc/{pid}/root"), directory, Mode::empty())?;
    match openat2(&root, "tmp", directory, Mode::empty(), ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
    {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => openat(&root, "tmp", directory | OFlags::NOFOLLOW, Mode::empty()),
        opened => opened,
    }
}

/// Effective user and group: the second of the four numbers (`proc_pid_status(5)`).
fn owner(status: &str) -> Option<Owner> {
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    Some(Owner { uid: number("Uid:")?, gid: number("Gid:")? })
}

/// The process' number within its own namespace: the last one of `NSpid`.
fn inside_number(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_tells_the_inner_number_and_as_whom_it_runs() {
        let status = "Name:\tjava\nNSpid:\t4242\t17\nUid:\t0\t1001\t1001\t1001\nGid:\t0\t1002\t0\t0\n";
        assert_eq!(inside_number(status), Some(17));
        assert_eq!(owner(status), Some(Owner { uid: 1001, gid: 1002 }));
        assert_eq!(owner("Uid:\tnobody\n"), None);
    }

    #[test]
    fn a_number_that_nobody_has_is_no_process() {
        for pid in [0, u32::MAX - 7, 4_194_305] {
            assert!(matches!(Target::new(pid).unwrap_err(), AttachError::NoProcess { .. }));
        }
    }

    #[test]
    fn rights_of_another_user_end_with_the_work() {
        let own = Owner::this_process();
        if own.uid != 0 {
            return;
        }
        let mut target = Target::new(std::process::id()).unwrap();
        target.owner = Owner { uid: 65_534, gid: 65_534 };
        let within = target
            .as_owner(|| {
                let status = fs::read_to_string("/proc/thread-self/status").unwrap();
                assert!(fs::read("/etc/shadow").is_err(), "root's rights are left behind");
                assert!(target.tmp().join(".").exists(), "the handle still leads there");
                let groups = status.lines().find_map(|line| line.strip_prefix("Groups:"));
                assert_eq!(groups.map(str::trim), Some(""));
                Ok(owner(&status))
            })
            .unwrap();
        assert_eq!(within, Some(target.owner));
        assert_eq!(Owner::this_process(), own);
    }

    #[test]
    fn a_process_that_has_ended_is_said_to_have_also_before_its_parent_looks() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let target = Target::new(child.id()).unwrap();
        assert!(!target.has_ended() && target.shares_numbers());
        child.kill().unwrap();
        while !target.has_ended() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(target.has_ended());
        assert!(matches!(target.quit().unwrap_err(), AttachError::NoProcess { .. }));
    }
}
