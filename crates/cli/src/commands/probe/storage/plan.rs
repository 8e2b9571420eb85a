//! From the words to the cases that take turns.

use crate::args::probe::{Counts, StorageArgs};
use crate::errors::UsageError;
use plumb_model::probe::storage::{
    CommitCase, CommitMethod, PageCache, Placement, StoragePlan, StreamCase, StreamDirection,
};
use plumb_stats::random::Random;
use std::collections::HashSet;
use std::time::Duration;

/// Committers of the curve that is drawn for fsync when nobody asked for another.
const CURVE: [u32; 2] = [4, 16];
/// Commits under way at the same time in an io_uring when nobody asked for others.
const DEPTHS: [u32; 2] = [1, 8];
/// Ways to overwrite that show the device without the work that a growing file makes for the file system.
const DEVICE_ALONE: [CommitMethod; 3] =
    [CommitMethod::Fsync, CommitMethod::Fdatasync, CommitMethod::DirectDsync];
/// Commits of a case in all rounds together for a median to be shown: every block goes on for its part of them, within limits.
const COMMITS_LEAST: u64 = 20;
/// Bytes of a call of a stream (ours: large enough that calls cost nothing, and one write of a busy log).
const STREAM_BLOCK_BYTES: u64 = 1 << 20;

/// One thing to measure on every path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Case {
    Commit(CommitCase),
    Stream(StreamCase),
}

impl Case {
    /// For people, while it runs.
    pub(super) fn words(&self) -> String {
        match self {
            Case::Commit(case) => format!("{} x {}", case.method.name(), case.committers * case.queue_depth),
            Case::Stream(case) => match case.direction {
                StreamDirection::Write => "sequential write".to_owned(),
                StreamDirection::Read => "sequential read".to_owned(),
            },
        }
    }
}

/// All cases, and how long and how often.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) cases: Vec<Case>,
    pub(super) block: Duration,
    pub(super) rounds: u32,
    pub(super) overwritten_bytes: u64,
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
    /// The words say all, or cannot be: a file that has no room for one commit.
    pub(super) fn of(arguments: &StorageArgs) -> Result<Self, UsageError> {
        if let Some(block) = arguments.block.iter().find(|block| block.0 > arguments.file.0) {
            let what = format!("--file {} has no room for a commit of {} bytes", arguments.file.0, block.0);
            return Err(UsageError::new(what, "give a --file of at least one --block"));
        }
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
        let mut seen = HashSet::new();
        cases.retain(|case| seen.insert(*case));
        Ok(Plan {
            cases,
            block: Duration::from_nanos(arguments.duration.0 / u64::from(arguments.rounds)),
            rounds: arguments.rounds,
            overwritten_bytes: arguments.file.0,
            seed: arguments.seed,
            duration_ns: arguments.duration.0,
        })
    }

    /// Commits that a block goes on for, within limits.
    pub(super) fn least_commits(&self) -> u64 {
        COMMITS_LEAST.div_ceil(u64::from(self.rounds))
    }

    /// Files that are open at the same time on each path; an io_uring is one too.
    pub(super) fn files(&self) -> u64 {
        let files = |case: &Case| match case {
            Case::Commit(case) if case.method == CommitMethod::IoUring => 2 * u64::from(case.committers),
            Case::Commit(case) => u64::from(case.committers),
            Case::Stream(_) => 2,
        };
        self.cases.iter().map(files).sum()
    }

    /// As it stands in the document.
    pub(super) fn shown(&self) -> StoragePlan {
        StoragePlan {
            duration_ns: self.duration_ns,
            rounds: self.rounds,
            seed: self.seed,
            overwritten_bytes: self.overwritten_bytes,
        }
    }

    /// Every case once on each path in every round, in random order within the round. Streams come after all commits:
    /// what they leave to a file system to free would be in the way.
    pub(super) fn order(&self, targets: usize) -> Vec<Slot> {
        let mut random = Random::new(self.seed);
        let mut slots = Vec::new();
        for streams in [false, true] {
            for round in 0..self.rounds {
                let of_kind = |case: &usize| matches!(self.cases[*case], Case::Stream(_)) == streams;
                let cases = || (0..self.cases.len()).filter(of_kind);
                let all =
                    (0..targets).flat_map(|target| cases().map(move |case| Slot { target, case, round }));
                let mut turn: Vec<Slot> = all.collect();
                random.shuffle(&mut turn);
                slots.extend(turn);
            }
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::args::{Arguments, Command, probe::ProbeCommand};
    use clap::Parser;

    pub(in super::super) fn plan(words: &str) -> Plan {
        of(words).unwrap()
    }

    fn of(words: &str) -> Result<Plan, UsageError> {
        let words = ["plumb", "probe", "storage"].into_iter().chain(words.split_whitespace());
        let Command::Probe(probe) = Arguments::parse_from(words).command else { panic!("no probe") };
        let ProbeCommand::Storage(arguments) = probe.command else { panic!("no storage") };
        Plan::of(&arguments)
    }

    fn commits(plan: &Plan) -> Vec<CommitCase> {
        let commit = |case: &Case| match case {
            Case::Commit(case) => Some(*case),
            Case::Stream(_) => None,
        };
        plan.cases.iter().filter_map(commit).collect()
    }

    #[test]
    fn a_file_without_room_for_a_commit_is_refused_and_one_with_room_for_one_is_not() {
        assert!(of("/x --file 4KiB --block 8KiB").unwrap_err().message.contains("no room"));
        assert_eq!(plan("/x --file 8KiB --block 8KiB").shown().overwritten_bytes, 8 << 10);
        assert_eq!(plan("/x").shown().overwritten_bytes, 16 << 20);
    }

    #[test]
    fn without_words_every_method_has_a_case_and_fsync_a_curve() {
        let commits = commits(&plan("/x"));
        for method in CommitMethod::ALL {
            assert!(commits.iter().any(|case| case.method == method), "{method:?}");
        }
        let fsync =
            |case: &&CommitCase| case.method == CommitMethod::Fsync && case.placement == Placement::Append;
        let curve: Vec<u32> = commits.iter().filter(fsync).map(|case| case.committers).collect();
        assert_eq!(curve, [1, 4, 16]);
        let mapped = commits.iter().filter(|case| case.method.is_mapped());
        assert!(mapped.into_iter().all(|case| case.placement == Placement::Overwrite));
    }

    #[test]
    fn what_was_asked_for_is_crossed_and_nothing_is_added_but_the_device_alone() {
        let commits =
            commits(&plan("/x --method dsync,io_uring --block 512,1MiB --committers 1..2 --queue-depth 3"));
        let dsync = |case: &&CommitCase| case.method == CommitMethod::Dsync;
        assert_eq!(commits.iter().filter(dsync).count(), 4);
        assert!(commits.iter().filter(|case| !dsync(case)).all(|case| case.queue_depth == 3));
        assert_eq!(commits.len(), 8);
    }

    #[test]
    fn with_overwrite_nothing_is_appended() {
        let commits = commits(&plan("/x --overwrite --method all"));
        assert!(commits.iter().all(|case| case.placement == Placement::Overwrite));
        let distinct: HashSet<CommitCase> = commits.iter().copied().collect();
        assert_eq!(distinct.len(), commits.len());
    }

    #[test]
    fn every_round_has_each_case_of_each_path_once_and_streams_come_last() {
        let plan = plan("/x /y --rounds 3");
        let order = plan.order(2);
        for round in 0..3 {
            let slots = order.iter().filter(|slot| slot.round == round);
            let distinct: HashSet<(usize, usize)> =
                slots.clone().map(|slot| (slot.target, slot.case)).collect();
            assert_eq!((slots.count(), distinct.len()), (plan.cases.len() * 2, plan.cases.len() * 2));
        }
        let is_stream = |slot: &Slot| matches!(plan.cases[slot.case], Case::Stream(_));
        assert!(order.iter().map(is_stream).is_sorted());
        let turns: Vec<Vec<Slot>> = order.chunk_by(|a, b| a.round == b.round).map(<[Slot]>::to_vec).collect();
        let cases = |turn: &[Slot]| turn.iter().map(|slot| (slot.target, slot.case)).collect::<Vec<_>>();
        assert_ne!(cases(&turns[0]), cases(&turns[1]), "each round has an order of its own");
    }
}
