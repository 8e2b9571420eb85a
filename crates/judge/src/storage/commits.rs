//! The findings against the figures of one way to commit.

use super::rows::*;
use super::{hardware, warning};
use plumb_model::facts::{Device, DeviceClass, Layer, Medium, Storage, StorageRisk};
use plumb_model::figure::{per_s, whole};
use plumb_model::finding::Finding;
use plumb_model::probe::storage::{CommitMethod, CommitResult, Placement};

/// Most rotations of a disk in a second: 15,000 a minute, the fastest that was sold. A commit to one place needs one.
const ROTATIONS_PER_S: f64 = 250.0;
/// Commits of a single committer in a second that no published device reaches: twice the fastest of those that are
/// shown beside (ours).
const PUBLISHED_MAX_PER_S: f64 = 46_000.0;
/// Fewest commits for a missing flush to mean something (ours).
const COMMITS_MIN: u64 = 20;

/// Everything that is said of it; on bare metal a disk that says that it turns is believed.
pub(super) fn warnings(storage: &Storage, commit: &CommitResult, bare_metal: bool) -> Vec<Finding> {
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

fn by_design(commit: &CommitResult) -> Option<Finding> {
    let text =
        "sync_file_range starts the write-out of the data alone: no metadata, no flush of the device's cache";
    (!commit.case.method.promises_durability()).then(|| warning(&NOT_DURABLE_BY_DESIGN, text))
}

/// The known risks to synced data, whatever the way to sync.
fn risks(storage: &Storage) -> Vec<Finding> {
    let hardware = hardware(storage);
    let nothing_to_flush = !hardware.is_empty()
        && hardware.iter().all(|device| device.write_cache.as_deref() == Some("write through"));
    let id = |risk: &StorageRisk| match risk {
        StorageRisk::Memory { .. } | StorageRisk::CacheInMemory { .. } => Some(&MEMORY),
        // Without a volatile cache a flush has nothing to do.
        StorageRisk::NoBarrier { .. } => (!nothing_to_flush).then_some(&NO_BARRIER),
        StorageRisk::SyncIgnored { .. } => Some(&SYNC_IGNORED),
        StorageRisk::FlushSuppressed { .. } => Some(&FLUSH_SUPPRESSED),
    };
    storage.risks().iter().filter_map(|risk| Some(warning(id(risk)?, risk.to_string()))).collect()
}

/// A chain that does not end at hardware or memory: a container's overlay, for one, lies on a directory that it does not see.
fn unknowable(storage: &Storage) -> Option<Finding> {
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
    Some(warning(&UNKNOWABLE, text?))
}

fn below_unknown(name: &str) -> String {
    format!("what {name} lies on cannot be seen from here, nor what a sync does there")
}

fn no_flush_seen(storage: &Storage, commit: &CommitResult) -> Option<Finding> {
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
        warning(&NO_FLUSH_SEEN, text)
    })
}

/// A disk that turns and commits more often than it turns. For bare metal only: in a guest it is the hypervisor that says
/// whether a disk turns, and its default is yes.
fn too_fast(storage: &Storage, commit: &CommitResult) -> Option<Finding> {
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
            "{} from a device that says that it rotates, and no disk turns more than {} times a \
             second: a cache answers for it. That is durable only where the cache outlives a loss of power (a battery)",
            per_s(rate),
            whole(ROTATIONS_PER_S)
        );
        warning(&TOO_FAST, text)
    })
}

/// Appending with fsync, which is what was published.
fn faster_than_published(storage: &Storage, commit: &CommitResult) -> Option<Finding> {
    let rate = commit.rate_per_s?;
    let published = commit.case.method == CommitMethod::Fsync && commit.case.placement == Placement::Append;
    if !published || storage.is_memory() || storage.is_dax() {
        return None;
    }
    let block = hardware(storage).iter().any(|device| device.dax != Some(true));
    (block && rate > PUBLISHED_MAX_PER_S * at_once(commit)).then(|| {
        let text = format!(
            "{} is more than twice what the fastest device of those below was published with: something may answer \
             before the medium has it. A disk whose cache outlives a loss of power may be as fast",
            per_s(rate)
        );
        warning(&FASTER_THAN_PUBLISHED, text)
    })
}

fn at_once(commit: &CommitResult) -> f64 {
    f64::from(commit.case.committers) * f64::from(commit.case.queue_depth)
}

/// With all data through the journal ext4 takes O_DIRECT and writes through the page cache (kernel documentation,
/// filesystems/ext4).
fn direct_is_buffered(storage: &Storage, commit: &CommitResult) -> Option<Finding> {
    let found = storage.file_system()?;
    let journals = found.options.iter().any(|option| option == "data=journal");
    (commit.case.method.is_direct() && journals).then(|| {
        warning(
            &DIRECT_IS_BUFFERED,
            "with data=journal the file system takes O_DIRECT and goes through the page cache all the same: only the sync \
             makes it last",
        )
    })
}

fn has_volatile_cache(device: &Device) -> bool {
    device.write_cache.as_deref() == Some("write back")
}
