//! The findings against the figures of a path as a whole: the file system before the device, and caches before it.

use super::rows::{FILE_SYSTEM_LIMITS, PASSED_BY_DEVICE};
use super::warning;
use crate::rules::memory_absorbed;
use plumb_model::figure::{self, bytes, bytes_per_s, decimals, interval, per_s, ratio_digits};
use plumb_model::finding::{Finding, Severity};
use plumb_model::probe::storage::{
    CommitMethod, CommitResult, PageCache, Placement, SequentialResult, StorageTarget, StreamDirection,
};
use plumb_stats::paired::{Pair, paired_ratio};

/// Appending below this share of overwriting: the file system takes more than the device (ours; ext4 appends at a third on a
/// disk where every request takes as long).
const FILE_SYSTEM_SHARE: f64 = 0.8;
/// A page cache that took so many times what the device did hides the device (ours).
const ABSORBED: f64 = 1.5;
/// A stream of which the device moved less than this share passed it by in part. The rest is for what a file system packs or
/// what was read ahead before (ours).
const DEVICE_SHARE: f64 = 0.9;

pub(super) fn warnings(target: &StorageTarget) -> Vec<Finding> {
    let found = [file_system_limits(target), memory_absorbed(target), passed_by_device(target)];
    found.into_iter().flatten().collect()
}

/// Appending far slower than overwriting what is there, both with fsync: the difference is the file system's work
/// (journal, block allocation).
pub(super) fn file_system_limits(target: &StorageTarget) -> Option<Finding> {
    // Memory is no device that a file system could be slower than.
    if target.storage.is_memory() {
        return None;
    }
    let single = |placement: Placement| {
        let of = move |commit: &&CommitResult| {
            let case = &commit.case;
            case.method == CommitMethod::Fsync && case.placement == placement && case.committers == 1
        };
        target.commits.iter().filter(of).filter(|commit| commit.rate_per_s.is_some())
    };
    let appended = single(Placement::Append).next()?;
    let overwritten =
        single(Placement::Overwrite).find(|commit| commit.case.block_bytes == appended.case.block_bytes)?;
    let partner = |round: u32| overwritten.blocks.iter().find(|block| block.round == round);
    let pairs: Vec<Pair> = appended
        .blocks
        .iter()
        .filter_map(|block| Some(Pair { a: partner(block.round)?.rate_per_s, b: block.rate_per_s }))
        .collect();
    let ratio = paired_ratio(&pairs, 0.95)?;
    if ratio.high >= FILE_SYSTEM_SHARE {
        return None;
    }
    let requests =
        |commit: &CommitResult| match (commit.device_writes_per_commit, commit.device_flushes_per_commit) {
            (Some(writes), Some(flushes)) => {
                format!(
                    " (each with at least {} writes and {} flushes of the device, other programs' included)",
                    decimals(writes, 1),
                    decimals(flushes, 1)
                )
            }
            _ => String::new(),
        };
    let text = format!(
        "the file system's work for a growing file costs more than the write: fsync came to {} appending{}, and to {} \
         overwriting blocks that are there already{} ({}, {}). Preallocated files would spare it",
        per_s(appended.rate_per_s?),
        requests(appended),
        per_s(overwritten.rate_per_s?),
        requests(overwritten),
        figure::ratio(ratio.ratio),
        interval(ratio.low, ratio.high, ratio_digits)
    );
    Some(warning(&FILE_SYSTEM_LIMITS, text))
}

/// The finding that memory took the writes, which is no rate of a log that goes on.
fn memory_absorbed(target: &StorageTarget) -> Option<Finding> {
    let buffered = target.sequential.iter().find(|stream| stream.accepted_bytes_per_s.is_some())?;
    let (accepted, through) = (buffered.accepted_bytes_per_s?, buffered.bytes_per_s?);
    if accepted < through * ABSORBED || target.storage.is_memory() {
        return None;
    }
    let text = format!(
        "the page cache took {} of a buffered write; with the sync that followed it came to {}. Memory hides the \
         device until the dirty pages reach their limit; a log that goes on writes and syncs at the same time, so that its rate \
         is neither of the two",
        bytes_per_s(accepted),
        bytes_per_s(through)
    );
    // Of a probe it is no more than how to read one figure.
    Some(memory_absorbed::RULE.row.finding(Severity::Note, format!("{text}.")))
}

/// The stream of which the device moved the smallest share, when that is too small: a cache below the page cache served it, or
/// the file system packs what it writes.
pub(super) fn passed_by_device(target: &StorageTarget) -> Option<Finding> {
    let share = |stream: &SequentialResult| {
        let moved: u64 = stream.blocks.iter().map(|block| block.bytes).sum();
        let device_bytes = stream.device_bytes?;
        (moved > 0).then(|| (device_bytes as f64 / moved as f64, moved, device_bytes))
    };
    let streams = target.sequential.iter().filter_map(|stream| Some((stream, share(stream)?)));
    let (stream, (share, moved, device_bytes)) =
        streams.min_by(|(_, (one, ..)), (_, (other, ..))| one.total_cmp(other))?;
    if share >= DEVICE_SHARE || target.storage.is_memory() {
        return None;
    }
    let direction = match stream.case.direction {
        StreamDirection::Read => "read",
        StreamDirection::Write => "wrote",
    };
    let how = match stream.case.page_cache {
        PageCache::Buffered => "through the page cache",
        PageCache::Direct => "with O_DIRECT",
    };
    let text = format!(
        "a stream {direction} {} {how}, and the device {direction} {} meanwhile: a cache on this host served the rest, \
         or the file system packs what it writes. That rate is not the device's",
        bytes(moved as f64),
        bytes(device_bytes as f64)
    );
    Some(warning(&PASSED_BY_DEVICE, text))
}
