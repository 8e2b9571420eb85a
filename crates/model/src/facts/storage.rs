//! The storage behind a log directory: the file system, and the devices down to the hardware.
//!
//! Data, and the arithmetic that belongs to a chain of devices. Reading is the work of `observe`.

mod device;
mod layer;
mod risk;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DiskDelta, HostDelta};
pub use device::{Device, DeviceClass, DeviceRole, NamespaceMode, PersistentMemory};
pub use layer::{FileSystem, Layer, Medium, Pool};
pub use risk::StorageRisk;

/// A directory that holds logs of the lab, with what is behind it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogDirectory {
    /// The name in the plan; `lab` for the lab's own.
    pub name: String,
    /// As the user gave it; absent for the lab's own.
    pub path: Option<String>,
    /// Ids of the brokers that keep logs there.
    pub brokers: Vec<u32>,
    /// The storage behind it.
    pub storage: Storage,
}

/// The storage behind a directory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Storage {
    /// The file system first, each layer before what is under it; several of one depth lie side by side.
    pub layers: Vec<StorageLayer>,
    /// The parts that could not be followed or read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A layer with its place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageLayer {
    /// 0 for the file system of the directory; a layer lies on the nearest one above it of a smaller depth.
    pub depth: u32,
    /// The layer.
    pub layer: Layer,
}

impl Storage {
    /// The file system of the directory.
    pub fn file_system(&self) -> Option<&FileSystem> {
        self.layers.first().and_then(|layer| match &layer.layer {
            Layer::FileSystem(file_system) => Some(file_system),
            Layer::Device(_) | Layer::Pool(_) => None,
        })
    }

    /// Names of the devices under which there is nothing more.
    pub fn hardware(&self) -> Vec<&str> {
        let devices = self.lowest().filter_map(|layer| match layer {
            Layer::Device(device) => Some(device.name.as_str()),
            Layer::FileSystem(_) | Layer::Pool(_) => None,
        });
        devices.collect()
    }

    /// Layers under which there is nothing more that is known.
    pub fn lowest(&self) -> impl Iterator<Item = &Layer> {
        let nothing_below =
            |index: usize, depth: u32| self.layers.get(index + 1).is_none_or(|next| next.depth <= depth);
        let layers = self.layers.iter().enumerate();
        layers.filter(move |(index, layer)| nothing_below(*index, layer.depth)).map(|(_, layer)| &layer.layer)
    }

    /// Names of the devices, or of the pool, right under the file system.
    fn top(&self) -> Vec<&str> {
        let top = self.layers.iter().filter(|layer| layer.depth == 1);
        top.filter_map(|layer| layer.layer.medium_name()).collect()
    }

    /// True if written data stay in memory: the file system or a device under it is memory.
    pub fn is_memory(&self) -> bool {
        self.layers.iter().any(|layer| match &layer.layer {
            Layer::FileSystem(file_system) => file_system.medium == Medium::Memory,
            Layer::Device(device) => device.class == DeviceClass::Ram,
            Layer::Pool(_) => false,
        })
    }

    /// True if written data go straight to persistent memory, where no counter sees it.
    pub fn is_dax(&self) -> bool {
        self.file_system().is_some_and(|file_system| file_system.dax)
    }

    /// Bytes that reached the hardware; absent where no counter tells.
    ///
    /// Of each layer and what lies under it the smaller figure counts: a mirror writes everything twice, a loop
    /// device writes into a page cache, and a disk below may serve others too.
    pub(crate) fn written_bytes(&self, host: &HostDelta) -> Option<u64> {
        self.traffic(0, &|name| device(host, name)?.written_bytes)
    }

    /// Bytes that reached the hardware behind several directories; those of one file system count once.
    pub fn written_bytes_of(all: &[&Storage], host: &HostDelta) -> Option<u64> {
        distinct(all).into_iter().map(|storage| storage.written_bytes(host)).sum()
    }

    /// Bytes that were read from the hardware behind several directories; those of one file system count once.
    pub fn read_bytes_of(all: &[&Storage], host: &HostDelta) -> Option<u64> {
        distinct(all).into_iter().map(|storage| storage.read_bytes(host)).sum()
    }

    /// Bytes that were read from the hardware; absent where no counter tells.
    pub(crate) fn read_bytes(&self, host: &HostDelta) -> Option<u64> {
        self.traffic(0, &|name| device(host, name)?.read_bytes)
    }

    fn traffic(&self, index: usize, counted: &impl Fn(&str) -> Option<u64>) -> Option<u64> {
        let layer = self.layers.get(index)?;
        let own = match &layer.layer {
            Layer::FileSystem(_) => None,
            Layer::Device(device) => counted(&device.name),
            // A pool writes more than it is given (mirrors, parity, its log), and says nothing of what it was given.
            Layer::Pool(_) => return None,
        };
        let mut below = self.children(index).peekable();
        let below: Option<u64> = match below.peek() {
            None => None,
            Some(_) => below.map(|child| self.traffic(child, counted)).sum(),
        };
        match (own, below) {
            (Some(own), Some(below)) => Some(own.min(below)),
            (own, below) => own.or(below),
        }
    }

    /// Places of the layers right under one.
    fn children(&self, index: usize) -> impl Iterator<Item = usize> {
        let depth = self.layers[index].depth;
        let rest = self.layers.iter().enumerate().skip(index + 1);
        rest.take_while(move |(_, layer)| layer.depth > depth)
            .filter(move |(_, layer)| layer.depth == depth + 1)
            .map(|(at, _)| at)
    }
}

/// The first of those that lie on the same file system.
fn distinct<'a>(all: &[&'a Storage]) -> Vec<&'a Storage> {
    let mut found: Vec<&Storage> = Vec::new();
    for storage in all {
        if !found.iter().any(|known| known.top() == storage.top()) {
            found.push(storage);
        }
    }
    found
}

/// The traffic of a disk or partition.
fn device<'a>(host: &'a HostDelta, name: &str) -> Option<&'a DiskDelta> {
    host.disks.iter().chain(&host.partitions).find(|disk| disk.name == name)
}

/// Bytes that went through one process's hands between two readings (proc_pid_io(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProcessIo {
    /// Read by calls, from wherever they came: page cache, device, socket.
    pub called_read_bytes: Option<u64>,
    /// Fetched from devices for it.
    pub device_read_bytes: Option<u64>,
    /// Made dirty in the page cache, or written to devices directly: sooner or later the device has to take it.
    pub dirtied_bytes: Option<u64>,
    /// Of the dirtied, what was deleted before it was written.
    pub cancelled_bytes: Option<u64>,
}

impl ProcessIo {
    /// Several processes as one; a figure that one of them lacks is absent.
    pub fn sum(all: &[ProcessIo]) -> Option<ProcessIo> {
        let sum = |figure: fn(&ProcessIo) -> Option<u64>| all.iter().map(figure).sum();
        (!all.is_empty()).then(|| ProcessIo {
            called_read_bytes: sum(|io| io.called_read_bytes),
            device_read_bytes: sum(|io| io.device_read_bytes),
            dirtied_bytes: sum(|io| io.dirtied_bytes),
            cancelled_bytes: sum(|io| io.cancelled_bytes),
        })
    }
}

/// The end of the load before a measured part that was to go on until the device is the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UntilDevice {
    /// The reason why it ended.
    pub end: UntilDeviceEnd,
    /// The time that it ran.
    pub elapsed_ns: u64,
    /// Bytes that the brokers put into their logs meanwhile; absent when they cannot be told.
    pub log_bytes: Option<u64>,
    /// Bytes that reached the devices meanwhile.
    pub device_bytes: Option<u64>,
    /// Of the bytes put into the log in the last window, the share that as many bytes at the device were.
    pub device_share: Option<f64>,
    /// Dirty pages and pages being written at its end.
    pub dirty_bytes: Option<u64>,
}

/// The reason why a load ended that was to go on until the device is the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UntilDeviceEnd {
    /// The device took what was written.
    Reached,
    /// The time for it was over.
    TimeLimit,
    /// The directory was about to be full.
    SpaceLimit,
    /// The directory is memory, so there is no device to wait for.
    NoDevice,
    /// No counter tells what reaches the device.
    NotCounted,
    /// The user stopped the run.
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(depth: u32, name: &str) -> StorageLayer {
        StorageLayer { depth, layer: Layer::Device(Device { name: name.into(), ..Device::default() }) }
    }

    fn storage(devices: &[(u32, &str)]) -> Storage {
        let file_system = StorageLayer { depth: 0, layer: Layer::FileSystem(FileSystem::default()) };
        let layers = std::iter::once(file_system).chain(devices.iter().map(|(depth, name)| on(*depth, name)));
        Storage { layers: layers.collect(), ..Storage::default() }
    }

    fn host(written: &[(&str, u64)]) -> HostDelta {
        let disk = |(name, bytes): &(&str, u64)| DiskDelta {
            name: (*name).to_owned(),
            written_bytes: Some(*bytes),
            ..DiskDelta::default()
        };
        HostDelta { disks: written.iter().map(disk).collect(), ..HostDelta::default() }
    }

    #[test]
    fn a_mirror_that_writes_twice_took_the_bytes_once() {
        let mirror = storage(&[(1, "md0"), (2, "sda"), (2, "sdb")]);
        assert_eq!(mirror.written_bytes(&host(&[("md0", 10), ("sda", 10), ("sdb", 10)])), Some(10));
        assert_eq!(mirror.hardware(), ["sda", "sdb"]);
    }

    #[test]
    fn what_a_loop_device_left_in_the_page_cache_below_has_not_reached_the_hardware() {
        let image = storage(&[(1, "loop0"), (2, "nvme0n1p1"), (3, "nvme0n1")]);
        let counters = host(&[("loop0", 100), ("nvme0n1p1", 7), ("nvme0n1", 50)]);
        assert_eq!(image.written_bytes(&counters), Some(7));
    }

    #[test]
    fn two_directories_of_one_file_system_count_once_and_those_of_two_on_one_disk_both() {
        let (first, second) = (storage(&[(1, "sda1"), (2, "sda")]), storage(&[(1, "sda2"), (2, "sda")]));
        let counters = host(&[("sda1", 3), ("sda2", 4), ("sda", 9)]);
        assert_eq!(Storage::written_bytes_of(&[&first, &first], &counters), Some(3));
        assert_eq!(Storage::written_bytes_of(&[&first, &second], &counters), Some(7));
    }

    #[test]
    fn stripes_add_up_and_a_missing_counter_is_taken_from_the_layer_above() {
        let stripes = storage(&[(1, "dm-0"), (2, "sda"), (2, "sdb")]);
        assert_eq!(stripes.written_bytes(&host(&[("sda", 3), ("sdb", 4)])), Some(7));
        assert_eq!(stripes.written_bytes(&host(&[("dm-0", 9), ("sda", 3)])), Some(9));
        assert_eq!(stripes.written_bytes(&host(&[])), None);
    }
}
