//! One layer of what is behind a directory: a file system, a pool, a block device.
//!
//! Data, and each layer in words ([`Layer::kind`], [`Layer::name`], [`Layer::detail`]). What follows from it for data that
//! was synced is in `risk.rs`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file system, a pool of devices or a block device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Layer {
    /// A mounted file system.
    FileSystem(FileSystem),
    /// A pool of devices that file systems share (ZFS).
    Pool(Pool),
    /// A block device, or a part of one.
    Device(Device),
}

/// A mounted file system. Its source is left out: it may name a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FileSystem {
    /// Where it is mounted.
    pub mount_point: String,
    /// Its type, as the kernel calls it: `ext4`, `xfs`, `tmpfs` ...
    pub fs_type: String,
    /// Mount options, each once; without those that name addresses and directories.
    pub options: Vec<String>,
    /// Settings that are no mount options, by the file system's own names: ZFS's `logbias`, `sync`, `recordsize` ...
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// What keeps its content.
    pub medium: Medium,
    /// Files are mapped from persistent memory without the page cache.
    pub dax: bool,
    /// How much the kernel reads ahead, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// Whether the kernel holds it to a limit of dirty pages of its own, rather than to a share of the host's.
    pub own_dirty_limit: Option<bool>,
}

/// What keeps a file system's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// Block devices.
    Device,
    /// Memory: nothing of it outlives a reboot.
    Memory,
    /// Another host.
    Network,
    /// Another file system here.
    FileSystem,
    /// It cannot be told.
    #[default]
    Unknown,
}

/// A pool of devices, as its own tools describe it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Whether it is whole, in its tools' words: `ONLINE`, `DEGRADED` ...
    pub health: Option<String>,
    /// Devices of its own for the log of synchronous writes; absent when its tools did not say.
    pub log_devices: Option<u32>,
}

/// A block device, or a part of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Device {
    /// The kernel's name for it: `nvme0n1p2`, `dm-0`, `md127`.
    pub name: String,
    /// What it is.
    pub class: DeviceClass,
    /// What it is there for, where the layer above has devices of several kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<DeviceRole>,
    /// More of it: a RAID's level, a mapping's targets, a cipher.
    pub detail: Option<String>,
    /// Of a cache before a disk, its mode in the kernel's word: `writeback`, `writethrough` ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_mode: Option<String>,
    /// Vendor and model, as the device says.
    pub model: Option<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Whether it says that it has turning disks. In a virtual machine that is what the hypervisor says.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` when the kernel has to tell the device to flush what it holds in a volatile cache, else
    /// `write through`. An administrator can change it, and a hypervisor can say what it likes.
    pub write_cache: Option<String>,
    /// What a SCSI disk itself says of its cache: `write back` where it is on and volatile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_write_cache: Option<String>,
    /// Whether requests wait in a queue of the kernel's (blk-mq). Without one the kernel counts none of its flushes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_queue: bool,
    /// Smallest unit that can be addressed.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit that is written without reading first.
    pub physical_block_bytes: Option<u64>,
    /// Whether it is memory that can be addressed directly.
    pub dax: Option<bool>,
    /// Of persistent memory, what it is cut from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_memory: Option<Box<PersistentMemory>>,
    /// The file that a loop device shows.
    pub backing_file: Option<String>,
    /// Whether a loop device goes around the page cache of the file system below.
    pub direct_io: Option<bool>,
}

/// What a block device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceClass {
    /// Part of a disk.
    Partition,
    /// A logical volume (LVM).
    LogicalVolume,
    /// Encrypted (dm-crypt).
    Encrypted,
    /// Several paths to one disk.
    Multipath,
    /// A disk with a cache before it (dm-cache).
    DmCache,
    /// A disk with a cache for writes before it (dm-writecache).
    DmWritecache,
    /// A volume that takes its space as it is written (dm-thin).
    Thin,
    /// A snapshot, or the origin of one (dm-snapshot).
    Snapshot,
    /// Another mapping of the device mapper.
    Mapped,
    /// Software RAID (md).
    Raid,
    /// A disk with a cache before it (bcache).
    Bcache,
    /// A volume of a ZFS pool.
    ZfsVolume,
    /// A file as a device.
    Loop,
    /// An NVMe disk.
    Nvme,
    /// A paravirtual disk of a hypervisor.
    Virtio,
    /// A disk that speaks SCSI: SAS, SATA, USB, most clouds' volumes.
    Scsi,
    /// Flash memory on a card or board.
    Mmc,
    /// Persistent memory.
    PersistentMemory,
    /// Memory shown as a disk (brd, zram).
    Ram,
    /// A disk of another host.
    Network,
    /// Another one.
    #[default]
    Other,
}

/// What a device is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceRole {
    /// The disk behind a cache.
    Origin,
    /// The cache before a disk.
    Cache,
    /// What a cache knows of its blocks.
    CacheMetadata,
    /// The log of synchronous writes, or a file system's journal, on a device of its own.
    Log,
    /// A cache for reads.
    ReadCache,
    /// Metadata and small blocks.
    Special,
    /// Unused until another one fails.
    Spare,
}

/// Persistent memory behind a block device (kernel documentation, driver-api/nvdimm).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersistentMemory {
    /// The namespace: `namespace0.0`.
    pub namespace: Option<String>,
    /// How it is set up.
    pub mode: Option<NamespaceMode>,
    /// The region that it is cut from: `region0`.
    pub region: Option<String>,
    /// What showed the region: `ACPI.NFIT`, `e820`, `virtio-pmem` ...
    pub provider: Option<String>,
    /// How far a store must come to outlive a power failure: `cpu_cache` or `memory_controller`.
    pub persistence_domain: Option<String>,
    /// The memory node that it is nearest to.
    pub numa_node: Option<u32>,
}

/// How a namespace of persistent memory is set up, by ndctl's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamespaceMode {
    /// A block device that file systems can map directly; the kernel calls it `memory`.
    Fsdax,
    /// A character device to map; the kernel calls it `dax`.
    Devdax,
    /// A block device whose sectors are written whole or not at all; the kernel calls it `safe`.
    Sector,
    /// A block device without more.
    Raw,
}

impl NamespaceMode {
    /// As ndctl writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            NamespaceMode::Fsdax => "fsdax",
            NamespaceMode::Devdax => "devdax",
            NamespaceMode::Sector => "sector",
            NamespaceMode::Raw => "raw",
        }
    }
}

impl Layer {
    /// What it is, in words that a program can rely on: `file_system`, `zfs_pool`, `partition`, `nvme` ...
    pub fn kind(&self) -> &'static str {
        match self {
            Layer::FileSystem(_) => "file_system",
            Layer::Pool(_) => "zfs_pool",
            Layer::Device(device) => device.class.as_str(),
        }
    }

    /// The file system's type (`ext4`), the pool's name, or the kernel's name of the device (`nvme0n1p2`).
    pub fn name(&self) -> &str {
        match self {
            Layer::FileSystem(file_system) => &file_system.fs_type,
            Layer::Pool(pool) => &pool.name,
            Layer::Device(device) => &device.name,
        }
    }

    /// What is known of it, in one line; empty when nothing is.
    pub fn detail(&self) -> String {
        let parts = match self {
            Layer::FileSystem(file_system) => file_system.detail(),
            Layer::Pool(pool) => pool.detail(),
            Layer::Device(device) => device.detail(),
        };
        parts.join(", ")
    }

    /// The name of what it is kept on.
    pub(super) fn medium_name(&self) -> Option<&str> {
        match self {
            Layer::Device(device) => Some(&device.name),
            Layer::Pool(pool) => Some(&pool.name),
            Layer::FileSystem(_) => None,
        }
    }
}

impl FileSystem {
    fn detail(&self) -> Vec<String> {
        let mut parts = vec![format!("on {}", self.mount_point)];
        match self.medium {
            Medium::Memory => parts.push("kept in memory".to_owned()),
            Medium::Network => parts.push("kept by another host".to_owned()),
            Medium::Unknown => parts.push("kept where cannot be told".to_owned()),
            Medium::Device | Medium::FileSystem => {}
        }
        if self.dax {
            parts.push("mapped directly (DAX)".to_owned());
        }
        parts.extend(self.properties.iter().map(|(name, value)| format!("{name}={value}")));
        if !self.options.is_empty() {
            parts.push(format!("options {}", self.options.join(",")));
        }
        parts
    }
}

impl Pool {
    fn detail(&self) -> Vec<String> {
        let log = self.log_devices.map(|count| match count {
            0 => "no log device of its own".to_owned(),
            1 => "1 log device".to_owned(),
            count => format!("{count} log devices"),
        });
        self.health.clone().into_iter().chain(log).collect()
    }
}

impl Device {
    fn detail(&self) -> Vec<String> {
        let words = |text: &str| Some(text.to_owned());
        // What the queue of a layered device says is put together from the devices below.
        let hardware = !self.class.is_layered();
        let parts = [
            self.role.map(|role| role.as_str().to_owned()),
            self.cache_mode.clone(),
            self.detail.clone(),
            self.model.clone(),
            self.size_bytes.map(size),
            self.backing_file.as_ref().map(|file| format!("file {file}")),
            self.direct_io.and_then(|direct| {
                words(if direct { "direct I/O below" } else { "through the page cache below" })
            }),
            self.persistent_memory.as_ref().map(|memory| memory.words()).filter(|text| !text.is_empty()),
            self.rotational
                .filter(|_| hardware && self.class != DeviceClass::PersistentMemory)
                .and_then(|turning| words(if turning { "rotational" } else { "not rotational" })),
            self.scheduler.as_ref().filter(|_| hardware).map(|name| format!("scheduler {name}")),
            self.write_cache.as_ref().filter(|_| hardware).map(|mode| match mode.as_str() {
                "write back" => "write cache write back (volatile until flushed)".to_owned(),
                mode => format!("write cache {mode}"),
            }),
            self.disk_write_cache
                .as_ref()
                .filter(|mode| self.write_cache.as_ref().is_some_and(|kernel| kernel != *mode))
                .map(|mode| format!("the disk itself says {mode}")),
        ];
        parts.into_iter().flatten().collect()
    }
}

impl PersistentMemory {
    fn words(&self) -> String {
        let parts = [
            self.mode.map(|mode| format!("{} mode", mode.as_str())),
            self.namespace.clone(),
            self.region.as_ref().map(|region| match &self.provider {
                Some(provider) => format!("{region} of {provider}"),
                None => region.clone(),
            }),
            self.persistence_domain.as_ref().map(|domain| format!("persistence domain {domain}")),
            self.numa_node.map(|node| format!("node {node}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl DeviceClass {
    /// As in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            DeviceClass::Partition => "partition",
            DeviceClass::LogicalVolume => "logical_volume",
            DeviceClass::Encrypted => "encrypted",
            DeviceClass::Multipath => "multipath",
            DeviceClass::DmCache => "dm_cache",
            DeviceClass::DmWritecache => "dm_writecache",
            DeviceClass::Thin => "thin",
            DeviceClass::Snapshot => "snapshot",
            DeviceClass::Mapped => "mapped",
            DeviceClass::Raid => "raid",
            DeviceClass::Bcache => "bcache",
            DeviceClass::ZfsVolume => "zfs_volume",
            DeviceClass::Loop => "loop",
            DeviceClass::Nvme => "nvme",
            DeviceClass::Virtio => "virtio",
            DeviceClass::Scsi => "scsi",
            DeviceClass::Mmc => "mmc",
            DeviceClass::PersistentMemory => "persistent_memory",
            DeviceClass::Ram => "ram",
            DeviceClass::Network => "network",
            DeviceClass::Other => "other",
        }
    }

    /// Whether it lies on another device or file here.
    pub fn is_layered(self) -> bool {
        use DeviceClass as C;
        matches!(
            self,
            C::Partition
                | C::LogicalVolume
                | C::Encrypted
                | C::Multipath
                | C::DmCache
                | C::DmWritecache
                | C::Thin
                | C::Snapshot
                | C::Mapped
                | C::Raid
                | C::Bcache
                | C::ZfsVolume
                | C::Loop
        )
    }
}

impl DeviceRole {
    fn as_str(self) -> &'static str {
        match self {
            DeviceRole::Origin => "the disk behind the cache",
            DeviceRole::Cache => "the cache",
            DeviceRole::CacheMetadata => "the cache's metadata",
            DeviceRole::Log => "the log",
            DeviceRole::ReadCache => "cache for reads",
            DeviceRole::Special => "metadata and small blocks",
            DeviceRole::Spare => "spare",
        }
    }
}

/// `960 GB`, as makers of disks count; three digits that matter.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        999_500_000_000.. => (1e12, "TB"),
        999_500_000.. => (1e9, "GB"),
        _ => (1e6, "MB"),
    };
    let value = bytes as f64 / unit;
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_reads_as_one_line() {
        let disk = Layer::Device(Device {
            name: "nvme0n1".into(),
            class: DeviceClass::Nvme,
            model: Some("INTEL SSDPE21K375GA".into()),
            size_bytes: Some(375_083_606_016),
            rotational: Some(false),
            scheduler: Some("none".into()),
            write_cache: Some("write through".into()),
            ..Device::default()
        });
        assert_eq!((disk.kind(), disk.name()), ("nvme", "nvme0n1"));
        let expected =
            "INTEL SSDPE21K375GA, 375 GB, not rotational, scheduler none, write cache write through";
        assert_eq!(disk.detail(), expected);
        let top = Layer::FileSystem(FileSystem {
            mount_point: "/srv/kafka".into(),
            fs_type: "ext4".into(),
            options: vec!["rw".into(), "noatime".into()],
            medium: Medium::Device,
            ..FileSystem::default()
        });
        assert_eq!((top.kind(), top.name()), ("file_system", "ext4"));
        assert_eq!(top.detail(), "on /srv/kafka, options rw,noatime");
    }

    #[test]
    fn sizes_have_the_digits_that_matter() {
        assert_eq!(size(268_435_456), "268 MB");
        assert_eq!(size(960_197_124_096), "960 GB");
        assert_eq!(size(1_920_383_410_176), "1.92 TB");
        assert_eq!(size(16_000_000_000_000), "16 TB");
        assert_eq!(size(500_000_000_000), "500 GB");
    }
}
