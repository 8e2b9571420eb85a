//! What is behind a directory, on recorded hosts and on this one.
//!
//! A recorded host is a list of files and links (`fixtures/storage/*.tree`), because `/sys` is mostly links.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use std::io::Write as _;
use std::path::Path;
use std::{fs, os::unix::fs::symlink};

use plumb_model::facts::{Device, DeviceClass, Layer, Medium, Storage};
use plumb_observe::{HostRoot, RecordedCommands, storage};

/// `path = line` adds a line to a file, `path -> target` is a link, `path/` a directory.
fn planted(tree: &str) -> tempfile::TempDir {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/storage").join(tree);
    let root = tempfile::tempdir().unwrap();
    for line in fs::read_to_string(list).unwrap().lines().filter(|line| line.starts_with('/')) {
        let at = |path: &str| {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        if let Some((path, target)) = line.split_once(" -> ") {
            symlink(target, at(path)).unwrap();
        } else if let Some((path, content)) = line.split_once(" = ") {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(at(path)).unwrap();
            writeln!(file, "{content}").unwrap();
        } else {
            fs::create_dir_all(at(line)).unwrap();
        }
    }
    root
}

fn behind(tree: &str, path: &str) -> Storage {
    let root = planted(tree);
    storage(&HostRoot::new(root.path()), &RecordedCommands::default(), path)
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
    let root = planted("loop-image.tree");
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
