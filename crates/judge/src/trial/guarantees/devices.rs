//! Differences of the devices behind two arms' logs in a synced write: their write caches, and known risks to lose it.
//!
//! A volatile cache that the kernel flushes at every sync loses nothing, but the cost of a sync, and the loss of unsynced writes
//! in a power failure, depend on it. Kafka syncs seldom, so this is part of what an acknowledgement means.

use crate::durability::Unlike;
use plumb_model::document::RunDocument;
use plumb_model::facts::{Layer, Storage, StorageRisk};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// The mode of write caches that nothing tells.
const NOT_KNOWN: &str = "not known";

/// The logs of one arm's topic.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArmLogs<'a> {
    /// The arm's name.
    pub(super) arm: &'a str,
    /// The number of partitions in each log directory, by the directory's name.
    pub(super) log_dirs: &'a BTreeMap<String, u32>,
}

/// The differences between the devices behind two arms' logs, each as a sentence; none where either's are not known. What only one of them
/// tells is half told.
pub(super) fn unlike(document: &RunDocument, logs_a: ArmLogs, logs_b: ArmLogs) -> Unlike {
    let behind = |logs: ArmLogs| -> Vec<&Storage> {
        let all = document.environment.log_directories.iter();
        all.filter(|directory| logs.log_dirs.contains_key(&directory.name))
            .map(|directory| &directory.storage)
            .collect()
    };
    let (a, b) = (behind(logs_a), behind(logs_b));
    let mut unlike = Unlike::default();
    if a.is_empty() || b.is_empty() {
        return unlike;
    }
    let (caches_a, caches_b) = (write_caches(&a), write_caches(&b));
    if !caches_a.keys().eq(caches_b.keys()) {
        let shown = |caches: &BTreeMap<_, String>| caches.values().cloned().collect::<Vec<_>>().join(" and ");
        let text = format!("write cache of the log's devices: {} / {}", shown(&caches_a), shown(&caches_b));
        let is_told = caches_a.keys().chain(caches_b.keys()).flatten().all(|mode| mode != NOT_KNOWN);
        if is_told { &mut unlike.known } else { &mut unlike.half_told }.push(text);
    }
    let found = &mut unlike.known;
    found.extend(only(&a, &b).map(|risk| format!("where the logs of {:?} lie, {risk}", logs_a.arm)));
    found.extend(only(&b, &a).map(|risk| format!("where the logs of {:?} lie, {risk}", logs_b.arm)));
    unlike
}

/// The modes of the write caches on the way to the hardware, from the top, each way with its devices in words: `write through
/// (loop1) on write back (sda, sdb)`. Ways of the same modes are the same whatever their devices are called.
fn write_caches(all: &[&Storage]) -> BTreeMap<Vec<String>, String> {
    all.iter().map(|storage| way_down(storage)).collect()
}

fn way_down(storage: &Storage) -> (Vec<String>, String) {
    let mut way: Vec<(String, Vec<&str>)> = Vec::new();
    for layer in &storage.layers {
        let Layer::Device(device) = &layer.layer else { continue };
        let before_a_disk = device.cache_mode.as_ref().map(|mode| format!("{mode} before a disk"));
        for mode in before_a_disk.iter().chain(&device.write_cache) {
            match way.last_mut() {
                Some((same, devices)) if same == mode => devices.push(&device.name),
                _ => way.push((mode.clone(), vec![&device.name])),
            }
        }
    }
    if way.is_empty() {
        let mode = if storage.is_memory() { "none, it is memory" } else { NOT_KNOWN };
        return (vec![mode.to_owned()], mode.to_owned());
    }
    let words = way.iter().map(|(mode, devices)| format!("{mode} ({})", devices.join(", ")));
    let words = words.collect::<Vec<_>>().join(" on ");
    (way.into_iter().map(|(mode, _)| mode).collect(), words)
}

/// The risks to a synced write on one side that have nothing of their kind on the other.
fn only<'s>(of: &[&'s Storage], other: &[&Storage]) -> impl Iterator<Item = StorageRisk> + use<'s> {
    let theirs: Vec<StorageRisk> = other.iter().flat_map(|storage| storage.risks()).collect();
    let mut own: Vec<StorageRisk> = of.iter().flat_map(|storage| storage.risks()).collect();
    own.retain(|risk| !theirs.iter().any(|known| discriminant(known) == discriminant(risk)));
    own.dedup();
    own.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::facts::{Device, DeviceClass, FileSystem, LogDirectory, Medium, StorageLayer};

    /// A directory on ext4 on a partition of a disk with this write cache.
    fn on_disk(name: &str, disk: &str, write_cache: Option<&str>, option: &str) -> LogDirectory {
        let file_system = FileSystem {
            mount_point: format!("/mnt/{name}"),
            fs_type: "ext4".to_owned(),
            options: vec![option.to_owned()],
            medium: Medium::Device,
            ..FileSystem::default()
        };
        let device = |name: String, class, write_cache: Option<&str>| {
            let write_cache = write_cache.map(str::to_owned);
            Layer::Device(Device { name, class, write_cache, ..Device::default() })
        };
        let layers = [
            Layer::FileSystem(file_system),
            device(format!("{disk}p1"), DeviceClass::Partition, None),
            device(disk.to_owned(), DeviceClass::Nvme, write_cache),
        ];
        directory(name, layers)
    }

    fn in_memory(name: &str) -> LogDirectory {
        let file_system = FileSystem {
            mount_point: "/dev/shm".to_owned(),
            fs_type: "tmpfs".to_owned(),
            medium: Medium::Memory,
            ..FileSystem::default()
        };
        directory(name, [Layer::FileSystem(file_system)])
    }

    fn directory(name: &str, layers: impl IntoIterator<Item = Layer>) -> LogDirectory {
        let at = (0..).zip(layers).map(|(depth, layer)| StorageLayer { depth, layer });
        let storage = Storage { layers: at.collect(), ..Storage::default() };
        LogDirectory { name: name.to_owned(), storage, ..LogDirectory::default() }
    }

    fn between(a: LogDirectory, b: LogDirectory) -> Vec<String> {
        unlike_between(a, b).known
    }

    fn unlike_between(a: LogDirectory, b: LogDirectory) -> Unlike {
        let logs = |directory: &LogDirectory| BTreeMap::from([(directory.name.clone(), 1)]);
        let (logs_a, logs_b) = (logs(&a), logs(&b));
        let mut document = crate::healthy::healthy();
        document.environment.log_directories = vec![a, b];
        let (a, b) = (ArmLogs { arm: "A", log_dirs: &logs_a }, ArmLogs { arm: "B", log_dirs: &logs_b });
        unlike(&document, a, b)
    }

    #[test]
    fn different_write_caches_are_named_with_their_devices() {
        let a = on_disk("a", "nvme0n1", Some("write back"), "rw");
        let b = on_disk("b", "nvme1n1", Some("write through"), "rw");
        let expected = "write cache of the log's devices: write back (nvme0n1) / write through (nvme1n1)";
        assert_eq!(between(a.clone(), b), [expected]);
        assert!(between(a.clone(), on_disk("b", "nvme1n1", Some("write back"), "rw")).is_empty());
        let unknown = unlike_between(a.clone(), on_disk("b", "nvme1n1", None, "rw"));
        assert_eq!(unknown.half_told, ["write cache of the log's devices: write back (nvme0n1) / not known"]);
        assert_eq!(unknown.known, Vec::<String>::new());
        let mut image = on_disk("b", "nvme1n1", Some("write back"), "rw");
        let told = Device {
            name: "loop3".to_owned(),
            write_cache: Some("write through".to_owned()),
            ..Device::default()
        };
        image.storage.layers[1].layer = Layer::Device(told);
        let expected = "write cache of the log's devices: write back (nvme0n1) / write through (loop3) on write back (nvme1n1)";
        assert_eq!(between(a, image), [expected]);
    }

    #[test]
    fn what_loses_a_synced_write_on_one_side_only_is_said_of_that_side() {
        let a = on_disk("a", "nvme0n1", Some("write back"), "rw");
        let b = on_disk("b", "nvme1n1", Some("write back"), "nobarrier");
        let found = between(a.clone(), b.clone());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("where the logs of \"B\" lie, /mnt/b is mounted with nobarrier"),
            "{found:?}"
        );
        let both = on_disk("a", "nvme0n1", Some("write back"), "barrier=0");
        assert!(between(both, b).is_empty(), "a risk that both have is no difference");
        let memory = between(a, in_memory("b"));
        assert_eq!(memory[0], "write cache of the log's devices: write back (nvme0n1) / none, it is memory");
        assert!(memory[1].contains("\"B\" lie, tmpfs on /dev/shm is memory"), "{memory:?}");
    }

    #[test]
    fn brokers_whose_log_directories_are_not_known_have_no_difference() {
        let document = crate::healthy::healthy();
        let none = BTreeMap::new();
        let logs = |arm| ArmLogs { arm, log_dirs: &none };
        assert_eq!(unlike(&document, logs("A"), logs("B")), Unlike::default());
    }
}
