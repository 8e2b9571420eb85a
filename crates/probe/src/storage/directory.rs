//! The directory that is probed, and files in it that nobody has to remove.

use super::error::StorageError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Files of a process beside those of the probe: standard streams, the program, directories, counters (ours).
const OTHER_FILES: u64 = 32;

/// Whether this process may have so many files of a probe open at once (getrlimit(2), RLIMIT_NOFILE).
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
    handle: OwnedFd,
}

impl Directory {
    /// Opens an existing directory and tries whether files can be made in it.
    ///
    /// # Errors
    /// When it is none, or no file can be made in it.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let missing = || StorageError::NoSuchPath { path: path.to_owned() };
        let look = |errno| match errno {
            Errno::NOENT => missing(),
            errno => StorageError::of(path, "look at it", errno),
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
            .map_err(|errno| StorageError::of(path, "open the directory", errno))?;
        let resolved = std::fs::canonicalize(path).map_err(|_| missing())?;
        let directory = Directory { path: path.to_owned(), resolved, handle };
        directory.file(OFlags::empty())?;
        Ok(directory)
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

    /// Whether it is still there: a directory that was removed has no links.
    ///
    /// # Errors
    /// When it is gone.
    pub fn check(&self) -> Result<(), StorageError> {
        let links =
            rustix::fs::fstat(&self.handle).map_err(|errno| self.error("look at it", errno))?.st_nlink;
        if links == 0 { Err(StorageError::Vanished { path: self.path.clone() }) } else { Ok(()) }
    }

    /// A new file, open for reading and writing, that is gone once it is closed.
    pub(super) fn file(&self, flags: OFlags) -> Result<File, StorageError> {
        self.check()?;
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let made = match rustix::fs::openat(&self.handle, ".", flags | OFlags::TMPFILE, mode) {
            // open(2): the two answers of kernels and file systems that know no files without names.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => self.named_file(flags, mode),
            made => made,
        };
        Ok(File::from(made.map_err(|errno| self.error("make a file", errno))?))
    }

    /// A file whose name is removed at once: between the two calls it could be left behind.
    fn named_file(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!(".plumb-probe-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let file = rustix::fs::openat(&self.handle, &name, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
        rustix::fs::unlinkat(&self.handle, &name, AtFlags::empty())?;
        Ok(file)
    }

    pub(super) fn error(&self, doing: &'static str, errno: Errno) -> StorageError {
        StorageError::of(&self.path, doing, errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_of_the_probe_is_never_seen_in_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let mut file = directory.file(OFlags::empty()).unwrap();
        file.write_all(b"x").unwrap();
        let named = directory.named_file(OFlags::RDWR, Mode::RUSR).unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        drop((file, named));
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
