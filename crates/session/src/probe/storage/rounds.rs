//! The rounds of a storage probe: files made, every case on every path in turn, each block folded into its result.

use super::fold::{At, CommitFold, DeviceWork, StreamFold, commit_rate, stream_rate};
use super::plan::{Case, Place, Plan};
use super::rate::{RoundBlock, ratio};
use crate::context::RunContext;
use crate::probe::rounds::{Experiment, Turn};
use plumb_model::facts::{DiskDelta, HostDelta, Storage, StorageLayer};
use plumb_model::probe::storage::{
    CommitCase, CommitResult, Placement, SequentialResult, StorageTarget, StreamCase, StreamDirection,
    TargetLayer,
};
use plumb_observe::{HostRoot, SystemCommands, host_delta, sample_host, storage};
use plumb_probe::storage::{Committers, Directory, Prepared, StorageError, Streams, check_open_files};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Most that a growing file takes before it is replaced (ours: minutes of any disk's commits of 4 KiB).
const FILE_BYTES_MAX: u64 = 512 << 20;
/// Most that a stream writes (ours: seconds of a fast disk).
const STREAM_BYTES_MAX: u64 = 1 << 30;
/// Of the free space, what the files of all commits and of all streams may take (ours: others write there too).
const COMMIT_SHARE: f64 = 0.5;
const STREAM_SHARE: f64 = 0.25;
/// Fewest commits that a file has room for, and fewest calls of a stream.
const COMMITS_MIN: u64 = 16;
const CALLS_MIN: u64 = 8;
/// A stream is read from one file and written to another.
const STREAM_FILES: u64 = 2;

/// A path while it is measured.
struct Target<'a> {
    directory: &'a Directory,
    storage: Storage,
    available_bytes: u64,
    streams: Option<Streams<'a>>,
    cases: Vec<Course<'a>>,
}

/// A case on a path, and what came of it so far.
enum Course<'a> {
    Commit(Option<Committers<'a>>, Box<CommitFold>),
    Stream(StreamFold),
}

/// Every case on every path, and what came of it so far.
pub(super) struct StorageRounds<'a> {
    plan: &'a Plan,
    targets: Vec<Target<'a>>,
    began: Instant,
    context: &'a RunContext,
}

impl<'a> StorageRounds<'a> {
    /// Makes the files of every path.
    pub(super) fn prepare(
        plan: &'a Plan,
        directories: &'a [Directory],
        context: &'a RunContext,
    ) -> Result<Self, StorageError> {
        let began = Instant::now();
        check_open_files(plan.files() * directories.len() as u64)?;
        let mut targets = Vec::new();
        for directory in directories {
            context.phase(&format!("making files in {}", directory.path().display()));
            targets.push(Target::prepare(plan, directory, directories.len(), context)?);
        }
        Ok(StorageRounds { plan, targets, began, context })
    }

    /// The results of every path.
    pub(super) fn results(self) -> Vec<StorageTarget> {
        let mut results: Vec<StorageTarget> = self.targets.into_iter().map(Target::result).collect();
        compare(&mut results);
        results
    }
}

impl Experiment for StorageRounds<'_> {
    type Error = StorageError;

    fn title(&self, case: usize) -> String {
        let Place { target, case } = self.plan.place(case);
        let path = self.targets[target].directory.path().display();
        format!("{}  {path}", self.plan.cases[case].title())
    }

    fn planned_s(&self, case: usize) -> f64 {
        self.plan.block_s(self.plan.place(case).case)
    }

    fn shared_resource(&self, case: usize) -> usize {
        self.plan.place(case).target
    }

    fn measure(&mut self, turn: Turn) -> Result<(), StorageError> {
        let Place { target, case } = self.plan.place(turn.case);
        let at = At { round: turn.round, began_ns: self.began.elapsed().as_nanos() as u64 };
        self.targets[target].block(self.plan, case, at, &self.context.stop)
    }
}

impl<'a> Target<'a> {
    /// Looks through to the hardware and makes the files.
    fn prepare(
        plan: &Plan,
        directory: &'a Directory,
        paths: usize,
        context: &RunContext,
    ) -> Result<Self, StorageError> {
        let available_bytes = directory.available_bytes()?;
        let room = Room::of(plan, directory, available_bytes, paths as u64)?;
        let mut target = Target {
            directory,
            storage: storage(
                &HostRoot::default(),
                &SystemCommands::default(),
                &directory.resolved().to_string_lossy(),
            ),
            available_bytes,
            streams: None,
            cases: Vec::new(),
        };
        for case in &plan.cases {
            // Between two preparations the user may have stopped it.
            let stopped = context.is_stopped();
            let course = match case {
                Case::Commit(case) => {
                    let mut fold = Box::new(CommitFold::new(*case));
                    let limit_bytes = room.commit_bytes.min(most_bytes(plan, case));
                    let prepared = if stopped {
                        None
                    } else {
                        Some(Committers::prepare(directory, *case, limit_bytes)?)
                    };
                    let committers = match prepared {
                        Some(Prepared::Ready(committers)) => Some(committers),
                        Some(Prepared::Refused(reason)) => {
                            fold.refused(reason);
                            None
                        }
                        Some(Prepared::Stopped) | None => None,
                    };
                    Course::Commit(committers, fold)
                }
                Case::Stream(case) => {
                    if target.streams.is_none() && !stopped {
                        target.streams =
                            Some(Streams::prepare(directory, room.stream_bytes.min(STREAM_BYTES_MAX))?);
                    }
                    Course::Stream(StreamFold::new(*case))
                }
            };
            target.cases.push(course);
        }
        Ok(target)
    }

    fn block(&mut self, plan: &Plan, case: usize, at: At, stop: &AtomicBool) -> Result<(), StorageError> {
        let root = HostRoot::default();
        let before = sample_host(&root).ok();
        let meanwhile =
            || before.zip(sample_host(&root).ok()).map(|(before, after)| host_delta(&before, &after));
        match (&plan.cases[case], &mut self.cases[case]) {
            (Case::Commit(_), Course::Commit(Some(committers), fold)) => {
                let sample = committers.run(plan.block, plan.least_commits(), stop)?;
                fold.block(at, sample, meanwhile().and_then(|host| device_work(&self.storage, &host)));
            }
            (Case::Stream(case), Course::Stream(fold)) => {
                if let Some(streams) = &self.streams {
                    let outcome = streams.run(case, plan.block, stop)?;
                    let device = meanwhile().and_then(|host| device_bytes(&self.storage, &host, case));
                    fold.block(at, outcome, device);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn result(self) -> StorageTarget {
        let (mut commits, mut sequential) = (Vec::new(), Vec::new());
        for course in self.cases {
            match course {
                Course::Commit(_, fold) => commits.push(fold.result()),
                Course::Stream(fold) => sequential.push(fold.result()),
            }
        }
        StorageTarget {
            path: self.directory.path().display().to_string(),
            layers: self.storage.layers.iter().map(line).collect(),
            storage: self.storage,
            available_bytes: self.available_bytes,
            commits,
            sequential,
            findings: Vec::new(),
        }
    }
}

/// Most that a file of a path may take.
struct Room {
    commit_bytes: u64,
    stream_bytes: u64,
}

impl Room {
    fn of(
        plan: &Plan,
        directory: &Directory,
        available_bytes: u64,
        paths: u64,
    ) -> Result<Self, StorageError> {
        // What each file needs at least, and how many there are.
        let (mut commit, mut files, mut stream) = (0, 0, 0);
        for case in &plan.cases {
            match case {
                Case::Commit(case) => {
                    commit = commit.max(case.block_bytes * u64::from(case.queue_depth) * COMMITS_MIN);
                    files += u64::from(case.committers);
                }
                Case::Stream(case) => stream = stream.max(case.block_bytes * CALLS_MIN),
            }
        }
        let share = |share: f64, files: u64| (available_bytes as f64 * share) as u64 / (files * paths).max(1);
        let needed = |bytes: u64, files: u64, share: f64| ((bytes * files * paths) as f64 / share) as u64;
        let room = Room {
            commit_bytes: share(COMMIT_SHARE, files),
            stream_bytes: share(STREAM_SHARE, STREAM_FILES),
        };
        if room.commit_bytes < commit || room.stream_bytes < stream {
            let needed_bytes =
                needed(commit, files, COMMIT_SHARE).max(needed(stream, STREAM_FILES, STREAM_SHARE));
            let path = directory.path().to_owned();
            return Err(StorageError::TooLittleSpace { path, available_bytes, needed_bytes });
        }
        Ok(room)
    }
}

fn most_bytes(plan: &Plan, case: &CommitCase) -> u64 {
    match case.placement {
        Placement::Append => FILE_BYTES_MAX,
        Placement::Overwrite => plan.overwritten_bytes,
    }
}

/// A layer in words.
fn line(layer: &StorageLayer) -> TargetLayer {
    TargetLayer {
        depth: layer.depth,
        kind: layer.layer.kind().to_owned(),
        name: layer.layer.name().to_owned(),
        detail: layer.layer.detail(),
    }
}

/// Counters of the hardware behind a path; absent where it has none here or one of them is not counted.
fn hardware<'a>(storage: &Storage, host: &'a HostDelta) -> Option<Vec<&'a DiskDelta>> {
    let hardware = storage.hardware();
    let disks: Vec<_> = host.disks.iter().filter(|disk| hardware.contains(&disk.name.as_str())).collect();
    (!hardware.is_empty() && disks.len() == hardware.len()).then_some(disks)
}

/// Bytes that the hardware moved the way of a stream.
fn device_bytes(storage: &Storage, host: &HostDelta, case: &StreamCase) -> Option<u64> {
    let disks = hardware(storage, host)?;
    let moved = |disk: &&DiskDelta| match case.direction {
        StreamDirection::Read => disk.read_bytes,
        StreamDirection::Write => disk.written_bytes,
    };
    disks.iter().map(moved).sum()
}

/// The work of the hardware behind a path.
fn device_work(storage: &Storage, host: &HostDelta) -> Option<DeviceWork> {
    let disks = hardware(storage, host)?;
    Some(DeviceWork {
        writes: disks.iter().map(|disk| disk.writes).sum::<Option<u64>>()?,
        flushes: disks.iter().map(|disk| disk.flushes).sum(),
    })
}

/// Every path beside the first one.
fn compare(targets: &mut [StorageTarget]) {
    let Some((first, others)) = targets.split_first_mut() else { return };
    let commits = |result: &CommitResult| -> Vec<RoundBlock> {
        let blocks = result.blocks.iter();
        blocks.map(|block| RoundBlock { round: block.round, block: commit_rate(block) }).collect()
    };
    let streams = |result: &SequentialResult| -> Vec<RoundBlock> {
        let blocks = result.blocks.iter();
        blocks.map(|block| RoundBlock { round: block.round, block: stream_rate(block) }).collect()
    };
    for target in others {
        for (result, reference) in target.commits.iter_mut().zip(&first.commits) {
            result.ratio_to_first = ratio(&commits(reference), &commits(result));
        }
        for (result, reference) in target.sequential.iter_mut().zip(&first.sequential) {
            result.ratio_to_first = ratio(&streams(reference), &streams(result));
        }
    }
}
