//! One layer of what is behind a directory: a file system, a pool, a block device (`device.rs`).
//!
//! Data, and each layer in words ([`Layer::kind`], [`Layer::name`], [`Layer::detail`]). What follows from it for data that
//! was synced is in `risk.rs`.

use std::collections::BTreeMap;

use super::Device;
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
    /// The directory on which it is mounted.
    pub mount_point: String,
    /// Its type, as the kernel calls it: `ext4`, `xfs`, `tmpfs` ...
    pub fs_type: String,
    /// Mount options, each once; without those that name addresses and directories.
    pub options: Vec<String>,
    /// Settings that are no mount options, by the file system's own names: ZFS's `logbias`, `sync`, `recordsize` ...
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// The medium of its content.
    pub medium: Medium,
    /// Files are mapped from persistent memory without the page cache.
    pub dax: bool,
    /// The kernel's read-ahead, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// True if the kernel holds it to a limit of dirty pages of its own, rather than to a share of the host's.
    pub own_dirty_limit: Option<bool>,
}

/// The medium of a file system's content.
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
    /// The state of its health, in its tools' words: `ONLINE`, `DEGRADED` ...
    pub health: Option<String>,
    /// Devices of its own for the log of synchronous writes; absent when its tools did not say.
    pub log_devices: Option<u32>,
}

impl Layer {
    /// The kind, in words that a program can rely on: `file_system`, `zfs_pool`, `partition`, `nvme` ...
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

    /// The known details, in one line; empty when there are none.
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

#[cfg(test)]
mod tests {
    use super::super::DeviceClass;
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
}
