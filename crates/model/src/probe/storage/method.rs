//! The ways to make a write last, and where it goes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way in which a block of bytes is made to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitMethod {
    /// write, then fsync: data and all metadata.
    Fsync,
    /// write, then fdatasync: data, and the metadata that is needed to read it.
    Fdatasync,
    /// write around the page cache (O_DIRECT), then fsync.
    Direct,
    /// write to a file opened with O_DSYNC: each write is as good as followed by fdatasync.
    Dsync,
    /// write around the page cache to a file opened with O_DSYNC.
    DirectDsync,
    /// write, then sync_file_range: the device gets the data, but no metadata and no flush. Not durable.
    SyncFileRange,
    /// A write and an fsync that are linked in one io_uring submission.
    IoUring,
    /// A store to mapped memory, then msync.
    Msync,
    /// A store to persistent memory mapped with MAP_SYNC, then a flush of the processor's cache lines: no system call.
    MapSync,
}

impl CommitMethod {
    /// All of them.
    pub const ALL: [CommitMethod; 9] = [
        CommitMethod::Fsync,
        CommitMethod::Fdatasync,
        CommitMethod::Direct,
        CommitMethod::Dsync,
        CommitMethod::DirectDsync,
        CommitMethod::SyncFileRange,
        CommitMethod::IoUring,
        CommitMethod::Msync,
        CommitMethod::MapSync,
    ];

    /// The name, as in documents and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CommitMethod::Fsync => "fsync",
            CommitMethod::Fdatasync => "fdatasync",
            CommitMethod::Direct => "direct",
            CommitMethod::Dsync => "dsync",
            CommitMethod::DirectDsync => "direct_dsync",
            CommitMethod::SyncFileRange => "sync_file_range",
            CommitMethod::IoUring => "io_uring",
            CommitMethod::Msync => "msync",
            CommitMethod::MapSync => "map_sync",
        }
    }

    /// True if it promises that the data outlive a loss of power, where kernel and device keep their promises.
    pub fn promises_durability(self) -> bool {
        self != CommitMethod::SyncFileRange
    }

    /// True if every commit sends the device a flush if the device has a volatile cache: not so where a single write may carry
    /// the mark to go through the cache (FUA), and not so without system calls.
    pub fn always_flushes(self) -> bool {
        !matches!(self, CommitMethod::SyncFileRange | CommitMethod::DirectDsync | CommitMethod::MapSync)
    }

    /// True if it writes around the page cache.
    pub fn is_direct(self) -> bool {
        matches!(self, CommitMethod::Direct | CommitMethod::DirectDsync)
    }

    /// True if it stores to mapped memory: such a file cannot grow by being written.
    pub fn is_mapped(self) -> bool {
        matches!(self, CommitMethod::Msync | CommitMethod::MapSync)
    }
}

/// The place in its file at which a commit writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// At the end of a file that grows, as a log does.
    Append,
    /// Over what is there already, front to back and again, as a preallocated log does.
    Overwrite,
}

/// One way to commit, with its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CommitCase {
    /// The method.
    pub method: CommitMethod,
    /// The place.
    pub placement: Placement,
    /// Bytes of a commit.
    pub block_bytes: u64,
    /// Threads that commit at the same time, each to a file of its own.
    pub committers: u32,
    /// Commits that each thread has under way at the same time; more than 1 with io_uring only.
    pub queue_depth: u32,
}
