//! Bytes in a row, written or read, through the page cache or around it: what a log's device can do at most.
//!
//! A write counts until the device has all of it: the page cache takes bytes at the speed of memory, and only the sync
//! shows what the device took. A buffered write is held to what the device can sync in a few times its length, so that no
//! block waits for minutes, and a buffered read begins with the file out of the page cache and ends at the file's end.

use super::buffer::Buffer;
use super::directory::Directory;
use super::error::StorageError;
use super::file::{set_direct, write_all};
use super::left_over::ProbeFile;
use super::pace::Pace;
use plumb_model::probe::storage::{PageCache, StreamCase, StreamDirection};
use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Bytes written and synced at a time while the file to be read is made: small enough for the slowest disk.
const STEP_BYTES: u64 = 8 << 20;
/// Longest that making that file goes on, and the most that it gets (ours: seconds of reading on most disks).
const MAKING_MAX: Duration = Duration::from_secs(1);
const READABLE_BYTES_MAX: u64 = 256 << 20;
/// A buffered write may take so many times its length to be synced.
const SYNC_LENGTHS: f64 = 4.0;

/// Streams of one directory.
pub struct Streams<'a> {
    directory: &'a Directory,
    limit_bytes: u64,
    readable: ProbeFile,
    readable_bytes: u64,
    /// The rate at which the device took the file while it was made.
    synced_bytes_per_s: f64,
}

/// A block of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamSample {
    /// Bytes moved.
    pub bytes: u64,
    /// Time until the last call returned.
    pub transfer_ns: u64,
    /// Time of a write's final sync.
    pub sync_ns: u64,
}

impl<'a> Streams<'a> {
    /// Makes the file that is to be read. No file of a stream grows beyond `limit_bytes`.
    ///
    /// # Errors
    /// When the directory does not take it.
    pub fn prepare(directory: &'a Directory, limit_bytes: u64) -> Result<Self, StorageError> {
        let readable = directory.file(OFlags::empty())?;
        let limit = limit_bytes.min(READABLE_BYTES_MAX);
        let mut buffer = Buffer::new(STEP_BYTES.min(limit) as usize, 0xbeef);
        let began = Instant::now();
        let mut bytes = 0;
        while bytes + STEP_BYTES.min(limit) <= limit && (bytes == 0 || began.elapsed() < MAKING_MAX) {
            let part = buffer.next();
            let len = part.len() as u64;
            write_all(&readable, part, bytes)
                .map_err(|errno| directory.error("write a file to read", errno))?;
            rustix::fs::fdatasync(&*readable).map_err(|errno| directory.error("sync a file", errno))?;
            bytes += len;
        }
        let synced_bytes_per_s = bytes as f64 / began.elapsed().as_secs_f64();
        Ok(Streams { directory, limit_bytes, readable, readable_bytes: bytes, synced_bytes_per_s })
    }

    /// Runs one block of so long, or less where a file has its limit. Gives the reason where the file system refuses it.
    ///
    /// # Errors
    /// When a call fails.
    pub fn run(
        &self,
        case: &StreamCase,
        length: Duration,
        stop: &AtomicBool,
    ) -> Result<Result<StreamSample, String>, StorageError> {
        self.directory.check()?;
        let pace = Pace { length, stop };
        match case.direction {
            StreamDirection::Write => self.write(case, &pace),
            StreamDirection::Read => self.read(case, &pace),
        }
    }

    fn write(
        &self,
        case: &StreamCase,
        pace: &Pace<'_>,
    ) -> Result<Result<StreamSample, String>, StorageError> {
        let file = self.directory.file(OFlags::empty())?;
        if let Err(reason) = set_direct(self.directory, &file, case.page_cache == PageCache::Direct)? {
            return Ok(Err(reason));
        }
        let limit_bytes = match case.page_cache {
            PageCache::Direct => self.limit_bytes,
            PageCache::Buffered => {
                let most = self.synced_bytes_per_s * pace.length.as_secs_f64() * SYNC_LENGTHS;
                self.limit_bytes.min((most as u64).max(STEP_BYTES))
            }
        };
        let mut buffer = Buffer::new(case.block_bytes as usize, 0xa11);
        let began = Instant::now();
        let mut bytes = 0;
        while bytes + case.block_bytes <= limit_bytes && !pace.is_over(began, Instant::now(), pace.length) {
            write_all(&file, buffer.next(), bytes)
                .map_err(|errno| self.directory.error("write a stream", errno))?;
            bytes += case.block_bytes;
        }
        let written = Instant::now();
        rustix::fs::fdatasync(&*file).map_err(|errno| self.directory.error("sync a stream", errno))?;
        Ok(Ok(StreamSample {
            bytes,
            transfer_ns: (written - began).as_nanos() as u64,
            sync_ns: written.elapsed().as_nanos() as u64,
        }))
    }

    fn read(&self, case: &StreamCase, pace: &Pace<'_>) -> Result<Result<StreamSample, String>, StorageError> {
        let file = &self.readable;
        if let Err(reason) = set_direct(self.directory, file, case.page_cache == PageCache::Direct)? {
            return Ok(Err(reason));
        }
        rustix::fs::fadvise(&**file, 0, None, Advice::DontNeed)
            .map_err(|errno| self.directory.error("empty the page cache of a file", errno))?;
        let mut buffer = Buffer::new(case.block_bytes as usize, 0);
        let began = Instant::now();
        let (mut bytes, mut at) = (0, 0);
        while !pace.is_over(began, Instant::now(), pace.length) {
            if at + case.block_bytes > self.readable_bytes {
                // A second round through the page cache would read memory.
                if case.page_cache == PageCache::Buffered {
                    break;
                }
                at = 0;
            }
            let read = match rustix::io::pread(&**file, buffer.space(), at) {
                Err(Errno::INTR) => continue,
                read => read.map_err(|errno| self.directory.error("read a stream", errno))?,
            };
            at += read as u64;
            bytes += read as u64;
        }
        Ok(Ok(StreamSample { bytes, transfer_ns: began.elapsed().as_nanos() as u64, sync_ns: 0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(direction: StreamDirection, length: Duration, limit_bytes: u64) -> StreamSample {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        let streams = Streams::prepare(&directory, limit_bytes).unwrap();
        let case = StreamCase { direction, page_cache: PageCache::Buffered, block_bytes: 1 << 16 };
        streams.run(&case, length, &AtomicBool::new(false)).unwrap().unwrap()
    }

    #[test]
    fn a_write_stops_at_its_files_limit_and_has_its_sync_beside_it() {
        let sample = sample(StreamDirection::Write, Duration::from_secs(60), 1 << 20);
        assert_eq!(sample.bytes, 1 << 20);
        assert!(sample.sync_ns > 0);
    }

    #[test]
    fn a_buffered_read_ends_with_the_file_so_that_it_never_reads_memory() {
        let sample = sample(StreamDirection::Read, Duration::from_secs(60), 1 << 20);
        assert_eq!((sample.bytes, sample.sync_ns), (1 << 20, 0));
    }
}
