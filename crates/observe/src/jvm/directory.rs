//! A private directory in a process's `/tmp`: what is loaded into it comes from there, and what it answers in files goes there.
//!
//! Its name is the same each time, so that one that was left by a Plumb that was killed is taken over by the next; and a JVM that has
//! a library or a jar by that name takes no second copy of it. One user of it at a time: the others wait.

use super::attach_error::{AttachError, PATIENCE};
use super::target::Target;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PREFIX: &str = "plumb-jvm-";

/// The directory while it is used; it goes with this. All is done with the rights of the process's owner.
#[derive(Debug)]
pub(super) struct Directory {
    target: Arc<Target>,
    name: String,
    held: OwnedFd,
}

impl Directory {
    /// Made for the process's owner alone. One that is there already must be the owner's alone too: what is in it is loaded into a broker.
    ///
    /// `purpose`: one for each use that may last while the others go on.
    pub(super) fn new(target: &Arc<Target>, purpose: &str) -> Result<Self, AttachError> {
        let name = format!("{PREFIX}{}-{}-{purpose}", target.owner.uid, target.inside);
        let held = target.as_owner(|| {
            sweep(target);
            hold(target, &name).map_err(|error| AttachError::Directory {
                path: format!("/tmp/{name}"),
                pid: target.pid,
                source: error,
            })
        })?;
        Ok(Directory { target: Arc::clone(target), name, held })
    }

    /// The path of a file in it as the process sees it.
    pub(super) fn inside(&self, file: &str) -> String {
        format!("/tmp/{}/{file}", self.name)
    }

    fn here(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{file}", self.held.as_raw_fd()))
    }

    fn failed(&self, source: io::Error) -> AttachError {
        AttachError::Directory { path: format!("/tmp/{}", self.name), pid: self.target.pid, source }
    }

    /// Writes a new file.
    pub(super) fn write(&self, file: &str, bytes: &[u8]) -> Result<(), AttachError> {
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.here(file))?;
            file.write_all(bytes)
        };
        self.target.as_owner(|| write().map_err(|error| self.failed(error)))
    }

    /// Reads a file that the process wrote, of so many bytes at most.
    pub(super) fn read(&self, file: &str, bytes_max: u64) -> Result<Vec<u8>, AttachError> {
        let read = || {
            // Not a link, and not a pipe that nobody writes to.
            let opened = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
                .open(self.here(file))?;
            if !opened.metadata()?.is_file() {
                return Err(io::Error::other("it is no file"));
            }
            read_at_most(&opened, bytes_max)
        };
        let bytes = self.target.as_owner(|| read().map_err(|error| self.failed(error)))?;
        bytes.ok_or(AttachError::TooLarge { pid: self.target.pid, bytes_max })
    }
}

/// None where there is more.
pub(super) fn read_at_most(file: &File, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be removed is taken over the next time.
        let _ = self.target.as_owner(|| {
            empty(&self.held);
            let _ = fs::remove_dir(self.target.tmp().join(&self.name));
            Ok(())
        });
    }
}

/// Makes the directory, or takes it over, and locks it.
fn hold(target: &Target, name: &str) -> io::Result<OwnedFd> {
    let path = target.tmp().join(name);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = match open(&path, flags, Mode::empty()) {
            // Removed by who had it.
            Err(Errno::NOENT) if Instant::now() < deadline => continue,
            Err(Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) => return Err(not_private()),
            opened => opened?,
        };
        let found = fstat(&held)?;
        if found.st_uid != target.owner.uid || found.st_mode & 0o077 != 0 {
            return Err(not_private());
        }
        match flock(&held, FlockOperation::NonBlockingLockExclusive) {
            // Who had it removes it before the lock is free: then it is no longer in the way, and of no use.
            Ok(()) if fstat(&held)?.st_nlink == 0 => {}
            Ok(()) => {
                empty(&held);
                return Ok(held);
            }
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::WOULDBLOCK) => return Err(io::Error::other("another Plumb is using it")),
            Err(error) => return Err(error.into()),
        }
    }
}

fn not_private() -> io::Error {
    io::Error::other("it is there and is not this user's alone")
}

/// Removes the files in it; there are no directories.
fn empty(held: &OwnedFd) {
    let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        let _ = fs::remove_file(path.join(entry.file_name()));
    }
}

/// Removes the directories of processes that are no more: nobody else would take those over.
fn sweep(target: &Target) {
    if !target.shares_numbers() {
        return;
    }
    let prefix = format!("{PREFIX}{}-", target.owner.uid);
    for entry in fs::read_dir(target.tmp()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = |name: &str| name.strip_prefix(&prefix)?.split('-').next()?.parse::<i32>().ok();
        let pid = name.to_str().and_then(pid);
        let Some(pid) = pid.and_then(Pid::from_raw) else { continue };
        if test_kill_process(pid) == Err(Errno::SRCH) {
            remove(&entry.path(), target.owner.uid);
        }
    }
}

fn remove(path: &Path, owner: u32) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(held) = open(path, flags, Mode::empty()) else { return };
    let is_owners = fs::symlink_metadata(path).is_ok_and(|found| found.uid() == owner);
    if is_owners && flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
        empty(&held);
        let _ = fs::remove_dir(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::{Child, Command};

    /// A process of its own for each test: the directory is of the process.
    struct Sleeper(Child);

    impl Sleeper {
        fn new() -> Self {
            Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn target(&self) -> Arc<Target> {
            Arc::new(Target::new(self.0.id()).unwrap())
        }

        fn path(&self) -> PathBuf {
            let own = fs::metadata("/proc/self").unwrap().uid();
            PathBuf::from(format!("/tmp/{PREFIX}{own}-{}-test", self.0.id()))
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn what_a_killed_plumb_left_is_taken_over_and_gone_afterwards() {
        let sleeper = Sleeper::new();
        let target = sleeper.target();
        let left = Directory::new(&target, "test").unwrap();
        left.write("page", b"old").unwrap();
        // As after a kill: the lock is free, the files are there.
        let Directory { held, .. } = &left;
        flock(held, FlockOperation::Unlock).unwrap();
        std::mem::forget(left);
        assert!(sleeper.path().join("page").exists());
        let taken = Directory::new(&target, "test").unwrap();
        assert!(!sleeper.path().join("page").exists(), "nothing of another's is used");
        taken.write("page", b"new").unwrap();
        assert_eq!(taken.read("page", 3).unwrap(), b"new");
        assert!(matches!(taken.read("page", 2).unwrap_err(), AttachError::TooLarge { .. }));
        assert_eq!(fs::metadata(sleeper.path()).unwrap().mode() & 0o777, 0o700);
        drop(taken);
        assert!(!sleeper.path().exists());
    }

    #[test]
    fn a_directory_or_link_that_others_may_change_is_not_used() {
        let sleeper = Sleeper::new();
        let target = sleeper.target();
        let refused = || Directory::new(&target, "test").map(drop).unwrap_err();
        fs::create_dir(sleeper.path()).unwrap();
        fs::set_permissions(sleeper.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = plumb_model::fault::chain(&refused()).join(": ");
        fs::remove_dir(sleeper.path()).unwrap();
        assert!(error.contains("not this user's alone"), "{error}");
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), sleeper.path()).unwrap();
        let error = plumb_model::fault::chain(&refused()).join(": ");
        fs::remove_file(sleeper.path()).unwrap();
        assert!(error.contains("not this user's alone"), "{error}");
    }

    #[test]
    fn a_link_that_the_process_wrote_is_not_followed_and_a_pipe_is_not_waited_for() {
        let sleeper = Sleeper::new();
        let target = sleeper.target();
        let directory = Directory::new(&target, "test").unwrap();
        symlink("/etc/passwd", sleeper.path().join("page")).unwrap();
        assert!(directory.read("page", 1 << 20).is_err());
        let made = Command::new("mkfifo").arg(sleeper.path().join("pipe")).status().unwrap();
        assert!(made.success());
        assert!(directory.read("pipe", 1 << 20).is_err());
    }

    #[test]
    fn the_directory_of_a_process_that_is_no_more_is_swept_away() {
        let gone = Sleeper::new();
        let path = gone.path();
        drop(gone);
        fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
        // The sweep of another test may be quicker.
        let _ = fs::write(path.join("agent.jar"), "x");
        let sleeper = Sleeper::new();
        drop(Directory::new(&sleeper.target(), "test").unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn two_at_a_time_wait_for_each_other() {
        let sleeper = Sleeper::new();
        let work = || {
            let target = sleeper.target();
            for _ in 0..20 {
                let directory = Directory::new(&target, "test").unwrap();
                directory.write("page", b"x").unwrap();
                assert_eq!(directory.read("page", 1).unwrap(), b"x");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            scope.spawn(work);
        });
        assert!(!sleeper.path().exists());
    }
}
