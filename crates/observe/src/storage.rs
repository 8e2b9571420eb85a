//! What is behind a directory: its file system and the chain of devices down to the hardware.
//!
//! From the mounts (proc_pid_mountinfo(5)) to the device number, from there through `/sys/dev/block`: a partition lies
//! on its disk, a mapped device, RAID or bcache on what `slaves` lists, a loop device on a file, which lies on a file
//! system again. What cannot be followed is said, and the chain ends there.
//!
//! Reading only, as everywhere in this crate. Not for speeds: what a device can do is found out by probing it.

mod device;
mod mount;

use std::collections::BTreeMap;

use plumb_model::facts::{FileSystem, Layer, Medium, Storage, StorageLayer};

use crate::{CommandRunner, HostRoot};
use mount::Mount;

/// Deepest chain that is followed. Ours: a file on LVM on crypt on RAID on partitions has nine layers.
const DEPTH_MAX: u32 = 32;

/// What is behind the directory or file at an absolute path without symbolic links.
///
/// Commands are asked only where a layer is found that no file describes: `dmsetup`, `zpool`, `zfs`.
pub fn storage(root: &HostRoot, commands: &dyn CommandRunner, path: &str) -> Storage {
    let mut chain = Chain { root, commands, found: Storage::default() };
    chain.file_system_of(path, 0);
    chain.found
}

struct Chain<'a> {
    root: &'a HostRoot,
    #[expect(dead_code, reason = "the layers that only commands can describe come next")]
    commands: &'a dyn CommandRunner,
    found: Storage,
}

impl Chain<'_> {
    fn file_system_of(&mut self, path: &str, depth: u32) {
        let mounts = match self.root.read(mount::MOUNTS) {
            Ok(mounts) => mounts,
            Err(error) => return self.found.missing.push(error.reason()),
        };
        let Some(mount) = mount::of(&mounts, path) else {
            return self.found.missing.push(format!("{}: no mount holds {path}", mount::MOUNTS));
        };
        let file_system = self.file_system(&mount);
        let medium = file_system.medium;
        self.found.layers.push(StorageLayer { depth, layer: Layer::FileSystem(file_system) });
        if depth >= DEPTH_MAX {
            return self.found.missing.push(format!("more than {DEPTH_MAX} layers"));
        }
        match medium {
            Medium::Device => self.devices_of(&mount, depth + 1),
            Medium::FileSystem => match mount.upper_directory() {
                Some(upper) => self.file_system_of(upper, depth + 1),
                None => {
                    self.found.missing.push(format!("{}: nothing is said of what lies below", mount.fs_type))
                }
            },
            Medium::Unknown => {
                self.found.missing.push(format!("{}: what keeps its content cannot be told", mount.fs_type));
            }
            Medium::Memory | Medium::Network => {}
        }
    }

    fn file_system(&self, mount: &Mount<'_>) -> FileSystem {
        let setting = |name: &str| {
            self.root
                .read(&format!("/sys/class/bdi/{}/{name}", mount.number))
                .ok()
                .map(|text| text.trim().to_owned())
        };
        let options = mount.options();
        FileSystem {
            mount_point: mount.point.clone(),
            fs_type: mount.fs_type.to_owned(),
            medium: self.medium(mount),
            dax: options.iter().any(|option| matches!(option.as_str(), "dax" | "dax=always")),
            read_ahead_kib: setting("read_ahead_kb").and_then(|text| text.parse().ok()),
            own_dirty_limit: setting("strict_limit").map(|text| text == "1"),
            properties: BTreeMap::new(),
            options,
        }
    }

    fn medium(&self, mount: &Mount<'_>) -> Medium {
        match mount.fs_type {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => Medium::Memory,
            "overlay" => Medium::FileSystem,
            kind if mount::NETWORK.contains(&kind)
                || kind.starts_with("fuse.") && mount.source.contains(':') =>
            {
                Medium::Network
            }
            _ if !self.device_numbers(mount).is_empty() => Medium::Device,
            _ => Medium::Unknown,
        }
    }

    /// Numbers of the devices right under a file system. One that spans several has a number of its own that is no
    /// device's.
    fn device_numbers(&self, mount: &Mount<'_>) -> Vec<String> {
        if self.root.exists(&device::folder(mount.number)) {
            return vec![mount.number.to_owned()];
        }
        let Some(source) = device::number_of_node(self.root, mount.source) else { return Vec::new() };
        if mount.fs_type == "btrfs" {
            let siblings = device::btrfs_siblings(self.root, &source);
            if !siblings.is_empty() {
                return siblings;
            }
        }
        vec![source]
    }

    fn devices_of(&mut self, mount: &Mount<'_>, depth: u32) {
        for number in self.device_numbers(mount) {
            self.device(&number, depth);
        }
    }

    fn device(&mut self, number: &str, depth: u32) {
        if depth >= DEPTH_MAX {
            return self.found.missing.push(format!("more than {DEPTH_MAX} layers"));
        }
        let Some(device) = device::read(self.root, number) else {
            return self.found.missing.push(format!("{}: no such device is shown", device::folder(number)));
        };
        let below = device::below(self.root, number, device.class);
        let backing_file = device.backing_file.clone();
        let name = device.name.clone();
        self.found.layers.push(StorageLayer { depth, layer: Layer::Device(device) });
        for number in below {
            self.device(&number, depth + 1);
        }
        match backing_file {
            Some(file) if file.ends_with(" (deleted)") => {
                self.found.missing.push(format!("{name}: its file was deleted, so its place is not known"));
            }
            Some(file) => self.file_system_of(&file, depth + 1),
            None => {}
        }
    }
}
