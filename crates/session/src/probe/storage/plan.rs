//! From the settings to the cases that take turns.

use super::StorageSettings;
use crate::probe::rounds::{self, Turn};
use plumb_model::fault::UsageError;
use plumb_model::probe::storage::{
    CommitCase, CommitMethod, PageCache, Placement, StoragePlan, StreamCase, StreamDirection,
};
use plumb_model::random::Random;
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
/// A block of a commit, its warm-up included, and one of a stream, its sync included, over their lengths.
const COMMIT_LENGTHS: f64 = 1.15;
const STREAM_LENGTHS: f64 = 2.0;
/// Making and filling the files of one path.
const MAKING_S: f64 = 2.0;
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
    pub(super) fn title(&self) -> String {
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

/// A case on one of the paths. The rounds number them path by path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) target: usize,
    pub(super) case: usize,
}

impl Plan {
    /// All that the settings ask for. Refused: a file that has no room for one commit.
    pub(super) fn of(settings: &StorageSettings) -> Result<Self, UsageError> {
        if let Some(block) = settings.blocks.iter().find(|block| block.0 > settings.file.0) {
            let what = format!("--file {} has no room for a commit of {} bytes", settings.file.0, block.0);
            return Err(UsageError::new(what, "give a --file of at least one --block"));
        }
        let asked = &settings.methods;
        let methods = if asked.is_empty() { CommitMethod::ALL.to_vec() } else { asked.clone() };
        let mut cases = Vec::new();
        for block in &settings.blocks {
            for &method in &methods {
                let placement = placement(method, settings.overwrite);
                for (committers, queue_depth) in loads(method, settings) {
                    let case =
                        CommitCase { method, placement, block_bytes: block.0, committers, queue_depth };
                    cases.push(Case::Commit(case));
                }
                if !settings.overwrite && DEVICE_ALONE.contains(&method) {
                    let placement = Placement::Overwrite;
                    let case =
                        CommitCase { method, placement, block_bytes: block.0, committers: 1, queue_depth: 1 };
                    cases.push(Case::Commit(case));
                }
            }
        }
        if settings.streams {
            cases.extend(streams());
        }
        let mut seen = HashSet::new();
        cases.retain(|case| seen.insert(*case));
        Ok(Plan {
            cases,
            block: Duration::from_nanos(settings.duration.0 / u64::from(settings.rounds)),
            rounds: settings.rounds,
            overwritten_bytes: settings.file.0,
            seed: settings.seed,
            duration_ns: settings.duration.0,
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

    /// The place of the rounds' case.
    pub(super) fn place(&self, case: usize) -> Place {
        Place { target: case / self.cases.len(), case: case % self.cases.len() }
    }

    /// Every case once on each path in every round, in random order within the round. Streams come after all commits:
    /// what they leave to a file system to free would be in the way.
    pub(super) fn turns(&self, targets: usize) -> Vec<Turn> {
        let mut random = Random::new(self.seed);
        let of_kind = |streams: bool| {
            let is_one =
                |case: &usize| matches!(self.cases[self.place(*case).case], Case::Stream(_)) == streams;
            (0..targets * self.cases.len()).filter(is_one).collect::<Vec<usize>>()
        };
        let mut turns = rounds::order(&mut random, &of_kind(false), self.rounds);
        turns.extend(rounds::order(&mut random, &of_kind(true), self.rounds));
        turns
    }

    /// Seconds that a block of a case takes.
    pub(super) fn block_s(&self, case: usize) -> f64 {
        let lengths = match self.cases[case] {
            Case::Commit(_) => COMMIT_LENGTHS,
            Case::Stream(_) => STREAM_LENGTHS,
        };
        self.block.as_secs_f64() * lengths
    }

    /// Seconds of everything.
    pub(super) fn estimate_s(&self, turns: &[Turn], paths: usize) -> f64 {
        let blocks_s: f64 = turns.iter().map(|turn| self.block_s(self.place(turn.case).case)).sum();
        MAKING_S * paths as f64 + blocks_s
    }
}

fn placement(method: CommitMethod, overwrite: bool) -> Placement {
    if overwrite || method.is_mapped() { Placement::Overwrite } else { Placement::Append }
}

/// Committers and queue depths of a method.
fn loads(method: CommitMethod, settings: &StorageSettings) -> Vec<(u32, u32)> {
    let mut committers = settings.committers.clone();
    if committers.is_empty() {
        committers.push(1);
        if method == CommitMethod::Fsync {
            committers.extend(CURVE);
        }
    }
    let mut depths = vec![1];
    if method == CommitMethod::IoUring {
        depths = settings.queue_depths.clone();
        if depths.is_empty() {
            depths.extend(DEPTHS);
        }
    }
    let each = |count: &u32| depths.iter().map(|depth| (*count, *depth)).collect::<Vec<_>>();
    committers.iter().flat_map(each).collect()
}

/// The cases that bound the writing and reading of a log.
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
mod tests {
    use super::*;
    use plumb_model::units::{Bytes, Nanos};

    /// The settings when nothing is asked for.
    fn settings() -> StorageSettings {
        StorageSettings {
            paths: vec!["/x".into()],
            methods: Vec::new(),
            overwrite: false,
            blocks: vec![Bytes(4096)],
            committers: Vec::new(),
            queue_depths: Vec::new(),
            file: Bytes(16 << 20),
            streams: true,
            duration: Nanos::from_secs(1),
            rounds: 5,
            seed: 1,
        }
    }

    fn plan(settings: &StorageSettings) -> Plan {
        Plan::of(settings).unwrap()
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
        let with_file = |bytes| {
            Plan::of(&StorageSettings { file: Bytes(bytes), blocks: vec![Bytes(8 << 10)], ..settings() })
        };
        assert!(with_file(4 << 10).unwrap_err().message.contains("no room"));
        assert_eq!(with_file(8 << 10).unwrap().shown().overwritten_bytes, 8 << 10);
    }

    #[test]
    fn unless_asked_otherwise_every_method_has_a_case_and_fsync_a_curve() {
        let commits = commits(&plan(&settings()));
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
        let commits = commits(&plan(&StorageSettings {
            methods: vec![CommitMethod::Dsync, CommitMethod::IoUring],
            blocks: vec![Bytes(512), Bytes(1 << 20)],
            committers: vec![1, 2],
            queue_depths: vec![3],
            ..settings()
        }));
        let dsync = |case: &&CommitCase| case.method == CommitMethod::Dsync;
        assert_eq!(commits.iter().filter(dsync).count(), 4);
        assert!(commits.iter().filter(|case| !dsync(case)).all(|case| case.queue_depth == 3));
        assert_eq!(commits.len(), 8);
    }

    #[test]
    fn with_overwrite_nothing_is_appended() {
        let commits = commits(&plan(&StorageSettings { overwrite: true, ..settings() }));
        assert!(commits.iter().all(|case| case.placement == Placement::Overwrite));
        let distinct: HashSet<CommitCase> = commits.iter().copied().collect();
        assert_eq!(distinct.len(), commits.len());
    }

    #[test]
    fn every_round_has_each_case_of_each_path_once_and_streams_come_last() {
        let plan = plan(&StorageSettings { rounds: 3, ..settings() });
        let turns = plan.turns(2);
        for round in 0..3 {
            let turns = turns.iter().filter(|turn| turn.round == round);
            let distinct: HashSet<Place> = turns.clone().map(|turn| plan.place(turn.case)).collect();
            assert_eq!((turns.count(), distinct.len()), (plan.cases.len() * 2, plan.cases.len() * 2));
        }
        let is_stream = |turn: &Turn| matches!(plan.cases[plan.place(turn.case).case], Case::Stream(_));
        assert!(turns.iter().map(is_stream).is_sorted());
    }

    #[test]
    fn the_estimate_is_of_every_block_with_what_is_around_it() {
        let plan = plan(&StorageSettings {
            methods: vec![CommitMethod::Fsync, CommitMethod::Dsync],
            overwrite: true,
            committers: vec![1],
            streams: false,
            duration: Nanos::from_millis(60),
            rounds: 3,
            ..settings()
        });
        let turns = plan.turns(1);
        // Two cases in three rounds: blocks of 20 ms.
        assert_eq!(turns.len(), 6);
        assert!((plan.estimate_s(&turns, 1) - MAKING_S - 6.0 * 0.023).abs() < 1e-9);
    }
}
