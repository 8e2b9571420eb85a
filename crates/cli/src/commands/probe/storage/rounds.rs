//! The rounds: files made, every case on every path in turn, each block folded into its result.

use super::fold::{CommitFold, DeviceWork, ratio};
use super::plan::{Case, Plan};
use crate::progress::Turns;
use anyhow::Result;
use plumb_model::facts::{HostDelta, Storage, StorageLayer};
use plumb_model::probe::storage::{CommitResult, Noise, StorageTarget, TargetLayer};
use plumb_observe::{
    HostRoot, HostSample, SystemCommands, ThreadsSample, host_delta, process_usage, sample_host,
    sample_threads, storage,
};
use plumb_probe::storage::{Committers, Directory, Prepared, StorageError};
use std::sync::atomic::{AtomicBool, Ordering};

/// Most that a growing file takes before it is replaced (ours: minutes of any disk's commits of 4 KiB).
const FILE_BYTES_MAX: u64 = 512 << 20;
/// What a file that is overwritten has (that of a PostgreSQL log segment, which pg_test_fsync uses too).
const OVERWRITTEN_BYTES: u64 = 16 << 20;
/// Of the free space, the share that all files together may take (ours: others write there too).
const SPACE_SHARE: f64 = 0.5;
/// Fewest commits that a file has room for.
const COMMITS_MIN: u64 = 16;

/// A path while it is measured.
struct Target<'a> {
    directory: &'a Directory,
    storage: Storage,
    available_bytes: u64,
    committers: Vec<Option<Committers<'a>>>,
    commits: Vec<CommitFold>,
}

pub(super) fn measure(
    plan: &Plan,
    directories: &[Directory],
    stop: &AtomicBool,
) -> Result<(Vec<StorageTarget>, Noise)> {
    let root = HostRoot::default();
    let slots = plan.order(directories.len());
    let turns = Turns::new("storage probe", slots.len(), plan.block.as_secs_f64() * slots.len() as f64);
    turns.note("making files");
    let mut targets = Vec::new();
    for directory in directories {
        targets.push(Target::prepare(plan, directory, directories.len(), &root, stop)?);
    }
    let before = Reading::take(&root);
    for slot in slots {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let target = &mut targets[slot.target];
        turns.next(&format!("{}  {}", target.directory.path().display(), words(&plan.cases[slot.case])));
        target.block(plan, slot.case, slot.round, &root, stop)?;
    }
    let noise = Reading::take(&root).since(&before);
    turns.end();
    let mut results: Vec<StorageTarget> = targets.into_iter().map(Target::result).collect();
    compare(&mut results);
    Ok((results, noise))
}

/// A case for people.
fn words(case: &Case) -> String {
    match case {
        Case::Commit(case) => format!("{} x {}", case.method.name(), case.committers),
        Case::Stream(_) => "stream".to_owned(),
    }
}

impl<'a> Target<'a> {
    fn prepare(
        plan: &Plan,
        directory: &'a Directory,
        paths: usize,
        root: &HostRoot,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let available_bytes = directory.available_bytes()?;
        let mut target = Target {
            directory,
            storage: storage(root, &SystemCommands::default(), &directory.resolved().to_string_lossy()),
            available_bytes,
            committers: Vec::new(),
            commits: Vec::new(),
        };
        let files: u64 = plan
            .cases
            .iter()
            .map(|case| match case {
                Case::Commit(case) => u64::from(case.committers),
                Case::Stream(_) => 0,
            })
            .sum();
        let share_bytes = (available_bytes as f64 * SPACE_SHARE / paths as f64) as u64 / files.max(1);
        for case in &plan.cases {
            let Case::Commit(case) = case else { continue };
            let needed_bytes = case.block_bytes * u64::from(case.queue_depth) * COMMITS_MIN;
            if share_bytes < needed_bytes {
                let needed = needed_bytes * files * paths as u64;
                return Err(StorageError::TooLittleSpace {
                    path: directory.path().to_owned(),
                    available_bytes,
                    needed_bytes: (needed as f64 / SPACE_SHARE) as u64,
                }
                .into());
            }
            let most = match case.placement {
                plumb_model::probe::storage::Placement::Append => FILE_BYTES_MAX,
                plumb_model::probe::storage::Placement::Overwrite => OVERWRITTEN_BYTES.max(needed_bytes),
            };
            let mut fold = CommitFold::new(*case);
            // Between two preparations the user may have stopped it.
            let prepared = if stop.load(Ordering::Relaxed) {
                None
            } else {
                match Committers::prepare(directory, *case, share_bytes.min(most))? {
                    Prepared::Ready(committers) => Some(committers),
                    Prepared::Refused(reason) => {
                        fold.refused(reason);
                        None
                    }
                }
            };
            target.committers.push(prepared);
            target.commits.push(fold);
        }
        Ok(target)
    }

    fn block(
        &mut self,
        plan: &Plan,
        index: usize,
        round: u32,
        root: &HostRoot,
        stop: &AtomicBool,
    ) -> Result<()> {
        let Some(Some(committers)) = self.committers.get_mut(index) else { return Ok(()) };
        let before = sample_host(root).ok();
        let sample = committers.run(plan.block, stop)?;
        let work = before.zip(sample_host(root).ok()).map(|(before, after)| host_delta(&before, &after));
        let work = work.and_then(|host| device_work(&self.storage, &host));
        self.commits[index].block(round, sample, work);
        Ok(())
    }

    fn result(self) -> StorageTarget {
        StorageTarget {
            path: self.directory.path().display().to_string(),
            layers: self.storage.layers.iter().map(line).collect(),
            storage: self.storage,
            available_bytes: self.available_bytes,
            commits: self.commits.into_iter().map(CommitFold::result).collect(),
            sequential: Vec::new(),
            warnings: Vec::new(),
        }
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

/// What the hardware behind a path did; absent where it has none here or no counter tells.
fn device_work(storage: &Storage, host: &HostDelta) -> Option<DeviceWork> {
    let hardware = storage.hardware();
    let disks: Vec<_> = host.disks.iter().filter(|disk| hardware.contains(&disk.name.as_str())).collect();
    if hardware.is_empty() || disks.len() != hardware.len() {
        return None;
    }
    Some(DeviceWork {
        writes: disks.iter().map(|disk| disk.writes).sum::<Option<u64>>()?,
        flushes: disks.iter().map(|disk| disk.flushes).sum(),
    })
}

fn compare(targets: &mut [StorageTarget]) {
    let Some((first, others)) = targets.split_first_mut() else { return };
    let rates = |result: &CommitResult| -> Vec<(u32, f64)> {
        result.blocks.iter().map(|block| (block.round, block.rate_per_s)).collect()
    };
    for target in others {
        for (result, reference) in target.commits.iter_mut().zip(&first.commits) {
            result.ratio_to_first = ratio(&rates(reference), &rates(result));
        }
    }
}

/// The host and this process at a moment.
struct Reading {
    host: Option<HostSample>,
    own: Option<ThreadsSample>,
}

impl Reading {
    fn take(root: &HostRoot) -> Self {
        Reading { host: sample_host(root).ok(), own: sample_threads(root, std::process::id()).ok() }
    }

    fn since(&self, before: &Reading) -> Noise {
        let host =
            before.host.as_ref().zip(self.host.as_ref()).map(|(before, after)| host_delta(before, after));
        let own =
            before.own.as_ref().zip(self.own.as_ref()).map(|(before, after)| process_usage(before, after));
        let others = || {
            let host = host.as_ref()?;
            let own_ns = own.as_ref()?.cpu_ns?;
            Some(
                host.cpu.busy_ns?.saturating_sub(own_ns) as f64
                    / host.cpu.total_ns.filter(|total| *total > 0)? as f64,
            )
        };
        Noise {
            others_cpu_share: others(),
            steal_share: host.as_ref().and_then(|host| host.cpu.steal_share()),
            counters: host,
        }
    }
}
