//! The rows of the findings against a storage probe's figures. Those of severity `Invalid` make the exit code 1.

use crate::row::{Family, FlipRow, Row};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};

/// All of them. `memory-absorbed` is a finding about runs as well, and has its row there.
pub(crate) static ROWS: [&Row; 12] = [
    &NOT_DURABLE_BY_DESIGN,
    &MEMORY,
    &NO_BARRIER,
    &SYNC_IGNORED,
    &FLUSH_SUPPRESSED,
    &NO_FLUSH_SEEN,
    &TOO_FAST,
    &FASTER_THAN_PUBLISHED,
    &DIRECT_IS_BUFFERED,
    &FILE_SYSTEM_LIMITS,
    &PASSED_BY_DEVICE,
    &UNKNOWABLE,
];

pub(super) static NOT_DURABLE_BY_DESIGN: Row = Row {
    id: "not-durable-by-design",
    summary: "The method of committing promises no durability.",
    page: include_str!("../../../../docs/findings/not-durable-by-design.md"),
    family: Family::Storage,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the manual of the call says it",
    stage: Some(PathStage::Log),
    flip: None,
};

pub(super) static MEMORY: Row = Row {
    id: "memory",
    summary: "What was committed is in memory: a loss of power takes it.",
    page: include_str!("../../../../docs/findings/memory.md"),
    family: Family::Storage,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "the kernel names the layer that keeps the data",
    stage: Some(PathStage::Log),
    flip: None,
};

pub(super) static NO_BARRIER: Row = Row {
    id: "no-barrier",
    summary: "The file system is mounted so that a sync does not flush the device.",
    page: include_str!("../../../../docs/findings/no-barrier.md"),
    family: Family::Storage,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "the mount options are read back",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "mount without the option that turns flushes off",
        setting: None,
        observe: "fsync commits per second",
        expect: Expect::Falls,
    }),
};

pub(super) static SYNC_IGNORED: Row = Row {
    id: "sync-ignored",
    summary: "A layer takes syncs and does nothing.",
    page: include_str!("../../../../docs/findings/sync-ignored.md"),
    family: Family::Storage,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "the mount options or the properties of the layer are read back",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "take the option off that has syncs ignored",
        setting: None,
        observe: "fsync commits per second",
        expect: Expect::Falls,
    }),
};

pub(super) static FLUSH_SUPPRESSED: Row = Row {
    id: "flush-suppressed",
    summary: "The kernel was told that the disk's volatile cache needs no flush.",
    page: include_str!("../../../../docs/findings/flush-suppressed.md"),
    family: Family::Storage,
    severity: Severity::Invalid,
    confidence: Confidence::Confirmed,
    because: "what the disk says and what the kernel was told are both read back",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "set the device's queue/write_cache to write back",
        setting: None,
        observe: "fsync commits per second",
        expect: Expect::Falls,
    }),
};

pub(super) static NO_FLUSH_SEEN: Row = Row {
    id: "no-flush-seen",
    summary: "The device has a volatile cache and got no flush.",
    page: include_str!("../../../../docs/findings/no-flush-seen.md"),
    family: Family::Storage,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "the kernel counted no flush; a device that flushes without being asked is not seen",
    stage: Some(PathStage::Log),
    flip: None,
};

pub(super) static TOO_FAST: Row = Row {
    id: "too-fast",
    summary: "A disk that turns committed more often than any disk turns.",
    page: include_str!("../../../../docs/findings/too-fast.md"),
    family: Family::Storage,
    severity: Severity::Invalid,
    confidence: Confidence::Supported,
    because: "no disk turns so fast; whether the cache that answers outlives a loss of power is not known",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "switch the disk's volatile cache off",
        setting: None,
        observe: "fsync commits per second",
        expect: Expect::Falls,
    }),
};

pub(super) static FASTER_THAN_PUBLISHED: Row = Row {
    id: "faster-than-published",
    summary: "Commits were more than twice as fast as those of any published device.",
    page: include_str!("../../../../docs/findings/faster-than-published.md"),
    family: Family::Storage,
    severity: Severity::Note,
    confidence: Confidence::Suspected,
    because: "good disks with a protected cache may be as fast",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "switch the disk's volatile cache off",
        setting: None,
        observe: "fsync commits per second",
        expect: Expect::Falls,
    }),
};

pub(super) static DIRECT_IS_BUFFERED: Row = Row {
    id: "direct-is-buffered",
    summary: "O_DIRECT goes through the page cache here.",
    page: include_str!("../../../../docs/findings/direct-is-buffered.md"),
    family: Family::Storage,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the mount options are read back, and the manual of the file system says it",
    stage: Some(PathStage::Log),
    flip: None,
};

pub(super) static FILE_SYSTEM_LIMITS: Row = Row {
    id: "file-system-limits",
    summary: "Appending costs far more than overwriting: the work is the file system's.",
    page: include_str!("../../../../docs/findings/file-system-limits.md"),
    family: Family::Storage,
    severity: Severity::Note,
    confidence: Confidence::Supported,
    because: "both ways were measured in turns; that files made beforehand would spare the work follows from the second",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "overwrite preallocated blocks in place of appending",
        setting: None,
        observe: "fsync commits per second",
        expect: Expect::Rises,
    }),
};

pub(super) static PASSED_BY_DEVICE: Row = Row {
    id: "passed-by-device",
    summary: "A stream's bytes did not all come from the device, or go to it.",
    page: include_str!("../../../../docs/findings/passed-by-device.md"),
    family: Family::Storage,
    severity: Severity::Note,
    confidence: Confidence::Supported,
    because: "the device's counter has other programs' bytes in it too",
    stage: Some(PathStage::Log),
    flip: Some(FlipRow {
        change: "read and write with O_DIRECT a file larger than memory",
        setting: None,
        observe: "the stream's bytes per second",
        expect: Expect::Falls,
    }),
};

pub(super) static UNKNOWABLE: Row = Row {
    id: "unknowable",
    summary: "What keeps the data, or what a sync does there, cannot be told.",
    page: include_str!("../../../../docs/findings/unknowable.md"),
    family: Family::Storage,
    severity: Severity::Note,
    confidence: Confidence::Confirmed,
    because: "the chain of layers ends there",
    stage: Some(PathStage::Log),
    flip: None,
};
