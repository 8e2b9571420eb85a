//! A storage probe's document in, what speaks against its figures out: is a commit durable, can the rate be real, and is
//! it the device's?
//!
//! Every warning says its evidence. That a commit is durable means: the method asks for it, and nothing that this host
//! shows says otherwise. What a hypervisor or a controller does with a flush cannot be seen from here.

use plumb_model::facts::{Device, DeviceClass, Layer, Medium, Storage, StorageRisk};
use plumb_model::probe::storage::{
    CommitMethod, CommitResult, Placement, StorageProbe, StorageTarget, StorageWarning, WarningId,
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
    let virtualisation = document.conditions.host.virtualisation.value();
    let bare_metal = virtualisation.is_some_and(|known| !known.virtual_machine);
    for target in &mut document.targets {
        let storage = target.storage.clone();
        for commit in &mut target.commits {
            commit.warnings = commit_warnings(&storage, commit, bare_metal);
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

fn commit_warnings(storage: &Storage, commit: &CommitResult, bare_metal: bool) -> Vec<StorageWarning> {
    if commit.rate_per_s.is_none() {
        return Vec::new();
    }
    let found = [
        by_design(commit),
        unknowable(storage),
        no_flush_seen(storage, commit),
        too_fast(storage, commit).filter(|_| bare_metal),
        faster_than_published(storage, commit),
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
        Layer::Device(device) => match device.class {
            DeviceClass::Network => Some(format!(
                "another host keeps the data of {}: whether it syncs cannot be seen from here",
                device.name
            )),
            class => class.is_layered().then(|| below_unknown(&device.name)),
        },
    });
    let text = text.or_else(|| {
        let missing = storage.missing.first()?;
        Some(format!("not all that keeps the data can be seen from here: {missing}"))
    });
    Some(warning(WarningId::Unknowable, text?))
}

fn below_unknown(name: &str) -> String {
    format!("what {name} lies on cannot be seen from here, nor what a sync does there")
}

fn no_flush_seen(storage: &Storage, commit: &CommitResult) -> Option<StorageWarning> {
    let hardware = hardware(storage);
    // Flushes of persistent memory, and of a disk that is reached on several paths, pass by the counter.
    let counted = |device: &&Device| has_volatile_cache(device) && device.request_queue;
    let volatile = !hardware.is_empty() && hardware.iter().all(counted);
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

/// A disk that turns and commits more often than it turns. For bare metal only: in a guest it is the hypervisor that says
/// whether a disk turns, and its default is yes.
fn too_fast(storage: &Storage, commit: &CommitResult) -> Option<StorageWarning> {
    let rate = commit.rate_per_s?;
    if !commit.case.method.promises_durability() || storage.is_memory() || storage.is_dax() {
        return None;
    }
    let hardware = hardware(storage);
    // A cache before the disk answers for it, and is a layer by itself.
    let alone = storage.layers.len() <= 3;
    let turns = |device: &Device| device.rotational == Some(true) && device.class == DeviceClass::Scsi;
    let rotates = alone && !hardware.is_empty() && hardware.iter().all(|device| turns(device));
    (rotates && rate > ROTATIONS_PER_S * at_once(commit)).then(|| {
        let text = format!(
            "{rate:.0}/s from a device that says that it rotates, and no disk turns more than {ROTATIONS_PER_S:.0} times a \
             second: a cache answers for it. That is durable only where the cache outlives a loss of power (a battery)"
        );
        warning(WarningId::TooFast, text)
    })
}

/// Appending with fsync, which is what was published.
fn faster_than_published(storage: &Storage, commit: &CommitResult) -> Option<StorageWarning> {
    let rate = commit.rate_per_s?;
    let published = commit.case.method == CommitMethod::Fsync && commit.case.placement == Placement::Append;
    if !published || storage.is_memory() || storage.is_dax() {
        return None;
    }
    let block = hardware(storage).iter().any(|device| device.dax != Some(true));
    (block && rate > PUBLISHED_MAX_PER_S * at_once(commit)).then(|| {
        let text = format!(
            "{rate:.0}/s is more than twice what the fastest device of those below was published with: something may answer \
             before the medium has it. A disk whose cache outlives a loss of power may be as fast"
        );
        warning(WarningId::FasterThanPublished, text)
    })
}

fn at_once(commit: &CommitResult) -> f64 {
    f64::from(commit.case.committers) * f64::from(commit.case.queue_depth)
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
    let unknown =
        [WarningId::Unknowable, WarningId::TooFast, WarningId::FasterThanPublished].into_iter().any(says)
            || storage.layers.is_empty();
    (!unknown).then_some(true)
}

/// Appending far slower than overwriting what is there, both with fsync: the difference is the file system's work
/// (journal, block allocation).
fn file_system_limits(target: &StorageTarget) -> Option<StorageWarning> {
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
    let pairs: Vec<(f64, f64)> = appended
        .blocks
        .iter()
        .filter_map(|block| Some((partner(block.round)?.rate_per_s, block.rate_per_s)))
        .collect();
    let ratio = paired_ratio(&pairs, 0.95)?;
    if ratio.high >= FILE_SYSTEM_SHARE {
        return None;
    }
    let requests = |commit: &CommitResult| match (
        commit.device_writes_per_commit,
        commit.device_flushes_per_commit,
    ) {
        (Some(writes), Some(flushes)) => {
            format!(
                " (each with at least {writes:.1} writes and {flushes:.1} flushes of the device, other programs' included)"
            )
        }
        _ => String::new(),
    };
    let text = format!(
        "the file system's work for a growing file costs more than the write: fsync came to {:.0}/s appending{}, and to {:.0}/s \
         overwriting blocks that are there already{} (x{:.2}, {:.2}..{:.2}). Preallocated files would spare it",
        appended.rate_per_s?,
        requests(appended),
        overwritten.rate_per_s?,
        requests(overwritten),
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
        "the page cache took {:.0} MB/s of a buffered write; with the sync that followed it came to {:.0} MB/s. Memory hides the \
         device until the dirty pages reach their limit; a log that goes on writes and syncs at the same time, so that its rate \
         is neither of the two",
        accepted / 1e6,
        through / 1e6
    );
    Some(warning(WarningId::MemoryAbsorbed, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::facts::{FileSystem, StorageLayer};
    use plumb_model::probe::storage::{CommitBlock, CommitCase, CommitLatency};

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
            request_queue: true,
            ..Device::default()
        }
    }

    fn commit(method: CommitMethod, placement: Placement, rates: &[f64]) -> CommitResult {
        let block = |(round, rate): (u32, &f64)| CommitBlock {
            round,
            began_ns: 0,
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
        commit_warnings(storage, commit, true).iter().map(|warning| warning.id).collect()
    }

    /// What is said of a commit, and whether it is durable.
    fn judged(storage: &Storage, mut commit: CommitResult) -> (Vec<WarningId>, Option<bool>) {
        commit.warnings = commit_warnings(storage, &commit, true);
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
        assert_eq!(
            commit_warnings(&turning, &fsync(3_000.0), false),
            [],
            "in a guest the hypervisor says so"
        );
    }

    #[test]
    fn flushes_that_the_kernel_does_not_count_are_not_missed() {
        let memory = Device { class: DeviceClass::PersistentMemory, ..disk("write back", false) };
        let memory = Device { name: "pmem0".into(), request_queue: false, ..memory };
        let silent = CommitResult { device_flushes_per_commit: Some(0.0), ..fsync(900.0) };
        assert_eq!(judged(&storage(&["rw"], memory), silent), (Vec::new(), Some(true)));
    }

    #[test]
    fn what_could_not_be_followed_leaves_it_open_whether_a_commit_lasts() {
        let plain = storage(&["rw"], disk("write back", false));
        let missing = vec!["loop0: its file was deleted, so its place is not known".to_owned()];
        let found = judged(&Storage { missing, ..plain }, fsync(900.0));
        assert_eq!(found, (vec![WarningId::Unknowable], None));
        let remote = Device { name: "rbd0".into(), class: DeviceClass::Network, ..disk("write back", false) };
        assert_eq!(judged(&storage(&["rw"], remote), fsync(900.0)), (vec![WarningId::Unknowable], None));
    }

    #[test]
    fn sixteen_committers_may_be_sixteen_times_as_fast() {
        let storage = storage(&["rw"], disk("write back", false));
        assert_eq!(judged(&storage, fsync(60_000.0)), (vec![WarningId::FasterThanPublished], None));
        assert!(!WarningId::FasterThanPublished.contradicts_durability(), "good disks may be as fast");
        let overwritten = commit(CommitMethod::Fsync, Placement::Overwrite, &[60_000.0]);
        assert_eq!(judged(&storage, overwritten).0, [], "only appending was published");
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
                commit(CommitMethod::Fsync, Placement::Overwrite, overwritten),
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
        assert!(found.text.contains("at least 3.0 writes and 2.0 flushes"), "{}", found.text);
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
