//! The storage behind a directory: its file system and the chain of devices down to the hardware.
//!
//! From the mounts (proc_pid_mountinfo(5)) to the device number, from there through `/sys/dev/block`: a partition lies
//! on its disk, a mapped device, RAID or bcache on what `slaves` lists, a loop device on a file, which lies on a file
//! system again; a ZFS file system on the devices of its pool, which only its commands know. What cannot be followed is
//! said, and the chain ends there.
//!
//! Reading only, as everywhere in this crate. Not for speeds: what a device can do is found out by probing it.

mod backing_devices;
mod device;
mod mapper;
mod mount;
mod pmem;
mod zfs;

use std::collections::BTreeMap;

use plumb_model::facts::{
    Device, DeviceClass, DeviceRole, Fact, FileSystem, Layer, Medium, Pool, Storage, StorageLayer,
};

use crate::{CommandRunner, HostRoot};
use mount::Mount;
pub(crate) use pmem::mode as namespace_mode;

/// Deepest chain that is followed. Ours: a file on LVM on crypt on RAID on partitions has nine layers.
const DEPTH_MAX: u32 = 32;

/// The storage behind the directory or file at an absolute path without symbolic links.
///
/// Commands are asked only where a layer is found that no file describes: `dmsetup`, `zpool`, `zfs`.
pub fn storage(root: &HostRoot, commands: &dyn CommandRunner, path: &str) -> Storage {
    let mut chain = Chain { root, commands, mounts: Vec::new(), found: Storage::default() };
    chain.file_system_of(path, 0);
    chain.found
}

/// Whole disks of the host, without those that are made of others, of files or of memory.
pub(crate) fn disks(root: &HostRoot, commands: &dyn CommandRunner) -> Fact<Vec<Device>> {
    const BLOCK: &str = "/sys/block";
    let names = match root.list(BLOCK) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(error.reason()),
    };
    let disk = |name: String| {
        // Cheap to tell: mappings and the like have no device of their own.
        if !root.exists(&format!("{BLOCK}/{name}/device")) || name.starts_with("sr") {
            return None;
        }
        let number = root.read(&format!("{BLOCK}/{name}/dev")).ok()?;
        Some(device::read(root, commands, number.trim())?.device)
    };
    Fact::known(names.into_iter().filter_map(disk).collect(), BLOCK)
}

struct Chain<'a> {
    root: &'a HostRoot,
    commands: &'a dyn CommandRunner,
    /// Numbers of the file systems that lie above, to notice one that lies on itself.
    mounts: Vec<String>,
    found: Storage,
}

impl Chain<'_> {
    fn file_system_of(&mut self, path: &str, depth: u32) {
        let mounts = match self.root.read(mount::MOUNTS) {
            Ok(mounts) => mounts,
            Err(error) => return self.missing(error.reason()),
        };
        let Some(mount) = mount::of(&mounts, path) else {
            return self.missing(format!("{}: no mount holds {path}", mount::MOUNTS));
        };
        if self.mounts.iter().any(|above| above == mount.number) {
            // In a container the place below is outside of what can be seen, and its path means another one here.
            return self.missing(format!(
                "{path}: would lie on the file system that lies on it, so it is not seen here"
            ));
        }
        let file_system = self.file_system(&mount);
        let medium = file_system.medium;
        self.found.layers.push(StorageLayer { depth, layer: Layer::FileSystem(file_system) });
        if depth >= DEPTH_MAX {
            return self.missing(format!("more than {DEPTH_MAX} layers"));
        }
        self.mounts.push(mount.number.to_owned());
        match medium {
            Medium::Device if mount.fs_type == "zfs" => self.pool_of(mount.source, depth + 1),
            Medium::Device => self.devices_of(&mount, depth + 1),
            Medium::FileSystem => match mount.upper_directory() {
                Some(upper) => self.file_system_of(upper, depth + 1),
                None => self.missing(format!("{}: nothing is said of what lies below", mount.fs_type)),
            },
            Medium::Unknown => {
                self.missing(format!("{}: what keeps its content cannot be told", mount.fs_type));
            }
            Medium::Memory | Medium::Network => {}
        }
        self.mounts.pop();
    }

    fn file_system(&mut self, mount: &Mount<'_>) -> FileSystem {
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
            properties: self.properties(mount),
            options,
        }
    }

    fn properties(&mut self, mount: &Mount<'_>) -> BTreeMap<String, String> {
        match mount.fs_type {
            "zfs" => zfs::properties(self.commands, mount.source).unwrap_or_else(|error| {
                self.missing(format!("zfs: its settings (sync, logbias) are not known: {error}"));
                BTreeMap::new()
            }),
            "btrfs" => backing_devices::btrfs_profiles(self.root, mount.source),
            _ => BTreeMap::new(),
        }
    }

    fn medium(&self, mount: &Mount<'_>) -> Medium {
        match mount.fs_type {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => Medium::Memory,
            "overlay" => Medium::FileSystem,
            "zfs" => Medium::Device,
            kind if mount::NETWORK.contains(&kind)
                || kind.starts_with("fuse.") && mount.source.contains(':') =>
            {
                Medium::Network
            }
            _ if !backing_devices::device_numbers(self.root, mount).is_empty() => Medium::Device,
            _ => Medium::Unknown,
        }
    }

    fn devices_of(&mut self, mount: &Mount<'_>, depth: u32) {
        for number in backing_devices::device_numbers(self.root, mount) {
            self.device(&number, depth, None);
        }
        if let Some(log) = backing_devices::log_device(self.root, mount) {
            self.device(&log, depth, Some(DeviceRole::Log));
        }
    }

    fn pool_of(&mut self, data_set: &str, depth: u32) {
        let name = zfs::pool_of(data_set);
        let (pool, members) = match zfs::pool(self.commands, name) {
            Ok(found) => found,
            Err(error) => {
                self.missing(format!("zfs: the devices of its pool are not known: {error}"));
                (Pool { name: name.to_owned(), ..Pool::default() }, Vec::new())
            }
        };
        self.found.layers.push(StorageLayer { depth, layer: Layer::Pool(pool) });
        for member in members {
            let at = self.found.layers.len();
            match device::number_of_node(self.root, &member.path) {
                Some(number) => self.device(&number, depth + 1, member.role),
                None if !member.path.starts_with("/dev/") => self.file_system_of(&member.path, depth + 1),
                None => self.missing(format!("{}: no such device is shown", member.path)),
            }
            if let (Some(StorageLayer { layer: Layer::Device(device), .. }), Some(group)) =
                (self.found.layers.get_mut(at), member.group)
            {
                device.detail = Some(match device.detail.take() {
                    Some(detail) => format!("in {group}, {detail}"),
                    None => format!("in {group}"),
                });
            }
        }
    }

    fn device(&mut self, number: &str, depth: u32, role: Option<DeviceRole>) {
        if depth >= DEPTH_MAX {
            return self.missing(format!("more than {DEPTH_MAX} layers"));
        }
        let Some(found) = device::read(self.root, self.commands, number) else {
            return self.missing(format!("{}: no such device is shown", device::folder(number)));
        };
        self.found.missing.extend(found.missing);
        let device = Device { role, ..found.device };
        let (name, backing_file) = (device.name.clone(), device.backing_file.clone());
        if device.class == DeviceClass::ZfsVolume {
            self.missing(format!("{name}: a volume of a ZFS pool, and no file says of which"));
        }
        self.found.layers.push(StorageLayer { depth, layer: Layer::Device(device) });
        for (number, role) in found.below {
            self.device(&number, depth + 1, role);
        }
        match backing_file {
            Some(file) if file.ends_with(" (deleted)") => {
                self.missing(format!("{name}: its file was deleted, so its place is not known"));
            }
            Some(file) => self.file_system_of(&file, depth + 1),
            None => {}
        }
    }

    fn missing(&mut self, what: String) {
        self.found.missing.push(what);
    }
}
