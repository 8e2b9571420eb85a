//! The risks that data that was synced may still be lost: said only where they are known.
//!
//! A device with a volatile cache is no risk by itself, because the kernel tells it to flush at every sync. It is one where
//! something on the way leaves the flush out. Not for a device that lies about what it did: no file tells.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceClass, DeviceRole, Layer, Medium, Storage};

/// The reason why a synced write may be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "risk")]
pub enum StorageRisk {
    /// The file system or device is memory.
    Memory {
        /// Its name.
        layer: String,
    },
    /// The file system was told not to flush the device's cache.
    NoBarrier {
        /// The mount point.
        mount_point: String,
        /// The option that says so.
        option: String,
    },
    /// The file system takes a sync for done at once.
    SyncIgnored {
        /// The mount point.
        mount_point: String,
        /// The setting that says so.
        setting: String,
    },
    /// The kernel was told that the disk's cache needs no flush, and the disk says that it is volatile.
    FlushSuppressed {
        /// The disk.
        device: String,
    },
    /// A write-back cache lies in memory.
    CacheInMemory {
        /// The cached device.
        device: String,
        /// The cache.
        cache: String,
    },
}

impl fmt::Display for StorageRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageRisk::Memory { layer } => {
                write!(f, "{layer} is memory: nothing of it outlives a power failure or a reboot")
            }
            StorageRisk::NoBarrier { mount_point, option } => write!(
                f,
                "{mount_point} is mounted with {option}: fsync does not flush the device's write cache, so a power failure loses \
                 what is in it"
            ),
            StorageRisk::SyncIgnored { mount_point, setting } => write!(
                f,
                "{setting} on {mount_point}: fsync returns before anything is written, so a crash loses what was synced"
            ),
            StorageRisk::FlushSuppressed { device } => write!(
                f,
                "{device} says that its write cache is volatile (write back), but the kernel was told write through: it sends no \
                 flush, so a power failure loses what is in the cache"
            ),
            StorageRisk::CacheInMemory { device, cache } => {
                write!(
                    f,
                    "the write-back cache of {device} is {cache}, which is memory: a power failure loses it"
                )
            }
        }
    }
}

/// Options by which a file system leaves out the flush (ext4, btrfs, older xfs, reiserfs).
const NO_BARRIER: [&str; 3] = ["nobarrier", "barrier=0", "barrier=none"];

impl Storage {
    /// The risks of loss although it was synced; empty when nothing is known that speaks for it.
    pub fn risks(&self) -> Vec<StorageRisk> {
        let mut risks = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            match &layer.layer {
                Layer::FileSystem(file_system) => {
                    let mount_point = || file_system.mount_point.clone();
                    if file_system.medium == Medium::Memory {
                        let layer = format!("{} on {}", file_system.fs_type, file_system.mount_point);
                        risks.push(StorageRisk::Memory { layer });
                    }
                    let has = |option: &str| file_system.options.iter().any(|known| known == option);
                    if let Some(option) = NO_BARRIER.iter().find(|option| has(option)) {
                        let option = (*option).to_owned();
                        risks.push(StorageRisk::NoBarrier { mount_point: mount_point(), option });
                    }
                    // Overlay's `volatile` leaves out every sync (kernel documentation, filesystems/overlayfs).
                    if file_system.fs_type == "overlay" && has("volatile") {
                        let setting = "volatile".to_owned();
                        risks.push(StorageRisk::SyncIgnored { mount_point: mount_point(), setting });
                    }
                    if file_system.properties.get("sync").is_some_and(|sync| sync == "disabled") {
                        let setting = "sync=disabled".to_owned();
                        risks.push(StorageRisk::SyncIgnored { mount_point: mount_point(), setting });
                    }
                }
                Layer::Pool(_) => {}
                Layer::Device(device) => {
                    let name = || device.name.clone();
                    // As a part of something larger it need not matter: a cache is looked at below.
                    if device.class == DeviceClass::Ram && device.role.is_none() {
                        risks.push(StorageRisk::Memory { layer: name() });
                    }
                    if device.disk_write_cache.as_ref().is_some_and(|mode| mode.starts_with("write back"))
                        && device.write_cache.as_deref() == Some("write through")
                    {
                        risks.push(StorageRisk::FlushSuppressed { device: name() });
                    }
                    let writes_back = device.cache_mode.as_deref() == Some("writeback");
                    if let (true, Some(cache)) = (writes_back, self.cache_in_memory(index)) {
                        risks.push(StorageRisk::CacheInMemory { device: name(), cache });
                    }
                }
            }
        }
        risks
    }

    /// Name of the memory that a device's cache lies on, if it does.
    fn cache_in_memory(&self, index: usize) -> Option<String> {
        let caches = self.children(index).filter(|child| match &self.layers[*child].layer {
            Layer::Device(device) => device.role == Some(DeviceRole::Cache),
            _ => false,
        });
        caches.into_iter().find_map(|cache| self.ram_at_or_below(cache))
    }

    fn ram_at_or_below(&self, index: usize) -> Option<String> {
        match &self.layers[index].layer {
            Layer::Device(device) if device.class == DeviceClass::Ram => Some(device.name.clone()),
            Layer::FileSystem(file_system) if file_system.medium == Medium::Memory => {
                Some(file_system.fs_type.clone())
            }
            _ => self.children(index).find_map(|child| self.ram_at_or_below(child)),
        }
    }
}
