//! Commits by io_uring: a write and an fsync that is linked to it, several pairs under way at the same time if wanted.
//!
//! The fsync starts when its write is done; a write that is short breaks the link. With several pairs under way each is
//! still a commit of its own: nothing waits for the others. A write that went well says nothing, where the kernel can be
//! told so (since 5.17): otherwise the committer would wake up for it, only to wait again.

#![expect(
    unsafe_code,
    reason = "what a submission points to must outlive it, and only this module knows that it does"
)]

use super::buffer::Buffer;
use super::left_over::ProbeFile;
use super::writer::{Failure, Writer};
use io_uring::{IoUring, opcode, squeue, types};
use plumb_model::probe::storage::{CommitCase, Placement};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::Instant;

/// A file with its ring. The fields that the kernel reads from come after the ring, so that they are dropped after it.
pub(super) struct RingWriter {
    ring: IoUring,
    /// True if only a write that failed has a completion; its sync then has none.
    writes_are_silent: bool,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Commits that are done and have not been told yet: when they began.
    done: VecDeque<Instant>,
    file: ProbeFile,
    placement: Placement,
    block_bytes: u64,
    offset: u64,
    limit_bytes: u64,
}

/// A commit under way.
struct Slot {
    buffer: Buffer,
    began: Instant,
    failed: Option<Failure>,
}

impl RingWriter {
    /// A ring for so many commits at once. The words why not, where the kernel or a container does not allow it.
    pub(super) fn new(
        file: ProbeFile,
        case: &CommitCase,
        limit_bytes: u64,
        seed: u64,
    ) -> Result<Self, String> {
        let ring = ring(case.queue_depth * 2)
            .map_err(|error| format!("this kernel or container allows no io_uring: {error}"))?;
        let slot = |number: u32| Slot {
            buffer: Buffer::new(
                case.block_bytes as usize,
                seed * u64::from(case.queue_depth) + u64::from(number),
            ),
            began: Instant::now(),
            failed: None,
        };
        Ok(RingWriter {
            writes_are_silent: ring.params().is_feature_skip_cqe_on_success(),
            ring,
            slots: (0..case.queue_depth).map(slot).collect(),
            free: (0..case.queue_depth as usize).collect(),
            done: VecDeque::new(),
            file,
            placement: case.placement,
            block_bytes: case.block_bytes,
            offset: 0,
            limit_bytes,
        })
    }

    fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn has_room(&self) -> bool {
        self.offset + self.block_bytes <= self.limit_bytes
    }

    fn submit(&mut self, now: Instant) -> Result<(), Failure> {
        let mut flags = squeue::Flags::IO_LINK;
        flags.set(squeue::Flags::SKIP_SUCCESS, self.writes_are_silent);
        while self.has_room() {
            let Some(number) = self.free.pop() else { break };
            let slot = &mut self.slots[number];
            slot.began = now;
            slot.failed = None;
            let bytes = slot.buffer.next();
            let file = types::Fd(self.file.as_raw_fd());
            let mark = number as u64 * 2;
            let write = opcode::Write::new(file, bytes.as_ptr(), bytes.len() as u32)
                .offset(self.offset)
                .build()
                .flags(flags)
                .user_data(mark);
            let sync = opcode::Fsync::new(file).build().user_data(mark + 1);
            // SAFETY: the slot's buffer and the file stay where they are and unchanged until both completions have come:
            // the slot is not free before, and dropping the writer waits for them.
            let pushed = unsafe { self.ring.submission().push_multiple(&[write, sync]) };
            // The ring has two entries for each slot, and the slot was free.
            pushed.map_err(|_| Failure::new("submit a commit", Errno::AGAIN))?;
            self.offset += self.block_bytes;
            if self.placement == Placement::Overwrite && !self.has_room() {
                self.offset = 0;
            }
        }
        Ok(())
    }

    /// Waits until at least one commit is done.
    fn wait(&mut self) -> Result<(), Failure> {
        while self.done.is_empty() && self.under_way() > 0 {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                    return Err(Failure::new(
                        "wait for a commit",
                        Errno::from_io_error(&error).unwrap_or(Errno::IO),
                    ));
                }
                _ => self.reap()?,
            }
        }
        Ok(())
    }

    fn reap(&mut self) -> Result<(), Failure> {
        for completion in self.ring.completion() {
            let (number, is_sync) = ((completion.user_data() / 2) as usize, completion.user_data() % 2 == 1);
            let slot = &mut self.slots[number];
            let result = completion.result();
            if !is_sync {
                slot.failed = match u64::try_from(result) {
                    Err(_) => Some(Failure::new("write to a file", Errno::from_raw_os_error(-result))),
                    // Less than asked for and no reason: there is no room.
                    Ok(taken) if taken < self.block_bytes => {
                        Some(Failure::new("write to a file", Errno::NOSPC))
                    }
                    Ok(_) => None,
                };
                if let Some(failure) = slot.failed.filter(|_| self.writes_are_silent) {
                    self.free.push(number);
                    return Err(failure);
                }
                continue;
            }
            self.free.push(number);
            // A sync that was cancelled because of its write fails for the write's reason.
            match (slot.failed, result) {
                (Some(failure), _) => return Err(failure),
                (None, result) if result < 0 => {
                    return Err(Failure::new("sync a file", Errno::from_raw_os_error(-result)));
                }
                (None, _) => self.done.push_back(slot.began),
            }
        }
        Ok(())
    }
}

/// A ring whose completions are looked at when the committer waits, and do not interrupt it (since 5.19); any ring on older
/// kernels.
fn ring(entries: u32) -> std::io::Result<IoUring> {
    match IoUring::builder().setup_coop_taskrun().build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        built => built,
    }
}

impl Writer for RingWriter {
    fn commit(&mut self, now: Instant) -> Result<Instant, Failure> {
        if self.done.is_empty() {
            self.submit(now)?;
            self.wait()?;
        }
        self.done.pop_front().ok_or(Failure::new("wait for a commit", Errno::IO))
    }

    fn is_full(&self) -> bool {
        !self.has_room() && self.under_way() == 0 && self.done.is_empty()
    }

    fn settle(&mut self) -> Result<(), Failure> {
        while self.under_way() > 0 {
            self.done.clear();
            self.wait()?;
        }
        self.done.clear();
        Ok(())
    }
}

impl Drop for RingWriter {
    fn drop(&mut self) {
        // A commit that failed is no reason to let go of what the kernel still reads: each turn frees at least one.
        while self.under_way() > 0 {
            let before = self.under_way();
            self.done.clear();
            if self.wait().is_err() && self.under_way() == before {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::probe::storage::CommitMethod;
    use std::collections::BTreeSet;
    use std::fs::File;

    /// A ring on a file of its own, and the file. None where this machine allows no io_uring.
    fn ring(queue_depth: u32, limit_bytes: u64) -> Option<(RingWriter, File)> {
        let file = tempfile::tempfile().unwrap();
        let case = CommitCase {
            method: CommitMethod::IoUring,
            placement: Placement::Append,
            block_bytes: 512,
            committers: 1,
            queue_depth,
        };
        let kept = file.try_clone().unwrap();
        RingWriter::new(ProbeFile::unnamed(file.into()), &case, limit_bytes, 7)
            .ok()
            .map(|writer| (writer, kept))
    }

    #[test]
    fn every_commit_is_its_own_block_of_the_file() {
        let Some((mut writer, file)) = ring(4, 1 << 20) else { return };
        for _ in 0..10 {
            writer.commit(Instant::now()).unwrap();
        }
        writer.settle().unwrap();
        assert_eq!(writer.under_way(), 0);
        let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
        let blocks: BTreeSet<&[u8]> = bytes.chunks(512).collect();
        assert!(bytes.len() >= 10 * 512 && blocks.len() == bytes.len() / 512, "{} blocks", blocks.len());
    }

    #[test]
    fn a_ring_is_full_when_nothing_is_under_way_any_more() {
        let Some((mut writer, file)) = ring(4, 6 * 512) else { return };
        let mut commits = 0;
        while !writer.is_full() {
            writer.commit(Instant::now()).unwrap();
            commits += 1;
        }
        assert_eq!((commits, file.metadata().unwrap().len()), (6, 6 * 512));
    }

    #[test]
    fn a_write_that_fails_is_told_by_its_own_reason_and_not_as_a_cancelled_sync() {
        let case = CommitCase {
            method: CommitMethod::IoUring,
            placement: Placement::Append,
            block_bytes: 512,
            committers: 1,
            queue_depth: 2,
        };
        // With completions of writes that went well, as on older kernels, and without.
        for older in [true, false] {
            let file = File::open("/dev/null").unwrap();
            let Ok(mut writer) = RingWriter::new(ProbeFile::unnamed(file.into()), &case, 1 << 20, 0) else {
                return;
            };
            writer.writes_are_silent &= !older;
            assert_eq!(writer.commit(Instant::now()), Err(Failure::new("write to a file", Errno::BADF)));
        }
    }

    #[test]
    fn commits_are_told_alike_where_the_kernel_tells_of_every_write() {
        let Some((mut writer, file)) = ring(4, 6 * 512) else { return };
        writer.writes_are_silent = false;
        let mut commits = 0;
        while !writer.is_full() {
            writer.commit(Instant::now()).unwrap();
            commits += 1;
        }
        assert_eq!((commits, file.metadata().unwrap().len()), (6, 6 * 512));
    }
}
