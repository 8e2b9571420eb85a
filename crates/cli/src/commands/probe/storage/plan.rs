//! From the words to the cases that take turns.

use crate::args::probe::{Counts, StorageArgs};
use plumb_model::probe::storage::{
    CommitCase, CommitMethod, PageCache, Placement, StoragePlan, StreamCase, StreamDirection,
};
use plumb_stats::random::Random;
use std::time::Duration;

/// Committers of the curve that is drawn for fsync when nobody asked for another.
const CURVE: [u32; 2] = [4, 16];
/// Commits under way at the same time in an io_uring when nobody asked for others.
const DEPTHS: [u32; 2] = [1, 8];
/// Ways to overwrite that show the device without the work that a growing file makes for the file system.
const DEVICE_ALONE: [CommitMethod; 3] =
    [CommitMethod::Fsync, CommitMethod::Fdatasync, CommitMethod::DirectDsync];
/// Bytes of a call of a stream (ours: large enough that calls cost nothing, and one write of a busy log).
const STREAM_BLOCK_BYTES: u64 = 1 << 20;

/// One thing to measure on every path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Commit(CommitCase),
    Stream(StreamCase),
}

/// All cases, and how long and how often.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) cases: Vec<Case>,
    pub(super) block: Duration,
    pub(super) rounds: u32,
    seed: u64,
    duration_ns: u64,
}

/// A case on a path in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) target: usize,
    pub(super) case: usize,
    pub(super) round: u32,
}

impl Plan {
    pub(super) fn of(arguments: &StorageArgs) -> Self {
        let asked: Vec<CommitMethod> =
            arguments.method.iter().flat_map(|methods| methods.0.clone()).collect();
        let methods = if asked.is_empty() { CommitMethod::ALL.to_vec() } else { asked };
        let mut cases = Vec::new();
        for block in &arguments.block {
            for &method in &methods {
                let placement = placement(method, arguments.overwrite);
                for &(committers, queue_depth) in &loads(method, arguments) {
                    let case =
                        CommitCase { method, placement, block_bytes: block.0, committers, queue_depth };
                    cases.push(Case::Commit(case));
                }
                if !arguments.overwrite && DEVICE_ALONE.contains(&method) {
                    let placement = Placement::Overwrite;
                    let case =
                        CommitCase { method, placement, block_bytes: block.0, committers: 1, queue_depth: 1 };
                    cases.push(Case::Commit(case));
                }
            }
        }
        if !arguments.no_streams {
            cases.extend(streams());
        }
        cases.dedup();
        Plan {
            cases,
            block: Duration::from_nanos(arguments.duration.0 / u64::from(arguments.rounds)),
            rounds: arguments.rounds,
            seed: arguments.seed,
            duration_ns: arguments.duration.0,
        }
    }

    /// As it stands in the document.
    pub(super) fn shown(&self) -> StoragePlan {
        StoragePlan { duration_ns: self.duration_ns, blocks: self.rounds, seed: self.seed }
    }

    /// Every case once on each path in every round, in random order within the round.
    pub(super) fn order(&self, targets: usize) -> Vec<Slot> {
        let mut random = Random::new(self.seed);
        let mut slots = Vec::new();
        for round in 0..self.rounds {
            let all = (0..targets).flat_map(|target| (0..self.cases.len()).map(move |case| (target, case)));
            let mut turn: Vec<Slot> = all.map(|(target, case)| Slot { target, case, round }).collect();
            random.shuffle(&mut turn);
            slots.extend(turn);
        }
        slots
    }
}

fn placement(method: CommitMethod, overwrite: bool) -> Placement {
    if overwrite || method.is_mapped() { Placement::Overwrite } else { Placement::Append }
}

/// Committers and queue depths of a method.
fn loads(method: CommitMethod, arguments: &StorageArgs) -> Vec<(u32, u32)> {
    let asked = |counts: &[Counts]| counts.iter().flat_map(|counts| counts.0.clone()).collect::<Vec<u32>>();
    let mut committers = asked(&arguments.committers);
    if committers.is_empty() {
        committers.push(1);
        if method == CommitMethod::Fsync {
            committers.extend(CURVE);
        }
    }
    let mut depths = vec![1];
    if method == CommitMethod::IoUring {
        depths = asked(&arguments.queue_depth);
        if depths.is_empty() {
            depths.extend(DEPTHS);
        }
    }
    let each = |count: &u32| depths.iter().map(|depth| (*count, *depth)).collect::<Vec<_>>();
    committers.iter().flat_map(each).collect()
}

/// What a log's writing and reading comes to at most.
fn streams() -> Vec<Case> {
    let mut cases = Vec::new();
    for direction in [StreamDirection::Write, StreamDirection::Read] {
        for page_cache in [PageCache::Buffered, PageCache::Direct] {
            cases.push(Case::Stream(StreamCase { direction, page_cache, block_bytes: STREAM_BLOCK_BYTES }));
        }
    }
    cases
}
