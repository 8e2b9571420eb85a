//! A block device among the layers behind a directory: what it is, what it is there for, and what it says of itself.

use crate::figure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A block device, or a part of one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Device {
    /// The kernel's name for it: `nvme0n1p2`, `dm-0`, `md127`.
    pub name: String,
    /// The class.
    pub class: DeviceClass,
    /// The role, where the layer above has devices of several kinds.
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
    /// True if it says that it has turning disks. In a virtual machine that is the hypervisor's word.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` when the kernel has to tell the device to flush what it holds in a volatile cache, else
    /// `write through`. An administrator can change it, and a hypervisor can say what it likes.
    pub write_cache: Option<String>,
    /// The cache mode that a SCSI disk states itself: `write back` where the cache is on and volatile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_write_cache: Option<String>,
    /// True if requests wait in a queue of the kernel's (blk-mq). Without one the kernel counts none of its flushes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_queue: bool,
    /// Smallest unit that can be addressed.
    pub logical_block_bytes: Option<u64>,
    /// Smallest unit that is written without reading first.
    pub physical_block_bytes: Option<u64>,
    /// True if it is memory that can be addressed directly.
    pub dax: Option<bool>,
    /// Of persistent memory, what it is cut from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_memory: Option<Box<PersistentMemory>>,
    /// The file that a loop device shows.
    pub backing_file: Option<String>,
    /// True if a loop device goes around the page cache of the file system below.
    pub direct_io: Option<bool>,
}

/// The class of a block device.
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

/// The role of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceRole {
    /// The disk behind a cache.
    Origin,
    /// The cache before a disk.
    Cache,
    /// A cache's knowledge of its blocks.
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
    /// The mode.
    pub mode: Option<NamespaceMode>,
    /// The region that it is cut from: `region0`.
    pub region: Option<String>,
    /// The source that showed the region: `ACPI.NFIT`, `e820`, `virtio-pmem` ...
    pub provider: Option<String>,
    /// The place that a store must reach to outlive a power failure: `cpu_cache` or `memory_controller`.
    pub persistence_domain: Option<String>,
    /// The memory node that it is nearest to.
    pub numa_node: Option<u32>,
}

/// The mode of a namespace of persistent memory, by ndctl's names.
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

impl Device {
    pub(super) fn detail(&self) -> Vec<String> {
        let words = |text: &str| Some(text.to_owned());
        // What the queue of a layered device says is put together from the devices below.
        let hardware = !self.class.is_layered();
        let parts = [
            self.role.map(|role| role.as_str().to_owned()),
            self.cache_mode.clone(),
            self.detail.clone(),
            self.model.clone(),
            self.size_bytes.map(|bytes| figure::bytes(bytes as f64)),
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

    /// True if it lies on another device or file here.
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
