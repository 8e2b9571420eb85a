//! Commits to mapped memory: a store and msync, or, on persistent memory, a store and a flush of the processor's cache.
//!
//! With MAP_SYNC the kernel promises that the file's metadata are on the medium before a page can be written
//! (mmap(2)), so a store that has left the processor's cache is durable without a system call. File systems without DAX
//! refuse the mapping.

#![expect(unsafe_code, reason = "mapped memory is a pointer, and cache lines are flushed by instructions")]

use super::buffer::Buffer;
use super::fault::failed_in;
use super::flush::Flush;
use super::left_over::ProbeFile;
use super::writer::{Failure, Writer};
use plumb_model::probe::storage::{CommitCase, CommitMethod};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::ffi::c_void;
use std::time::Instant;

/// Unit of msync.
const PAGE_BYTES: u64 = 4096;

/// A mapped file with its way to commit. All its content was written before it was mapped.
pub(super) struct MappedWriter {
    memory: *mut c_void,
    len: u64,
    buffer: Buffer,
    block_bytes: u64,
    offset: u64,
    how: How,
    /// Open as long as it is mapped, so that it keeps its name where it has one.
    _file: ProbeFile,
    /// The failure to get a page; from then on nothing backs that memory.
    failed: Option<Failure>,
}

enum How {
    Msync,
    Flush(Flush),
}

// SAFETY: the mapping belongs to this writer alone and may be used from any thread.
unsafe impl Send for MappedWriter {}

impl MappedWriter {
    /// Maps a file that is filled. The words why not, where it cannot be mapped that way.
    pub(super) fn new(
        file: ProbeFile,
        case: &CommitCase,
        len: u64,
        seed: u64,
    ) -> Result<Result<Self, String>, Failure> {
        let (flags, how) = match case.method {
            CommitMethod::MapSync => match Flush::of_this_processor() {
                Some(flush) => (MapFlags::SHARED_VALIDATE | MapFlags::SYNC, How::Flush(flush)),
                None => {
                    return Ok(Err(
                        "no instruction of this processor flushes a cache line to memory".to_owned()
                    ));
                }
            },
            _ => (MapFlags::SHARED, How::Msync),
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so no memory of ours is touched.
        let mapped = unsafe { mmap(std::ptr::null_mut(), len as usize, protection, flags, &*file, 0) };
        match mapped {
            Ok(memory) => Ok(Ok(MappedWriter {
                memory,
                len,
                buffer: Buffer::new(case.block_bytes as usize, seed),
                block_bytes: case.block_bytes,
                offset: 0,
                how,
                _file: file,
                failed: None,
            })),
            Err(Errno::OPNOTSUPP | Errno::INVAL) if case.method == CommitMethod::MapSync => Ok(Err(
                "this file system refuses MAP_SYNC: it needs DAX (ext4 or xfs with dax) on persistent memory that \
                 nothing has to flush (virtio-pmem has to be)"
                    .to_owned(),
            )),
            Err(Errno::NODEV | Errno::OPNOTSUPP) => {
                Ok(Err("this file system maps no files to write".to_owned()))
            }
            Err(errno) => Err(Failure::new("map a file", errno)),
        }
    }
}

impl Writer for MappedWriter {
    fn commit(&mut self, now: Instant) -> Result<Instant, Failure> {
        // A mapping has whole pages.
        let mapped_bytes = self.len.next_multiple_of(PAGE_BYTES) as usize;
        let bytes = self.buffer.next();
        let place = self.memory.wrapping_byte_add(self.offset as usize).cast::<u8>();
        // SAFETY: offset and block lie within the mapping, which nobody else uses; the buffer is no part of it.
        let store = || unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        if failed_in(self.memory, mapped_bytes, store) {
            self.failed = Some(Failure::new("store to a mapped file", Errno::IO));
        }
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        match self.how {
            How::Msync => {
                let start = self.offset / PAGE_BYTES * PAGE_BYTES;
                let len = (self.offset + self.block_bytes - start) as usize;
                let page = self.memory.wrapping_byte_add(start as usize);
                // SAFETY: the pages lie within the mapping.
                unsafe { msync(page, len, MsyncFlags::SYNC) }
                    .map_err(|errno| Failure::new("sync a mapped file", errno))?;
            }
            How::Flush(flush) => {
                let len = bytes.len();
                // SAFETY: the block lies within the mapping.
                let flush = || unsafe { flush.range(place, len) };
                if failed_in(self.memory, mapped_bytes, flush) {
                    let failure = Failure::new("flush a mapped file", Errno::IO);
                    self.failed = Some(failure);
                    return Err(failure);
                }
            }
        }
        self.offset += self.block_bytes;
        if self.offset + self.block_bytes > self.len {
            self.offset = 0;
        }
        Ok(now)
    }

    fn is_full(&self) -> bool {
        false
    }
}

impl Drop for MappedWriter {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.memory, self.len as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::probe::storage::Placement;
    use std::os::unix::fs::FileExt;

    fn case(method: CommitMethod) -> CommitCase {
        CommitCase {
            method,
            placement: Placement::Overwrite,
            block_bytes: 4096,
            committers: 1,
            queue_depth: 1,
        }
    }

    fn mapped(file: &std::fs::File, method: CommitMethod, len: u64) -> Result<MappedWriter, String> {
        file.write_all_at(&vec![0; len as usize], 0).unwrap();
        let file = ProbeFile::unnamed(file.try_clone().unwrap().into());
        MappedWriter::new(file, &case(method), len, 5).unwrap()
    }

    #[test]
    fn what_is_stored_and_synced_is_in_the_file_and_goes_round_in_it() {
        let file = tempfile::tempfile().unwrap();
        let mut writer = mapped(&file, CommitMethod::Msync, 3 * 4096).unwrap();
        for _ in 0..4 {
            writer.commit(Instant::now()).unwrap();
        }
        let mut bytes = [0; 3 * 4096];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let stamp = |block: usize| u64::from_le_bytes(bytes[block * 4096..][..8].try_into().unwrap());
        assert_eq!((stamp(0), stamp(1), stamp(2)), (stamp(2) + 1, stamp(2) - 1, (5 << 32) + 3));
    }

    #[test]
    fn a_store_that_the_file_does_not_take_any_more_is_an_error_and_no_signal() {
        let file = tempfile::tempfile().unwrap();
        let mut writer = mapped(&file, CommitMethod::Msync, 2 * 4096).unwrap();
        writer.commit(Instant::now()).unwrap();
        // Beyond the end of its file a mapping has no pages: the kernel's answer is the one to a file system that failed.
        file.set_len(0).unwrap();
        for _ in 0..3 {
            match writer.commit(Instant::now()) {
                Err(failure) => assert_eq!(failure, Failure::new("store to a mapped file", Errno::IO)),
                Ok(_) => panic!("it was stored"),
            }
        }
    }

    #[test]
    fn a_file_system_without_dax_says_why_not() {
        let file = tempfile::tempfile().unwrap();
        // On persistent memory it is granted, and there is nothing to refuse.
        if let Err(reason) = mapped(&file, CommitMethod::MapSync, 4096) {
            assert!(reason.contains("DAX") || reason.contains("instruction"), "{reason}");
        }
    }
}
