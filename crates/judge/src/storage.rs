//! A storage probe's document in, what speaks against its figures out: is a commit durable, can the rate be real, and is
//! it the device's?
//!
//! Every warning says its evidence. That a commit is durable means: the method asks for it, and nothing that this host
//! shows says otherwise. What a hypervisor or a controller does with a flush cannot be seen from here.

use plumb_model::facts::{Device, DeviceClass, Layer, Medium, Storage, StorageRisk};
use plumb_model::probe::storage::{
    CommitResult, Placement, StorageProbe, StorageTarget, StorageWarning, WarningId,
};
use plumb_stats::paired::paired_ratio;

/// Most rotations of a disk in a second: 15,000 a minute, the fastest that was sold. A commit to one place needs one.
const ROTATIONS_PER_S: f64 = 250.0;
/// Commits of a single committer in a second that no published device reaches: twice the fastest of those that are
/// shown beside (ours).
const PUBLISHED_MAX_PER_S: f64 = 46_000.0;
/// Fewest commits for a missing flush to mean something (ours).
const COMMITS_MIN: u64 = 20;
/// Appending below this share of overwriting: the file system takes more than the device (ours; ext4 appends at a third on a
/// disk where every request takes as long).
const FILE_SYSTEM_SHARE: f64 = 0.8;
/// A page cache that took so many times what the device did hides the device (ours).
const ABSORBED: f64 = 1.5;

/// Fills in what is durable and what speaks against the figures. What an earlier judgement left is replaced.
pub fn judge(document: &mut StorageProbe) {
    for target in &mut document.targets {
        let storage = target.storage.clone();
        for commit in &mut target.commits {
            commit.warnings = commit_warnings(&storage, commit);
            commit.durable = durable(&storage, commit);
        }
        target.warnings =
            [file_system_limits(target), memory_absorbed(target)].into_iter().flatten().collect();
    }
}

fn warning(id: WarningId, text: impl Into<String>) -> StorageWarning {
    StorageWarning { id, text: text.into() }
}

fn devices(storage: &Storage) -> impl Iterator<Item = &Device> {
    storage.layers.iter().filter_map(|layer| match &layer.layer {
        Layer::Device(device) => Some(device),
        Layer::FileSystem(_) | Layer::Pool(_) => None,
    })
}

/// Devices under which there is nothing more.
fn hardware(storage: &Storage) -> Vec<&Device> {
    let names = storage.hardware();
    devices(storage).filter(|device| names.contains(&device.name.as_str())).collect()
}

fn has_volatile_cache(device: &Device) -> bool {
    device.write_cache.as_deref() == Some("write back")
}

fn commit_warnings(storage: &Storage, commit: &CommitResult) -> Vec<StorageWarning> {
    if commit.rate_per_s.is_none() {
        return Vec::new();
    }
    let found = [
        by_design(commit),
        unknowable(storage),
        no_flush_seen(storage, commit),
        too_fast(storage, commit),
        direct_is_buffered(storage, commit),
    ];
    risks(storage).into_iter().chain(found.into_iter().flatten()).collect()
}

fn by_design(commit: &CommitResult) -> Option<StorageWarning> {
    let text =
        "sync_file_range starts the write-out of the data alone: no metadata, no flush of the device's cache";
    (!commit.case.method.promises_durability()).then(|| warning(WarningId::NotDurableByDesign, text))
}

/// What is known to lose synced data, whatever the way to sync.
fn risks(storage: &Storage) -> Vec<StorageWarning> {
    let hardware = hardware(storage);
    let nothing_to_flush = !hardware.is_empty()
        && hardware.iter().all(|device| device.write_cache.as_deref() == Some("write through"));
    let id = |risk: &StorageRisk| match risk {
        StorageRisk::Memory { .. } | StorageRisk::CacheInMemory { .. } => Some(WarningId::Memory),
        // Without a volatile cache a flush has nothing to do.
        StorageRisk::NoBarrier { .. } => (!nothing_to_flush).then_some(WarningId::NoBarrier),
        StorageRisk::SyncIgnored { .. } => Some(WarningId::SyncIgnored),
        StorageRisk::FlushSuppressed { .. } => Some(WarningId::FlushSuppressed),
    };
    storage.risks().iter().filter_map(|risk| Some(warning(id(risk)?, risk.to_string()))).collect()
}

/// A chain that does not end at hardware or memory: a container's overlay, for one, lies on a directory that it does not see.
fn unknowable(storage: &Storage) -> Option<StorageWarning> {
    let text = storage.lowest().find_map(|layer| match layer {
        Layer::FileSystem(file_system) => match file_system.medium {
            Medium::Network => {
                Some("another host keeps the data: whether it syncs cannot be seen from here".to_owned())
            }
            Medium::Unknown => {
                Some("what keeps the data cannot be told, nor what a sync does there".to_owned())
            }
            Medium::Device | Medium::FileSystem => Some(below_unknown(&file_system.fs_type)),
            Medium::Memory => None,
        },
        Layer::Pool(pool) => Some(below_unknown(&pool.name)),
        Layer::Device(device) => device.class.is_layered().then(|| below_unknown(&device.name)),
    })?;
    Some(warning(WarningId::Unknowable, text))
}

fn below_unknown(name: &str) -> String {
    format!("what {name} lies on cannot be seen from here, nor what a sync does there")
}

fn no_flush_seen(storage: &Storage, commit: &CommitResult) -> Option<StorageWarning> {
    let hardware = hardware(storage);
    let volatile = !hardware.is_empty() && hardware.iter().all(|device| has_volatile_cache(device));
    let none = commit.device_flushes_per_commit == Some(0.0);
    let asked = commit.case.method.always_flushes() && commit.latency.samples >= COMMITS_MIN;
    let names = || hardware.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
    (volatile && none && asked).then(|| {
        let text = format!(
            "{} commits and not one flush reached {}, which has a volatile write cache",
            commit.latency.samples,
            names()
        );
        warning(WarningId::NoFlushSeen, text)
    })
}

fn too_fast(storage: &Storage, commit: &CommitResult) -> Option<StorageWarning> {
    let rate = commit.rate_per_s?;
    if !commit.case.method.promises_durability() || storage.is_memory() || storage.is_dax() {
        return None;
    }
    let at_once = f64::from(commit.case.committers * commit.case.queue_depth);
    let hardware = hardware(storage);
    // A cache before the disk answers for it, and is a layer by itself.
    let alone = storage.layers.len() <= 3;
    // virtio-blk has no word for it: the kernel's default says that such a disk rotates.
    let turns = |device: &Device| device.rotational == Some(true) && device.class != DeviceClass::Virtio;
    let rotates = alone && !hardware.is_empty() && hardware.iter().all(|device| turns(device));
    if rotates && rate > ROTATIONS_PER_S * at_once {
        let text = format!(
            "{rate:.0}/s from a device that says that it rotates, and no disk turns more than {ROTATIONS_PER_S:.0} times a \
             second: a cache answers for it. That is durable only where the cache outlives a loss of power (a battery); in \
             a virtual machine the word of the device is the hypervisor's"
        );
        return Some(warning(WarningId::TooFast, text));
    }
    let block = hardware.iter().any(|device| device.dax != Some(true));
    (block && rate > PUBLISHED_MAX_PER_S * at_once).then(|| {
        let text = format!(
            "{rate:.0}/s is more than twice what the fastest published device does: something answers before the medium has it"
        );
        warning(WarningId::TooFast, text)
    })
}

/// With all data through the journal ext4 takes O_DIRECT and writes through the page cache (kernel documentation,
/// filesystems/ext4).
fn direct_is_buffered(storage: &Storage, commit: &CommitResult) -> Option<StorageWarning> {
    let found = storage.file_system()?;
    let journals = found.options.iter().any(|option| option == "data=journal");
    (commit.case.method.is_direct() && journals).then(|| {
        warning(
            WarningId::DirectIsBuffered,
            "with data=journal the file system takes O_DIRECT and goes through the page cache all the same: only the sync \
             makes it last",
        )
    })
}

fn durable(storage: &Storage, commit: &CommitResult) -> Option<bool> {
    commit.rate_per_s?;
    let says = |id: WarningId| commit.warnings.iter().any(|warning| warning.id == id);
    let not = [
        WarningId::NotDurableByDesign,
        WarningId::Memory,
        WarningId::NoBarrier,
        WarningId::SyncIgnored,
        WarningId::FlushSuppressed,
        WarningId::NoFlushSeen,
    ];
    if not.into_iter().any(says) {
        return Some(false);
    }
    let unknown = says(WarningId::Unknowable) || says(WarningId::TooFast) || storage.layers.is_empty();
    (!unknown).then_some(true)
}

/// Appending far slower than overwriting what is there: the work is the file system's (journal, block allocation), not
/// the device's.
fn file_system_limits(target: &StorageTarget) -> Option<StorageWarning> {
    // Memory is no device that a file system could be slower than.
    if target.storage.is_memory() {
        return None;
    }
    let single = |placement: Placement| {
        let of = move |commit: &&CommitResult| {
            let case = &commit.case;
            case.placement == placement && case.committers == 1 && case.queue_depth == 1
        };
        target
            .commits
            .iter()
            .filter(of)
            .filter(|commit| commit.case.method.promises_durability() && !commit.case.method.is_mapped())
    };
    let appended = single(Placement::Append)
        .find(|commit| commit.case.method.name() == "fsync" && commit.rate_per_s.is_some())?;
    let overwritten = single(Placement::Overwrite)
        .filter(|commit| commit.case.block_bytes == appended.case.block_bytes)
        .max_by(|a, b| a.rate_per_s.unwrap_or(0.0).total_cmp(&b.rate_per_s.unwrap_or(0.0)))?;
    let partner = |round: u32| overwritten.blocks.iter().find(|block| block.round == round);
    let pairs: Vec<(f64, f64)> = appended
        .blocks
        .iter()
        .filter_map(|block| Some((partner(block.round)?.rate_per_s, block.rate_per_s)))
        .collect();
    let ratio = paired_ratio(&pairs, 0.95)?;
    if ratio.high >= FILE_SYSTEM_SHARE {
        return None;
    }
    let requests =
        |commit: &CommitResult| match (commit.device_writes_per_commit, commit.device_flushes_per_commit) {
            (Some(writes), Some(flushes)) => {
                format!(" ({writes:.1} writes and {flushes:.1} flushes of the device each)")
            }
            _ => String::new(),
        };
    let text = format!(
        "the file system, not the device, limits appending: {:.0}/s with fsync{}, against {:.0}/s{} when blocks that are there \
         already are overwritten with {} (x{:.2}, {:.2}..{:.2}). Preallocated files would have the device's rate",
        appended.rate_per_s?,
        requests(appended),
        overwritten.rate_per_s?,
        requests(overwritten),
        overwritten.case.method.name(),
        ratio.ratio,
        ratio.low,
        ratio.high
    );
    Some(warning(WarningId::FileSystemLimits, text))
}

/// What the page cache takes is no rate of a log that goes on.
fn memory_absorbed(target: &StorageTarget) -> Option<StorageWarning> {
    let buffered = target.sequential.iter().find(|stream| stream.accepted_bytes_per_s.is_some())?;
    let (accepted, through) = (buffered.accepted_bytes_per_s?, buffered.bytes_per_s?);
    if accepted < through * ABSORBED || target.storage.is_memory() {
        return None;
    }
    let text = format!(
        "the page cache took {:.0} MB/s of a buffered write, the device {:.0} MB/s: memory hides the device until the dirty \
         pages reach their limit, and a log that goes on ends at the device's rate",
        accepted / 1e6,
        through / 1e6
    );
    Some(warning(WarningId::MemoryAbsorbed, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::facts::{FileSystem, StorageLayer};
    use plumb_model::probe::storage::{CommitBlock, CommitCase, CommitLatency, CommitMethod};

    fn storage(options: &[&str], device: Device) -> Storage {
        let file_system = FileSystem {
            fs_type: "ext4".into(),
            mount_point: "/srv".into(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            medium: Medium::Device,
            ..FileSystem::default()
        };
        let layers = [Layer::FileSystem(file_system), Layer::Device(device)];
        let layers = (0..).zip(layers).map(|(depth, layer)| StorageLayer { depth, layer });
        Storage { layers: layers.collect(), ..Storage::default() }
    }

    fn disk(write_cache: &str, rotational: bool) -> Device {
        Device {
            name: "sda".into(),
            class: DeviceClass::Scsi,
            write_cache: Some(write_cache.into()),
            rotational: Some(rotational),
            ..Device::default()
        }
    }

    fn commit(method: CommitMethod, placement: Placement, rates: &[f64]) -> CommitResult {
        let block = |(round, rate): (u32, &f64)| CommitBlock {
            round,
            elapsed_ns: 1_000_000_000,
            commits: *rate as u64,
            rate_per_s: *rate,
            seconds: Vec::new(),
        };
        CommitResult {
            case: CommitCase { method, placement, block_bytes: 4096, committers: 1, queue_depth: 1 },
            rate_per_s: Some(rates.iter().sum::<f64>() / rates.len() as f64),
            rate_interval: None,
            latency: CommitLatency { samples: rates.iter().sum::<f64>() as u64, ..CommitLatency::default() },
            durable: None,
            warnings: Vec::new(),
            unavailable: None,
            cpu_ns_per_commit: None,
            device_writes_per_commit: Some(3.0),
            device_flushes_per_commit: Some(2.0),
            ratio_to_first: None,
            blocks: (0..).zip(rates).map(block).collect(),
        }
    }

    #[test]
    fn a_chain_that_ends_before_the_hardware_promises_nothing() {
        let commit = || commit(CommitMethod::Fsync, Placement::Append, &[100.0; 5]);
        let ends_at = |layer: Layer| {
            let layers = vec![StorageLayer { depth: 0, layer }];
            judged(&Storage { layers, ..Storage::default() }, commit())
        };
        let on = |medium: Medium| {
            Layer::FileSystem(FileSystem { fs_type: "overlay".into(), medium, ..FileSystem::default() })
        };
        for medium in [Medium::FileSystem, Medium::Device, Medium::Network, Medium::Unknown] {
            assert_eq!(ends_at(on(medium)), (vec![WarningId::Unknowable], None), "{medium:?}");
        }
        let file = Device { name: "loop0".into(), class: DeviceClass::Loop, ..Device::default() };
        assert_eq!(judged(&storage(&[], file), commit()), (vec![WarningId::Unknowable], None));
        assert_eq!(judged(&storage(&[], disk("write back", false)), commit()), (vec![], Some(true)));
    }

    fn ids(storage: &Storage, commit: &CommitResult) -> Vec<WarningId> {
        commit_warnings(storage, commit).iter().map(|warning| warning.id).collect()
    }

    /// What is said of a commit, and whether it is durable.
    fn judged(storage: &Storage, mut commit: CommitResult) -> (Vec<WarningId>, Option<bool>) {
        commit.warnings = commit_warnings(storage, &commit);
        (ids(storage, &commit), durable(storage, &commit))
    }

    fn fsync(rate_per_s: f64) -> CommitResult {
        commit(CommitMethod::Fsync, Placement::Append, &[rate_per_s])
    }

    #[test]
    fn a_plain_disk_at_a_plain_rate_is_durable_and_nothing_is_said() {
        let storage = storage(&["rw"], disk("write back", true));
        assert_eq!(judged(&storage, fsync(90.0)), (Vec::new(), Some(true)));
    }

    #[test]
    fn a_volatile_cache_that_got_no_flush_is_not_durable() {
        let storage = storage(&["rw"], disk("write back", false));
        let silent = CommitResult { device_flushes_per_commit: Some(0.0), ..fsync(900.0) };
        assert_eq!(judged(&storage, silent.clone()), (vec![WarningId::NoFlushSeen], Some(false)));
        let single =
            CommitResult { case: CommitCase { method: CommitMethod::DirectDsync, ..silent.case }, ..silent };
        assert_eq!(judged(&storage, single).1, Some(true), "a single write may carry its own mark");
    }

    #[test]
    fn without_a_volatile_cache_no_flush_is_needed_and_no_barrier_missed() {
        let storage = storage(&["rw", "nobarrier"], disk("write through", false));
        let silent = CommitResult { device_flushes_per_commit: Some(0.0), ..fsync(900.0) };
        assert_eq!(judged(&storage, silent), (Vec::new(), Some(true)));
    }

    #[test]
    fn a_mount_without_barriers_over_a_volatile_cache_is_not_durable() {
        let storage = storage(&["rw", "nobarrier"], disk("write back", false));
        assert_eq!(judged(&storage, fsync(900.0)), (vec![WarningId::NoBarrier], Some(false)));
    }

    #[test]
    fn a_turning_disk_commits_once_a_turn_and_what_is_faster_is_a_cache() {
        let turning = storage(&["rw"], disk("write back", true));
        assert_eq!(judged(&turning, fsync(240.0)).0, []);
        assert_eq!(judged(&turning, fsync(3_000.0)), (vec![WarningId::TooFast], None));
        let virtual_disk = Device { class: DeviceClass::Virtio, ..disk("write back", true) };
        assert_eq!(judged(&storage(&["rw"], virtual_disk), fsync(3_000.0)).0, [], "virtio-blk cannot tell");
    }

    #[test]
    fn sixteen_committers_may_be_sixteen_times_as_fast() {
        let storage = storage(&["rw"], disk("write back", false));
        assert_eq!(judged(&storage, fsync(60_000.0)).0, [WarningId::TooFast]);
        let many = CommitResult { case: CommitCase { committers: 16, ..fsync(1.0).case }, ..fsync(60_000.0) };
        assert_eq!(judged(&storage, many).0, []);
    }

    #[test]
    fn direct_writes_under_a_full_journal_are_named_and_still_durable() {
        let storage = storage(&["rw", "data=journal"], disk("write back", false));
        let direct = commit(CommitMethod::Direct, Placement::Append, &[900.0]);
        assert_eq!(judged(&storage, direct), (vec![WarningId::DirectIsBuffered], Some(true)));
    }

    #[test]
    fn what_another_host_keeps_cannot_be_called_durable_or_not() {
        let network = FileSystem { fs_type: "nfs4".into(), medium: Medium::Network, ..FileSystem::default() };
        let layer = StorageLayer { depth: 0, layer: Layer::FileSystem(network) };
        let storage = Storage { layers: vec![layer], ..Storage::default() };
        assert_eq!(judged(&storage, fsync(900.0)), (vec![WarningId::Unknowable], None));
    }

    fn target(appended: &[f64], overwritten: &[f64]) -> StorageTarget {
        StorageTarget {
            path: "/srv".into(),
            layers: Vec::new(),
            storage: storage(&["rw"], disk("write back", false)),
            available_bytes: 1 << 30,
            commits: vec![
                commit(CommitMethod::Fsync, Placement::Append, appended),
                commit(CommitMethod::Fdatasync, Placement::Overwrite, overwritten),
            ],
            sequential: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Rates of ext4 on a disk of 40 requests a second: 12.8 appended, 36 overwritten.
    #[test]
    fn appending_at_a_third_of_overwriting_is_the_file_systems_work() {
        let found = file_system_limits(&target(&[12.8, 12.7, 12.9], &[36.0, 36.4, 35.8])).unwrap();
        assert_eq!(found.id, WarningId::FileSystemLimits);
        assert!(found.text.contains("3.0 writes and 2.0 flushes"), "{}", found.text);
        assert!(found.text.contains("(x0.35, "), "{}", found.text);
    }

    #[test]
    fn in_memory_there_is_no_device_to_be_slower_than() {
        let mut target = target(&[12.8, 12.7, 12.9], &[36.0, 36.4, 35.8]);
        let memory = FileSystem { fs_type: "tmpfs".into(), medium: Medium::Memory, ..FileSystem::default() };
        target.storage.layers = vec![StorageLayer { depth: 0, layer: Layer::FileSystem(memory) }];
        assert_eq!(file_system_limits(&target), None);
    }

    #[test]
    fn rates_that_scatter_too_much_to_tell_accuse_nobody() {
        assert_eq!(file_system_limits(&target(&[12.0, 40.0, 20.0], &[36.0, 20.0, 60.0])), None);
        assert_eq!(file_system_limits(&target(&[35.0, 36.0, 37.0], &[36.0, 36.0, 36.0])), None);
    }
}
