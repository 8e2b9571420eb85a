//! Files of a probe, and what one that was killed left behind.
//!
//! A file with a name is removed when it is closed, however the probe ends short of being killed at once. Its process holds a
//! lock on it as long as it lives, whichever name space of processes it is in: a file of ours that nobody has locked belongs
//! to nobody, and the next probe of the directory removes it: when it opens the directory, and again when it is done with it.

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;
use std::fs::File;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The beginning of the names of all files of a probe.
const NAME: &str = ".plumb-probe-";
/// Times that a name is tried: another probe's process may have the same number in its name space, and one that looks for
/// left-over files may take a new one for such.
const TRIES: u32 = 100;

/// A file of a probe. It has a name where the file system treats it otherwise without one.
#[derive(Debug)]
pub(super) struct ProbeFile {
    file: File,
    named: Option<(Arc<OwnedFd>, String)>,
}

impl ProbeFile {
    /// The kernel removes it when it is closed.
    pub(super) fn unnamed(file: OwnedFd) -> Self {
        ProbeFile { file: File::from(file), named: None }
    }

    /// The same file, opened in another way.
    pub(super) fn reopened(mut self, file: File) -> Self {
        // The lock goes with the first descriptor, and would leave the name to be taken for a left-over one.
        let lock = std::mem::replace(&mut self.file, file);
        if self.named.is_some() {
            let _ = flock(&self.file, FlockOperation::LockShared);
        }
        drop(lock);
        self
    }
}

impl Deref for ProbeFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for ProbeFile {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.named {
            // A directory that is gone has no names, and a device that failed forgets none.
            let _ = unlinkat(&**directory, name, AtFlags::empty());
        }
    }
}

/// A new file with a name.
pub(super) fn named_file(directory: &Arc<OwnedFd>, flags: OFlags, mode: Mode) -> Result<ProbeFile, Errno> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut refused = Errno::EXIST;
    for _ in 0..TRIES {
        let name = format!("{NAME}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let file = match openat(&**directory, &name, flags | OFlags::CREATE | OFlags::EXCL, mode) {
            Err(Errno::EXIST) => continue,
            opened => opened?,
        };
        // Shared, so that the same file opened again can have it too.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            // Without locks (some network file systems) it could not be told from a left-over one.
            Ok(()) | Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {}
            Err(errno) => {
                refused = errno;
                continue;
            }
        }
        if fstat(&file)?.st_nlink > 0 {
            return Ok(ProbeFile { file: File::from(file), named: Some((Arc::clone(directory), name)) });
        }
    }
    Err(refused)
}

/// Removes what probes that were killed left in a directory. What cannot be removed stays: it is no reason not to probe.
pub(super) fn remove(directory: &OwnedFd) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_ok_and(|name| name.strip_prefix(NAME).is_some_and(is_numbered));
        if !is_ours {
            continue;
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(directory, name, flags, Mode::empty()) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// `PROCESS-COUNT`
fn is_numbered(rest: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    rest.split_once('-').is_some_and(|(process, count)| is_number(process) && is_number(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn names(place: &Path) -> BTreeSet<String> {
        let entries = std::fs::read_dir(place).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn opened(place: &Path) -> Arc<OwnedFd> {
        Arc::new(OwnedFd::from(File::open(place).unwrap()))
    }

    #[test]
    fn a_named_file_goes_when_it_is_closed_and_not_while_it_is_open() {
        let place = tempfile::tempdir().unwrap();
        let directory = opened(place.path());
        let file = named_file(&directory, OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR).unwrap();
        remove(&directory);
        assert_eq!(names(place.path()).len(), 1, "its process is alive");
        let again = File::open(place.path().join(names(place.path()).first().unwrap())).unwrap();
        let file = file.reopened(again);
        remove(&directory);
        assert_eq!(names(place.path()).len(), 1, "opened again it is still ours");
        drop(file);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn only_what_a_dead_probe_left_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let mine = [".plumb-probe-notes", ".plumb-probe-1-2.txt", "plumb-probe-1-2", ".plumb-probe--1"];
        for name in mine.into_iter().chain([".plumb-probe-4194305-17"]) {
            std::fs::write(place.path().join(name), "x").unwrap();
        }
        remove(&opened(place.path()));
        assert_eq!(names(place.path()), mine.map(str::to_owned).into());
    }
}
