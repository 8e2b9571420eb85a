//! Where the logs of a broker lie: the directories that it has locked, and the devices behind them.
//!
//! Apache Kafka keeps `.lock` of each log directory open as long as it runs (LogManager), beside `meta.properties`; Redpanda `pid.lock` of its data
//! directory. The descriptor leads to the file in whatever mount name space the broker lives. Not for what such a device can do.

use crate::{HostRoot, SystemCommands, storage};
use plumb_model::facts::{DeviceClass, Layer};
use plumb_model::observed::LogDirectory;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Descriptors that are looked at, at most (ours): a broker opens its locks before its logs, at low numbers.
const DESCRIPTORS_MAX: usize = 20_000;
/// Devices below one another, at most.
const DEPTH_MAX: usize = 16;

/// A log directory with the numbers (`8:16`) of the devices that it lies on, from the file system's downwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogDevice {
    /// As the document has it.
    pub(super) directory: LogDirectory,
    /// Of partitions, their disk follows.
    pub(super) numbers: Vec<String>,
}

/// The log directories of a process; none where it has locked none, or its descriptors may not be looked at.
pub(super) fn log_devices(root: &HostRoot, pid: u32) -> Vec<LogDevice> {
    let folder = format!("/proc/{pid}/fd");
    let mut descriptors: Vec<u32> =
        root.list(&folder).unwrap_or_default().iter().filter_map(|name| name.parse().ok()).collect();
    descriptors.sort_unstable();
    let mut found: Vec<LogDevice> = Vec::new();
    for descriptor in descriptors.into_iter().take(DESCRIPTORS_MAX) {
        let link = format!("{folder}/{descriptor}");
        let Some(directory) = root.link(&link).and_then(|target| locked(root, pid, &target)) else {
            continue;
        };
        if found.iter().all(|known| known.directory.path != directory) {
            found.push(log_device(root, pid, &link, directory));
        }
    }
    found
}

/// The directory that such a descriptor locks.
fn locked(root: &HostRoot, pid: u32, target: &str) -> Option<String> {
    let path = Path::new(target);
    let directory = path.parent()?.to_str()?;
    let is_kafka = || root.exists(&format!("/proc/{pid}/root{directory}/meta.properties"));
    match path.file_name()?.to_str()? {
        ".lock" if is_kafka() => Some(directory.to_owned()),
        "pid.lock" => Some(directory.to_owned()),
        _ => None,
    }
}

fn log_device(root: &HostRoot, pid: u32, link: &str, path: String) -> LogDevice {
    let number = root.metadata(link).ok().map(|file| file.dev());
    let numbers = match number.map(|number| (rustix::fs::major(number), rustix::fs::minor(number))) {
        // A file system with a number of its own (btrfs, overlay, ZFS) is followed through its mounts.
        Some((0, _)) => through_mounts(root, pid, &path),
        Some((major, minor)) => chain(root, format!("{major}:{minor}")),
        None => Vec::new(),
    };
    let device = numbers.iter().find_map(|number| whole_disk(root, number));
    LogDevice { directory: LogDirectory { path, device }, numbers }
}

/// The first device that the storage of a directory names, where the process sees the mounts that Plumb sees.
fn through_mounts(root: &HostRoot, pid: u32, path: &str) -> Vec<String> {
    let of = |who: &str| root.link(&format!("/proc/{who}/ns/mnt"));
    if of("self").is_none() || of("self") != of(&pid.to_string()) {
        return Vec::new();
    }
    let layers = storage(root, &SystemCommands::default(), path).layers;
    let names = layers.into_iter().filter_map(|layer| match layer.layer {
        Layer::Device(device) if device.class != DeviceClass::Partition => Some(device.name),
        _ => None,
    });
    let number =
        |name: String| Some(root.read(&format!("/sys/class/block/{name}/dev")).ok()?.trim().to_owned());
    names.filter_map(number).collect()
}

/// A device, its disk where it is a partition, and the first of those below it.
fn chain(root: &HostRoot, number: String) -> Vec<String> {
    let mut numbers = vec![number];
    while numbers.len() < DEPTH_MAX {
        let folder = format!("/sys/dev/block/{}", numbers[numbers.len() - 1]);
        let below = match root.exists(&format!("{folder}/partition")) {
            true => format!("{folder}/../dev"),
            false => {
                let slaves = root.list(&format!("{folder}/slaves")).unwrap_or_default();
                let Some(slave) = slaves.first() else { break };
                format!("{folder}/slaves/{slave}/dev")
            }
        };
        let Ok(text) = root.read(&below) else { break };
        numbers.push(text.trim().to_owned());
    }
    numbers
}

/// The name of a device that is no partition.
fn whole_disk(root: &HostRoot, number: &str) -> Option<String> {
    let folder = format!("/sys/dev/block/{number}");
    if root.exists(&format!("{folder}/partition")) {
        return None;
    }
    let events = root.read(&format!("{folder}/uevent")).ok()?;
    events.lines().find_map(|line| line.strip_prefix("DEVNAME=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_directories_that_this_process_has_locked_are_found_with_their_device() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (logs, other) = (place.path().join("logs"), place.path().join("other"));
        for folder in [&logs, &other] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(logs.join("meta.properties"), "version=1\n").unwrap();
        let locks = [logs.join(".lock"), other.join(".lock")].map(|path| fs::File::create(path).unwrap());
        let found = log_devices(&HostRoot::default(), std::process::id());
        drop(locks);
        let ours: Vec<_> =
            found.iter().filter(|log| Path::new(&log.directory.path).starts_with(place.path())).collect();
        assert_eq!(ours.len(), 1, "{found:?}");
        assert_eq!(Path::new(&ours[0].directory.path), logs.canonicalize().unwrap());
    }

    #[test]
    fn a_partition_leads_to_its_disk_and_a_mapped_device_to_what_lies_below() {
        let place = tempfile::tempdir().unwrap();
        let devices = place.path().join("sys/devices");
        for (path, text) in [
            ("sdb/dev", "8:16\n"),
            ("sdb/uevent", "MAJOR=8\nDEVNAME=sdb\n"),
            ("sdb/sdb1/dev", "8:17\n"),
            ("sdb/sdb1/partition", "1\n"),
            ("dm-0/dev", "253:0\n"),
            ("dm-0/uevent", "DEVNAME=dm-0\n"),
        ] {
            let path = devices.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir(devices.join("dm-0/slaves")).unwrap();
        symlink("../../sdb/sdb1", devices.join("dm-0/slaves/sdb1")).unwrap();
        let block = place.path().join("sys/dev/block");
        fs::create_dir_all(&block).unwrap();
        for (number, path) in [("8:16", "sdb"), ("8:17", "sdb/sdb1"), ("253:0", "dm-0")] {
            symlink(format!("../../devices/{path}"), block.join(number)).unwrap();
        }
        let root = HostRoot::new(place.path());
        assert_eq!(chain(&root, "253:0".to_owned()), ["253:0", "8:17", "8:16"]);
        let names = ["253:0", "8:17", "8:16"].map(|number| whole_disk(&root, number));
        assert_eq!(names, [Some("dm-0".to_owned()), None, Some("sdb".to_owned())]);
    }
}
