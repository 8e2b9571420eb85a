//! Commits by the calls that files have: write, then one of the syncs, or a file whose writes sync by themselves.

use super::buffer::Buffer;
use super::directory::Directory;
use super::error::StorageError;
use super::left_over::ProbeFile;
use super::writer::{Failure, Writer};
use plumb_model::probe::storage::{CommitCase, CommitMethod, Placement};
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Instant;

/// The flag that makes each write as good as followed by fdatasync(2). rustix's flag of this name is O_SYNC, as good as fsync(2):
/// with it every overwriting write is a transaction of the file system's journal more.
const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC.cast_unsigned());

/// Fewest bytes of a write when a file is filled before the measuring: a page of most machines.
const FILL_BYTES_MIN: u64 = 4096;

/// Bytes after which a file that is being filled is synced (ours: seconds of a slow disk).
const FILL_SYNC_BYTES: u64 = 32 << 20;

/// A file with its way to commit.
#[derive(Debug)]
pub(super) struct FileWriter {
    file: ProbeFile,
    buffer: Buffer,
    method: CommitMethod,
    placement: Placement,
    block_bytes: u64,
    offset: u64,
    limit_bytes: u64,
}

/// A file for commits of this case, with `limit_bytes` of content where it is to be overwritten. The words why not, where
/// the file system refuses the way of writing.
pub(super) fn open(
    directory: &Directory,
    case: &CommitCase,
    limit_bytes: u64,
    seed: u64,
) -> Result<Result<ProbeFile, String>, StorageError> {
    let dsync = matches!(case.method, CommitMethod::Dsync | CommitMethod::DirectDsync);
    let file = match (case.placement, dsync) {
        (Placement::Append, true) => directory.file(DSYNC)?,
        (Placement::Append, false) => directory.file(OFlags::empty())?,
        (Placement::Overwrite, dsync) => {
            let file = directory.file(OFlags::empty())?;
            fill(directory, &file, limit_bytes, case.block_bytes, seed)?;
            // Only now: with the flag each write of the filling would be a commit, minutes of them on a slow device.
            match if dsync { reopened(&file).map(|other| file.reopened(other)) } else { Ok(file) } {
                Ok(file) => file,
                Err(errno) => {
                    return Ok(Err(format!("a file that is there cannot be opened with O_DSYNC: {errno}")));
                }
            }
        }
    };
    if case.method.is_direct() {
        // What is still in the page cache would have to be thrown out by the commits of the first turn.
        rustix::fs::fadvise(&*file, 0, None, Advice::DontNeed)
            .map_err(|errno| directory.error("empty the page cache", errno))?;
        // Set afterwards: a file system that refuses it at the opening may still have made the file.
        if let Err(reason) = set_direct(directory, &file, true)? {
            return Ok(Err(reason));
        }
    }
    Ok(Ok(file))
}

/// Goes around the page cache from now on, or through it; the words why not, where the file system refuses it.
pub(super) fn set_direct(
    directory: &Directory,
    file: &File,
    direct: bool,
) -> Result<Result<(), String>, StorageError> {
    let flags = rustix::fs::fcntl_getfl(file).map_err(|errno| directory.error("ask for flags", errno))?;
    let wanted = if direct { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    // An overlay takes the flag, and refuses calls after it when the file system below has no O_DIRECT.
    let set = rustix::fs::fcntl_setfl(file, wanted)
        .and_then(|()| rustix::fs::fadvise(file, 0, None, Advice::Normal));
    match set {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Err("this file system refuses O_DIRECT".to_owned())),
        set => set.map(Ok).map_err(|errno| directory.error("set O_DIRECT", errno)),
    }
}

/// The same file with O_DSYNC, which fcntl(2) cannot set. It has no name; its descriptor is one (proc_pid_fd(5)).
fn reopened(file: &File) -> Result<File, Errno> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::open(path, DSYNC | OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map(File::from)
}

/// Writes the whole content and syncs it: blocks that are only reserved would be turned into written ones by each
/// commit, which is work of the file system that overwriting does not have. It is written in blocks as the commits will:
/// the page cache holds a file in pieces (folios) as large as the writes that brought it there, and each commit looks
/// through the whole piece that it is in. Pieces of 1 MiB made a commit of 4 KiB dearer by an eighth on ext4.
fn fill(
    directory: &Directory,
    file: &File,
    bytes: u64,
    block_bytes: u64,
    seed: u64,
) -> Result<(), StorageError> {
    let mut buffer = Buffer::new(block_bytes.max(FILL_BYTES_MIN) as usize, seed ^ 0xf111);
    let (mut at, mut synced) = (0, 0);
    while at < bytes {
        // A file of many gigabytes takes minutes. Nothing is committed to one that is not full.
        if directory.is_stopped() {
            return Ok(());
        }
        let part = buffer.next();
        let len = part.len().min(usize::try_from(bytes - at).unwrap_or(usize::MAX));
        write_all(file, &part[..len], at).map_err(|errno| directory.error("fill a file", errno))?;
        at += len as u64;
        // Else the sync at the end would be one that nobody can stop.
        if at - synced >= FILL_SYNC_BYTES {
            rustix::fs::fdatasync(file).map_err(|errno| directory.error("sync a file", errno))?;
            synced = at;
        }
    }
    rustix::fs::fsync(file).map_err(|errno| directory.error("sync a file", errno))
}

impl FileWriter {
    pub(super) fn new(file: ProbeFile, case: &CommitCase, limit_bytes: u64, seed: u64) -> Self {
        FileWriter {
            file,
            buffer: Buffer::new(case.block_bytes as usize, seed),
            method: case.method,
            placement: case.placement,
            block_bytes: case.block_bytes,
            offset: 0,
            limit_bytes,
        }
    }
}

impl Writer for FileWriter {
    fn commit(&mut self, now: Instant) -> Result<Instant, Failure> {
        write_all(&self.file, self.buffer.next(), self.offset)
            .map_err(|errno| Failure::new("write to a file", errno))?;
        let synced = match self.method {
            CommitMethod::Fsync | CommitMethod::Direct => rustix::fs::fsync(&*self.file),
            CommitMethod::Fdatasync => rustix::fs::fdatasync(&*self.file),
            CommitMethod::SyncFileRange => sync_file_range(&self.file, self.offset, self.block_bytes),
            // The write itself is the commit.
            _ => Ok(()),
        };
        synced.map_err(|errno| Failure::new("sync a file", errno))?;
        self.offset += self.block_bytes;
        if self.placement == Placement::Overwrite && self.offset + self.block_bytes > self.limit_bytes {
            self.offset = 0;
        }
        Ok(now)
    }

    fn is_full(&self) -> bool {
        self.offset + self.block_bytes > self.limit_bytes
    }
}

/// Writes all of it, in as many calls as it takes.
pub(super) fn write_all(file: &File, bytes: &[u8], at: u64) -> Result<(), Errno> {
    let mut done = 0;
    while done < bytes.len() {
        match rustix::io::pwrite(file, &bytes[done..], at + done as u64) {
            // Nothing taken and no reason: there is no room.
            Ok(0) => return Err(Errno::NOSPC),
            Ok(taken) => done += taken,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Starts the write-out of a range and waits for it (sync_file_range(2)).
#[expect(unsafe_code, reason = "neither the standard library nor rustix has sync_file_range(2)")]
fn sync_file_range(file: &File, offset: u64, bytes: u64) -> Result<(), Errno> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the descriptor is open as long as `file` is, and no memory is passed.
    let result =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset.cast_signed(), bytes.cast_signed(), flags) };
    if result == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_not_filled_any_further_once_the_user_says_stop() {
        let place = tempfile::tempdir().unwrap();
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let directory = Directory::open(place.path()).unwrap().stopped_by(&stop);
        let file = directory.file(OFlags::empty()).unwrap();
        fill(&directory, &file, 1 << 40, 4096, 0).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_file_for_dsync_syncs_data_and_not_all_metadata() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let opened = |method: CommitMethod, placement| {
            let case = CommitCase { method, placement, block_bytes: 4096, committers: 1, queue_depth: 1 };
            let file = open(&directory, &case, 1 << 20, 0).unwrap().unwrap();
            let flags = rustix::fs::fcntl_getfl(&*file).unwrap().bits().cast_signed() & libc::O_SYNC;
            (flags, file.metadata().unwrap().len())
        };
        // O_SYNC is a bit more than O_DSYNC.
        assert_eq!(opened(CommitMethod::Dsync, Placement::Append), (libc::O_DSYNC, 0));
        assert_eq!(opened(CommitMethod::Dsync, Placement::Overwrite), (libc::O_DSYNC, 1 << 20));
        assert_eq!(opened(CommitMethod::Fsync, Placement::Append), (0, 0));
        assert_eq!(opened(CommitMethod::Fsync, Placement::Overwrite), (0, 1 << 20));
    }
}
