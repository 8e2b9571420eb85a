//! One block device, from its folder below `/sys/dev/block` (kernel documentation, ABI/stable/sysfs-block).

use plumb_model::facts::{Device, DeviceClass};

use crate::HostRoot;

/// `/sys` counts sizes in sectors of 512 bytes, whatever the device's own are.
const SECTOR_BYTES: u64 = 512;

/// The folder of a device by its number, `major:minor`.
pub(super) fn folder(number: &str) -> String {
    format!("/sys/dev/block/{number}")
}

/// What the kernel says of a device.
pub(super) fn read(root: &HostRoot, number: &str) -> Option<Device> {
    let folder = folder(number);
    let name = name(root, &folder)?;
    let class = class(root, &folder, &name);
    // A partition has no queue: its disk's is its own.
    let queue = if class == DeviceClass::Partition {
        format!("{folder}/../queue")
    } else {
        format!("{folder}/queue")
    };
    let text = |path: String| {
        root.read(&path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let number_in = |path: String| text(path)?.parse::<u64>().ok();
    let flag = |path: String| number_in(path).map(|value| value == 1);
    // A virtual disk has the number of its vendor there, which says nothing to a person.
    let vendor = text(format!("{folder}/device/vendor")).filter(|vendor| !vendor.starts_with("0x"));
    let model = [vendor, text(format!("{folder}/device/model"))];
    Some(Device {
        detail: detail(root, &folder, class),
        model: model.iter().flatten().map(|part| readable(part)).reduce(|a, b| format!("{a} {b}")),
        size_bytes: number_in(format!("{folder}/size")).and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
        rotational: flag(format!("{queue}/rotational")),
        scheduler: text(format!("{queue}/scheduler")).map(|choices| chosen(&choices).to_owned()),
        write_cache: text(format!("{queue}/write_cache")),
        logical_block_bytes: number_in(format!("{queue}/logical_block_size")),
        physical_block_bytes: number_in(format!("{queue}/physical_block_size")),
        role: None,
        cache_mode: None,
        disk_write_cache: None,
        persistent_memory: None,
        dax: flag(format!("{queue}/dax")),
        backing_file: text(format!("{folder}/loop/backing_file")),
        direct_io: flag(format!("{folder}/loop/dio")),
        name,
        class,
    })
}

/// The kernel's name, from the events that it sends to user space: `DEVNAME=nvme0n1p2`.
fn name(root: &HostRoot, folder: &str) -> Option<String> {
    let events = root.read(&format!("{folder}/uevent")).ok()?;
    events.lines().find_map(|line| line.strip_prefix("DEVNAME=")).map(str::to_owned)
}

fn class(root: &HostRoot, folder: &str, name: &str) -> DeviceClass {
    let has = |part: &str| root.exists(&format!("{folder}/{part}"));
    if has("partition") {
        return DeviceClass::Partition;
    }
    if has("dm") {
        let uuid = root.read(&format!("{folder}/dm/uuid")).unwrap_or_default();
        return match uuid.split('-').next() {
            Some("LVM") => DeviceClass::LogicalVolume,
            Some("CRYPT") => DeviceClass::Encrypted,
            Some("mpath") => DeviceClass::Multipath,
            _ => DeviceClass::Mapped,
        };
    }
    if has("md") {
        return DeviceClass::Raid;
    }
    // Names are given by the drivers: kernel documentation, admin-guide/devices.
    let by_name = [
        ("bcache", DeviceClass::Bcache),
        ("loop", DeviceClass::Loop),
        ("nvme", DeviceClass::Nvme),
        ("vd", DeviceClass::Virtio),
        ("xvd", DeviceClass::Virtio),
        ("sd", DeviceClass::Scsi),
        ("sr", DeviceClass::Scsi),
        ("mmcblk", DeviceClass::Mmc),
        ("pmem", DeviceClass::PersistentMemory),
        ("ram", DeviceClass::Ram),
        ("zram", DeviceClass::Ram),
        ("nbd", DeviceClass::Network),
        ("rbd", DeviceClass::Network),
        ("drbd", DeviceClass::Network),
    ];
    by_name
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map_or(DeviceClass::Other, |(_, class)| *class)
}

/// What distinguishes one of its class: a RAID's level, a cache's mode.
fn detail(root: &HostRoot, folder: &str, class: DeviceClass) -> Option<String> {
    let text = |part: &str| root.read(&format!("{folder}/{part}")).ok().map(|text| text.trim().to_owned());
    match class {
        DeviceClass::Raid => text("md/level"),
        DeviceClass::Bcache => text("bcache/cache_mode").map(|modes| chosen(&modes).to_owned()),
        // `DM_UUID` of a mapping that no volume manager made begins with its maker's name, if anything.
        _ => None,
    }
    .filter(|text| !text.is_empty())
}

/// Numbers of the devices right below one.
pub(super) fn below(root: &HostRoot, number: &str, class: DeviceClass) -> Vec<String> {
    let folder = folder(number);
    let number_in = |path: String| root.read(&path).ok().map(|text| text.trim().to_owned());
    if class == DeviceClass::Partition {
        // The folder is a link into the disk's, so its parent is the disk.
        return number_in(format!("{folder}/../dev")).into_iter().collect();
    }
    let slaves = root.list(&format!("{folder}/slaves")).unwrap_or_default();
    slaves.iter().filter_map(|name| number_in(format!("{folder}/slaves/{name}/dev"))).collect()
}

/// The number of a device by its file: `/dev/nvme0n1p2`, `/dev/mapper/vg-log`.
pub(super) fn number_of_node(root: &HostRoot, node: &str) -> Option<String> {
    let name = node.strip_prefix("/dev/")?;
    let number = |name: &str| root.read(&format!("/sys/class/block/{name}/dev")).ok();
    let direct = number(&name.replace('/', "!"));
    let mapped = || {
        let mapping = name.strip_prefix("mapper/")?;
        let names = root.list("/sys/class/block").ok()?;
        let is_it = |device: &String| {
            root.read(&format!("/sys/class/block/{device}/dm/name")).is_ok_and(|name| name.trim() == mapping)
        };
        number(&names.into_iter().find(is_it)?)
    };
    direct.or_else(mapped).map(|text| text.trim().to_owned())
}

/// Numbers of all devices of the btrfs file system that has this one.
pub(super) fn btrfs_siblings(root: &HostRoot, number: &str) -> Vec<String> {
    for file_system in root.list("/sys/fs/btrfs").unwrap_or_default() {
        let folder = format!("/sys/fs/btrfs/{file_system}/devices");
        let names = root.list(&folder).unwrap_or_default();
        let numbers: Vec<String> = names
            .iter()
            .filter_map(|name| Some(root.read(&format!("{folder}/{name}/dev")).ok()?.trim().to_owned()))
            .collect();
        if numbers.iter().any(|known| known == number) {
            return numbers;
        }
    }
    Vec::new()
}

/// The choice in brackets of a list such as `mq-deadline [none]`; the whole where nothing is.
fn chosen(choices: &str) -> &str {
    let inner = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or(choices, |(chosen, _)| chosen)
}

/// Names with the blanks that pad them taken out.
fn readable(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_the_one_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
        assert_eq!(readable("SAMSUNG  MZ7LH  "), "SAMSUNG MZ7LH");
    }
}
