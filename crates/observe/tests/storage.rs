//! What is behind a directory, on recorded hosts and on this one.
//!
//! A recorded host is a list of files and links (`fixtures/storage/*.tree`), because `/sys` is mostly links.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

mod planted;

use std::fs;

use plumb_model::facts::{Device, DeviceClass, DeviceRole, Layer, Medium, NamespaceMode, Storage};
use plumb_observe::{HostRoot, RecordedCommands, storage};

fn behind(tree: &str, path: &str) -> Storage {
    let (root, commands) = planted::planted(&format!("storage/{tree}"));
    storage(&HostRoot::new(root.path()), &commands, path)
}

/// Each layer as `depth name`.
fn outline(storage: &Storage) -> Vec<String> {
    let name = |layer: &Layer| match layer {
        Layer::FileSystem(file_system) => file_system.fs_type.clone(),
        other => other.name().to_owned(),
    };
    storage.layers.iter().map(|layer| format!("{} {}", layer.depth, name(&layer.layer))).collect()
}

fn device<'a>(storage: &'a Storage, name: &str) -> &'a Device {
    let mut devices = storage.layers.iter().filter_map(|layer| match &layer.layer {
        Layer::Device(device) => Some(device),
        Layer::FileSystem(_) | Layer::Pool(_) => None,
    });
    devices.find(|device| device.name == name).unwrap()
}

#[test]
fn a_loop_device_is_followed_through_its_file_to_the_disk() {
    let found = behind("loop-image.tree", "/srv/slow/plumb-lab-x");
    assert_eq!(outline(&found), ["0 ext4", "1 loop0", "2 ext4", "3 vda"]);
    assert_eq!(found.hardware(), ["vda"]);
    assert_eq!(found.missing, Vec::<String>::new());
    let file_system = found.file_system().unwrap();
    assert_eq!((file_system.mount_point.as_str(), file_system.medium), ("/srv/slow", Medium::Device));
    assert_eq!((file_system.read_ahead_kib, file_system.own_dirty_limit), (Some(128), Some(true)));
    let image = device(&found, "loop0");
    assert_eq!((image.class, image.direct_io), (DeviceClass::Loop, Some(false)));
    assert_eq!(image.backing_file.as_deref(), Some("/srv/images/slow.img"));
    assert_eq!((image.size_bytes, image.rotational), (Some(6 << 30), Some(true)));
    let disk = device(&found, "vda");
    assert_eq!((disk.class, disk.scheduler.as_deref()), (DeviceClass::Virtio, Some("mq-deadline")));
    assert_eq!(disk.write_cache.as_deref(), Some("write back"));
}

#[test]
fn a_volume_is_followed_through_encryption_and_raid_to_each_disk() {
    let found = behind("lvm-crypt-raid.tree", "/srv/kafka/data");
    let expected = ["0 xfs", "1 dm-1", "2 dm-0", "3 md127", "4 sda1", "5 sda", "4 sdb1", "5 sdb"];
    assert_eq!(outline(&found), expected);
    assert_eq!(found.hardware(), ["sda", "sdb"]);
    let classes = ["dm-1", "dm-0", "md127", "sda1", "sda"].map(|name| device(&found, name).class);
    assert_eq!(
        classes,
        [
            DeviceClass::LogicalVolume,
            DeviceClass::Encrypted,
            DeviceClass::Raid,
            DeviceClass::Partition,
            DeviceClass::Scsi
        ]
    );
    assert_eq!(device(&found, "md127").detail.as_deref(), Some("raid1"));
    assert_eq!(device(&found, "sda").model.as_deref(), Some("ATA SAMSUNG MZ7LH960"));
    assert_eq!(device(&found, "sda1").scheduler.as_deref(), Some("mq-deadline"), "its disk's");
}

#[test]
fn a_file_system_over_several_disks_has_them_side_by_side() {
    let found = behind("btrfs-two-disks.tree", "/srv/kafka");
    assert_eq!(outline(&found), ["0 btrfs", "1 nvme0n1", "1 nvme1n1"]);
    assert_eq!(device(&found, "nvme0n1").model.as_deref(), Some("INTEL SSDPE21K375GA"));
}

#[test]
fn a_cache_before_a_disk_is_shown_with_its_mode_and_both_devices() {
    let found = behind("btrfs-two-disks.tree", "/srv/cached/x");
    assert_eq!(outline(&found), ["0 ext4", "1 bcache0", "2 nvme1n1", "2 sda"]);
    let cache = device(&found, "bcache0");
    assert_eq!((cache.class, cache.cache_mode.as_deref()), (DeviceClass::Bcache, Some("writeback")));
}

#[test]
fn persistent_memory_is_told_by_whether_the_page_cache_lies_between() {
    let dax = behind("memory-and-network.tree", "/mnt/pmem/x");
    assert_eq!(outline(&dax), ["0 ext4", "1 pmem0"]);
    assert!(dax.is_dax() && !dax.is_memory());
    assert_eq!(device(&dax, "pmem0").class, DeviceClass::PersistentMemory);
    let sector = behind("memory-and-network.tree", "/mnt/sector");
    assert!(!sector.is_dax());
}

#[test]
fn memory_has_no_device_and_another_host_is_not_named() {
    let memory = behind("memory-and-network.tree", "/mnt/ram/x");
    assert_eq!(outline(&memory), ["0 tmpfs"]);
    assert!(memory.is_memory());
    let network = behind("memory-and-network.tree", "/mnt/nfs/x");
    assert_eq!(network.file_system().unwrap().medium, Medium::Network);
    let written = serde_json::to_string(&network).unwrap();
    assert!(!written.contains("example.net") && !written.contains("192.0.2"), "{written}");
}

#[test]
fn an_overlay_lies_on_the_file_system_of_its_upper_directory() {
    let found = behind("memory-and-network.tree", "/mnt/over/x");
    assert_eq!(outline(&found), ["0 overlay", "1 ext4", "2 nvme0n1"]);
}

fn risks(storage: &Storage) -> Vec<String> {
    storage.risks().iter().map(ToString::to_string).collect()
}

#[test]
fn a_cache_of_the_device_mapper_shows_its_mode_and_what_each_device_is_for() {
    let found = behind("device-mapper-caches.tree", "/mnt/cached/x");
    let expected = ["0 ext4", "1 dm-2", "2 dm-0", "3 nvme0n1", "2 dm-1", "3 nvme0n1", "2 sda"];
    assert_eq!(outline(&found), expected);
    let cache = device(&found, "dm-2");
    assert_eq!((cache.class, cache.cache_mode.as_deref()), (DeviceClass::DmCache, Some("writeback")));
    let roles = ["dm-0", "dm-1", "sda"].map(|name| device(&found, name).role);
    assert_eq!(roles, [DeviceRole::CacheMetadata, DeviceRole::Cache, DeviceRole::Origin].map(Some));
    let line = found.layers[1].layer.detail();
    assert_eq!(line, "writeback, policy smq, 300 of 768 blocks in use, 12 dirty, 105 MB");
    let disk = found.layers[6].layer.detail();
    let expected = "the disk behind the cache, USB, Seagate USB3.0 HDD, 1 TB, rotational, scheduler none, \
                    write cache write back (volatile until flushed)";
    assert_eq!(disk, expected);
    assert_eq!((found.missing.len(), risks(&found).len()), (0, 0), "{:?}", found.missing);
}

#[test]
fn a_cache_for_writes_is_none_for_reads_and_in_memory_it_is_a_risk() {
    let found = behind("device-mapper-caches.tree", "/mnt/writes");
    assert_eq!(outline(&found), ["0 ext4", "1 dm-3", "2 nvme0n1", "2 sda"]);
    assert_eq!(found.layers[1].layer.kind(), "dm_writecache");
    assert_eq!(device(&found, "nvme0n1").role, Some(DeviceRole::Cache));
    assert_eq!(risks(&found), [""; 0]);
    let memory = behind("device-mapper-caches.tree", "/mnt/ram");
    let expected = "the write-back cache of dm-20 is ram0, which is memory: a power failure loses it";
    assert_eq!(risks(&memory), [expected]);
}

#[test]
fn without_root_the_names_tell_a_cached_volume_and_its_mode_is_not_known() {
    let found = behind("device-mapper-caches.tree", "/mnt/lvm");
    let volume = device(&found, "dm-10");
    assert_eq!((volume.class, volume.cache_mode.as_deref()), (DeviceClass::DmCache, None));
    let roles = ["dm-11", "dm-12", "dm-13"].map(|name| device(&found, name).role);
    assert_eq!(roles, [DeviceRole::Origin, DeviceRole::Cache, DeviceRole::CacheMetadata].map(Some));
    assert_eq!(found.missing.len(), 1);
    assert!(found.missing[0].starts_with("dm-10: the mode of its cache is not known: dmsetup failed"));
    let odd = behind("device-mapper-caches.tree", "/mnt/odd");
    assert!(odd.missing[0].starts_with("dm-30: what it maps, and how, is not known"), "{:?}", odd.missing);
}

#[test]
fn a_pool_is_followed_to_its_mirror_its_log_and_its_cache() {
    let found = behind("zfs-pool.tree", "/tank/kafka/log");
    let expected = [
        "0 zfs",
        "1 tank",
        "2 sda1",
        "3 sda",
        "2 sdb1",
        "3 sdb",
        "2 nvme0n1p1",
        "3 nvme0n1",
        "2 nvme0n1p2",
        "3 nvme0n1",
    ];
    assert_eq!(outline(&found), expected);
    let settings = &found.file_system().unwrap().properties;
    assert_eq!((settings["sync"].as_str(), settings["logbias"].as_str()), ("standard", "latency"));
    assert_eq!(
        (found.layers[1].layer.kind(), found.layers[1].layer.detail().as_str()),
        ("zfs_pool", "ONLINE, 1 log device")
    );
    assert_eq!(device(&found, "sda1").detail.as_deref(), Some("in mirror-0"));
    assert_eq!(device(&found, "nvme0n1p1").role, Some(DeviceRole::Log));
    assert_eq!(device(&found, "nvme0n1p2").role, Some(DeviceRole::ReadCache));
    assert_eq!((found.missing.len(), risks(&found).len()), (0, 0), "{:?}", found.missing);
    let careless = behind("zfs-pool.tree", "/tank/fast");
    assert!(
        risks(&careless)[0]
            .starts_with("sync=disabled on /tank/fast: fsync returns before anything is written")
    );
}

#[test]
fn a_namespace_is_called_as_ndctl_calls_it() {
    let of = |path: &str| {
        let found = behind("persistent-memory.tree", path);
        let Layer::Device(device) = found.layers[1].layer.clone() else { panic!("no device") };
        (found.is_dax(), *device.persistent_memory.unwrap())
    };
    let (dax, first) = of("/mnt/dax");
    assert_eq!(
        (dax, first.mode, first.namespace.as_deref()),
        (true, Some(NamespaceMode::Fsdax), Some("namespace0.0"))
    );
    assert_eq!((first.region.as_deref(), first.provider.as_deref()), (Some("region0"), Some("ACPI.NFIT")));
    assert_eq!((first.persistence_domain.as_deref(), first.numa_node), (Some("memory_controller"), Some(0)));
    assert_eq!(of("/mnt/sector").1.mode, Some(NamespaceMode::Sector));
    assert_eq!(of("/mnt/raw").1.mode, Some(NamespaceMode::Raw));
    let (dax, reserved) = of("/mnt/e820");
    assert_eq!(
        (dax, reserved.mode, reserved.provider.as_deref()),
        (false, Some(NamespaceMode::Fsdax), Some("e820"))
    );
    assert_eq!(reserved.persistence_domain, None, "nobody says");
}

#[test]
fn a_journal_on_a_device_of_its_own_is_a_layer_too() {
    let ext4 = behind("journals-and-risks.tree", "/mnt/ext4");
    assert_eq!(outline(&ext4), ["0 ext4", "1 sda1", "2 sda", "1 nvme0n1p1", "2 nvme0n1"]);
    assert_eq!(device(&ext4, "nvme0n1p1").role, Some(DeviceRole::Log));
    let xfs = behind("journals-and-risks.tree", "/mnt/xfs");
    assert_eq!(outline(&xfs), ["0 xfs", "1 sdb1", "2 sdb", "1 nvme0n1p2", "2 nvme0n1"]);
    let inside = behind("journals-and-risks.tree", "/mnt/told");
    assert_eq!(outline(&inside), ["0 ext4", "1 sdc"], "jbd2/sdc-8 is an inode of its own device");
}

#[test]
fn a_risk_is_said_only_where_something_leaves_the_flush_out() {
    let barrier = behind("journals-and-risks.tree", "/mnt/ext4");
    assert!(risks(&barrier)[0].starts_with("/mnt/ext4 is mounted with nobarrier: fsync does not flush"));
    let told = behind("journals-and-risks.tree", "/mnt/told");
    assert!(risks(&told)[0].starts_with("sdc says that its write cache is volatile"), "{:?}", risks(&told));
    let volatile = behind("journals-and-risks.tree", "/mnt/volatile");
    assert!(
        risks(&volatile)[0].starts_with("volatile on /mnt/volatile: fsync returns"),
        "{:?}",
        risks(&volatile)
    );
    assert_eq!(
        risks(&behind("journals-and-risks.tree", "/mnt/xfs")),
        [""; 0],
        "a volatile cache that is flushed is none"
    );
}

#[test]
fn a_raid_says_its_level_what_is_missing_and_where_its_journal_is() {
    let found = behind("journals-and-risks.tree", "/mnt/raid");
    let detail = found.layers[1].layer.detail();
    assert_eq!(detail, "raid5, 3 disks, 1 of them missing, journal");
    assert_eq!(device(&found, "nvme0n1p1").role, Some(DeviceRole::Log));
}

#[test]
fn an_overlay_whose_place_is_outside_of_the_container_says_so_and_ends() {
    let found = behind("journals-and-risks.tree", "/srv");
    assert_eq!(outline(&found), ["0 overlay"]);
    let expected = "/var/lib/engine/up: would lie on the file system that lies on it, so it is not seen here";
    assert_eq!(found.missing, [expected]);
}

#[test]
fn where_the_chain_cannot_be_followed_it_says_so() {
    let zfs = behind("memory-and-network.tree", "/mnt/zfs/x");
    assert_eq!((outline(&zfs), zfs.missing.len()), (vec!["0 zfs".to_owned(), "1 tank".to_owned()], 2));
    let root = tempfile::tempdir().unwrap();
    let nothing = storage(&HostRoot::new(root.path()), &RecordedCommands::default(), "/x");
    assert_eq!(nothing.layers, []);
    assert!(nothing.missing[0].starts_with("cannot read /proc/self/mountinfo: "), "{:?}", nothing.missing);
}

#[test]
fn a_loop_device_on_a_file_that_lies_on_itself_ends() {
    let (root, _) = planted::planted("storage/loop-image.tree");
    fs::write(root.path().join("sys/devices/virtual/block/loop0/loop/backing_file"), "/srv/slow/self.img\n")
        .unwrap();
    let found = storage(&HostRoot::new(root.path()), &RecordedCommands::default(), "/srv/slow");
    assert_eq!(outline(&found), ["0 ext4", "1 loop0"]);
    let expected = "/srv/slow/self.img: would lie on the file system that lies on it, so it is not seen here";
    assert_eq!(found.missing, [expected]);
}

#[test]
fn the_temporary_directory_of_this_host_is_on_some_file_system() {
    let directory = fs::canonicalize(std::env::temp_dir()).unwrap();
    let found = storage(&HostRoot::default(), &RecordedCommands::default(), directory.to_str().unwrap());
    assert!(found.file_system().is_some_and(|file_system| !file_system.fs_type.is_empty()), "{found:?}");
}
