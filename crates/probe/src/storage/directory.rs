//! The directory that is probed.

use super::error::StorageError;
use super::fault::refuse_by_error;
use super::left_over::{self, ProbeFile};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// File systems on which a commit to a file without a name was measured to cost what it costs with one (statfs(2)): ext4,
/// xfs, btrfs, and memory, where it costs nothing. Elsewhere it need not: ZFS writes no log record for a file without links,
/// and f2fs a whole checkpoint.
const UNNAMED_ALIKE: [i64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
/// File systems whose files are the kernel's: proc, sysfs, debugfs, tracefs, control groups 1 and 2, securityfs.
const TAKES_NO_FILES: [i64; 7] =
    [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x0027_e0eb, 0x6367_7270, 0x7363_6673];

/// Files of a process beside those of the probe: standard streams, the program, directories, counters (ours).
const OTHER_FILES: u64 = 32;

/// Checks that this process may have so many files of a probe open at once (getrlimit(2), RLIMIT_NOFILE).
///
/// # Errors
/// When it may not.
pub fn check_open_files(files: u64) -> Result<(), StorageError> {
    let needed = files + OTHER_FILES;
    match rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        Some(allowed) if allowed < needed => Err(StorageError::TooFewFiles { allowed, needed }),
        _ => Ok(()),
    }
}

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    resolved: PathBuf,
    handle: Arc<OwnedFd>,
    /// True if files without names are synced as others are.
    may_be_unnamed: bool,
    /// True if a file may have a name where it cannot be without one.
    may_be_named: bool,
    stop: Arc<AtomicBool>,
}

impl Directory {
    /// Opens an existing directory and tries whether files can be made in it.
    ///
    /// # Errors
    /// When it is none, or no file can be made in it.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        Self::open_with(path, true)
    }

    /// The same for a directory in which nothing of ours may ever be seen: files have no names there, so that the kernel removes them however this
    /// process ends.
    ///
    /// # Errors
    /// As [`Directory::open`], and on file systems whose files need names, or whose commits differ with them.
    pub fn open_unnamed(path: &Path) -> Result<Self, StorageError> {
        Self::open_with(path, false)
    }

    fn open_with(path: &Path, may_be_named: bool) -> Result<Self, StorageError> {
        let missing = || StorageError::NoSuchPath { path: path.to_owned() };
        let look = |errno| match errno {
            Errno::NOENT => missing(),
            errno => StorageError::from_errno(path, "look at it", errno),
        };
        let kind = FileType::from_raw_mode(rustix::fs::stat(path).map_err(look)?.st_mode);
        match kind {
            FileType::Directory => {}
            FileType::BlockDevice | FileType::CharacterDevice => {
                return Err(StorageError::RawDevice { path: path.to_owned() });
            }
            _ => return Err(StorageError::NotADirectory { path: path.to_owned() }),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| StorageError::from_errno(path, "open the directory", errno))?;
        let resolved = std::fs::canonicalize(path).map_err(|_| missing())?;
        refuse_by_error();
        let kind = rustix::fs::fstatfs(&handle)
            .map_err(|errno| StorageError::from_errno(path, "ask for the file system", errno))?
            .f_type;
        if TAKES_NO_FILES.contains(&kind) {
            return Err(StorageError::NoFiles { path: path.to_owned() });
        }
        let directory = Directory {
            path: path.to_owned(),
            resolved,
            handle: Arc::new(handle),
            may_be_unnamed: UNNAMED_ALIKE.contains(&kind),
            may_be_named,
            stop: Arc::default(),
        };
        left_over::remove(&directory.handle);
        directory.file(OFlags::empty())?;
        Ok(directory)
    }

    /// Sets the flag that also ends what takes long before the first block, the filling of files.
    pub fn stopped_by(mut self, stop: &Arc<AtomicBool>) -> Self {
        self.stop = Arc::clone(stop);
        self
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// As given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Absolute and without symbolic links.
    pub fn resolved(&self) -> &Path {
        &self.resolved
    }

    /// Free bytes that this user may take.
    ///
    /// # Errors
    /// When the file system does not say.
    pub fn available_bytes(&self) -> Result<u64, StorageError> {
        let space =
            rustix::fs::fstatvfs(&self.handle).map_err(|errno| self.error("ask for free space", errno))?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    /// Checks that it is still there: a directory that was removed has no links.
    ///
    /// # Errors
    /// When it is gone.
    pub fn check(&self) -> Result<(), StorageError> {
        let links =
            rustix::fs::fstat(&self.handle).map_err(|errno| self.error("look at it", errno))?.st_nlink;
        if links == 0 { Err(StorageError::Vanished { path: self.path.clone() }) } else { Ok(()) }
    }

    /// A new file, open for reading and writing, that is gone once it is closed.
    pub(super) fn file(&self, flags: OFlags) -> Result<ProbeFile, StorageError> {
        self.check()?;
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let made = if self.may_be_unnamed {
            rustix::fs::openat(&*self.handle, ".", flags | OFlags::TMPFILE, mode).map(ProbeFile::unnamed)
        } else {
            Err(Errno::OPNOTSUPP)
        };
        let made = match made {
            // open(2): the answers of kernels and file systems that know no files without names.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                if !self.may_be_named {
                    return Err(StorageError::NamesNeeded { path: self.path.clone() });
                }
                left_over::named_file(&self.handle, flags, mode)
            }
            made => made,
        };
        match made {
            // The directory is there all the same.
            Err(Errno::NOENT) if self.check().is_ok() => {
                Err(StorageError::NoFiles { path: self.path.clone() })
            }
            made => made.map_err(|errno| self.error("make a file", errno)),
        }
    }

    pub(super) fn error(&self, doing: &'static str, errno: Errno) -> StorageError {
        StorageError::from_errno(&self.path, doing, errno)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A process that was killed has its files, and their locks, until the commits under way are done: it may have ended
        // only after this directory was opened.
        left_over::remove(&self.handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_of_a_probe_that_ended_only_while_the_next_one_ran_are_removed_at_its_end() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".plumb-probe-4194305-7");
        let ending = std::fs::File::create(&path).unwrap();
        ending.try_lock_shared().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        assert!(path.exists(), "its process still has it");
        drop(ending);
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_linked_while_it_is_open_unless_that_makes_no_difference_here() {
        let place = tempfile::tempdir().unwrap();
        let mut directory = Directory::open(place.path()).unwrap();
        let links = |directory: &Directory| {
            let file = directory.file(OFlags::empty()).unwrap();
            (&*file).write_all(b"x").unwrap();
            (rustix::fs::fstat(&*file).unwrap().st_nlink, std::fs::read_dir(place.path()).unwrap().count())
        };
        directory.may_be_unnamed = false;
        assert_eq!(links(&directory), (1, 1));
        directory.may_be_unnamed = true;
        assert!(matches!(links(&directory), (0, 0) | (1, 1)), "some know no files without names");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_takes_no_files_is_told_from_what_vanished() {
        let refused = Directory::open(Path::new("/proc")).unwrap_err();
        assert_eq!(refused.to_string(), "/proc takes no files: what is in it is the kernel's");
    }

    #[test]
    fn what_is_no_directory_is_refused_by_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "mine").unwrap();
        let refused = |path: &Path| Directory::open(path).unwrap_err();
        assert!(matches!(refused(&file), StorageError::NotADirectory { .. }));
        assert!(matches!(refused(&place.path().join("none")), StorageError::NoSuchPath { .. }));
        assert!(matches!(refused(Path::new("/dev/null")), StorageError::RawDevice { .. }));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }

    #[test]
    fn a_directory_that_was_removed_takes_no_more_files() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let directory = Directory::open(&inner).unwrap();
        std::fs::remove_dir(&inner).unwrap();
        assert!(matches!(directory.file(OFlags::empty()), Err(StorageError::Vanished { .. })));
    }
}
