//! One block device, from its folder below `/sys/dev/block` (kernel documentation, ABI/stable/sysfs-block).

use plumb_model::facts::{Device, DeviceClass, DeviceRole};

use super::mapper::{self, KnownRole, Mapping};
use super::pmem;
use crate::{CommandRunner, HostRoot};

/// `/sys` counts sizes in sectors of 512 bytes, whatever the device's own are.
const SECTOR_BYTES: u64 = 512;

/// The folder of a device by its number, `major:minor`.
pub(super) fn folder(number: &str) -> String {
    format!("/sys/dev/block/{number}")
}

/// A device with what it takes to go on below it.
pub(super) struct Found {
    pub(super) device: Device,
    /// Numbers of the devices right below, each with what it is there for.
    pub(super) below: Vec<(String, Option<DeviceRole>)>,
    /// The facts that could not be told, and why.
    pub(super) missing: Option<String>,
}

/// The device as the kernel describes it, and `dmsetup` a mapping.
pub(super) fn read(root: &HostRoot, commands: &dyn CommandRunner, number: &str) -> Option<Found> {
    let folder = folder(number);
    let name = name(root, &folder)?;
    let mapped = root.exists(&format!("{folder}/dm"));
    let mapping = if mapped { mapper::read(root, commands, &folder, number) } else { Mapping::default() };
    let class = if mapped { mapping.class } else { class(root, &folder, &name) };
    // A partition has no queue: its disk's is its own.
    let disk = if class == DeviceClass::Partition { format!("{folder}/..") } else { folder.clone() };
    let queue = format!("{disk}/queue");
    let text = |path: String| {
        root.read(&path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let number_in = |path: String| text(path)?.parse::<u64>().ok();
    let flag = |path: String| number_in(path).map(|value| value == 1);
    // A virtual disk has the number of its vendor there, which says nothing to a person.
    let vendor = text(format!("{folder}/device/vendor")).filter(|vendor| !vendor.starts_with("0x"));
    let model = [vendor, text(format!("{folder}/device/model"))];
    let device = Device {
        role: None,
        detail: if mapped { mapping.detail } else { detail(root, number, class) },
        cache_mode: mapping.cache_mode.or_else(|| bcache_mode(root, &folder)),
        model: model.iter().flatten().map(|part| readable(part)).reduce(|a, b| format!("{a} {b}")),
        size_bytes: number_in(format!("{folder}/size")).and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
        rotational: flag(format!("{queue}/rotational")),
        scheduler: text(format!("{queue}/scheduler")).map(|choices| chosen(&choices).to_owned()),
        write_cache: text(format!("{queue}/write_cache")),
        disk_write_cache: scsi_cache(root, &disk),
        request_queue: root.exists(&format!("{disk}/mq")),
        logical_block_bytes: number_in(format!("{queue}/logical_block_size")),
        physical_block_bytes: number_in(format!("{queue}/physical_block_size")),
        dax: flag(format!("{queue}/dax")),
        persistent_memory: (class == DeviceClass::PersistentMemory)
            .then(|| pmem::behind(root, &folder))
            .flatten()
            .map(Box::new),
        backing_file: text(format!("{folder}/loop/backing_file")),
        direct_io: flag(format!("{folder}/loop/dio")),
        name,
        class,
    };
    let below = below(root, number, class, &mapping.roles);
    let missing = mapping.missing.map(|reason| format!("{}: {reason}", device.name));
    Some(Found { device, below, missing })
}

/// The kernel's name, from the events that it sends to user space: `DEVNAME=nvme0n1p2`.
pub(super) fn name(root: &HostRoot, folder: &str) -> Option<String> {
    let events = root.read(&format!("{folder}/uevent")).ok()?;
    events.lines().find_map(|line| line.strip_prefix("DEVNAME=")).map(str::to_owned)
}

fn class(root: &HostRoot, folder: &str, name: &str) -> DeviceClass {
    let has = |part: &str| root.exists(&format!("{folder}/{part}"));
    if has("partition") {
        return DeviceClass::Partition;
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
        ("zd", DeviceClass::ZfsVolume),
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

/// The detail that distinguishes one of its class: a RAID's level, a cache's state, the bus of a disk.
fn detail(root: &HostRoot, number: &str, class: DeviceClass) -> Option<String> {
    let folder = folder(number);
    let text = |part: &str| {
        let text = root.read(&format!("{folder}/{part}")).ok()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    match class {
        DeviceClass::Raid => {
            let disks = text("md/raid_disks").map(|count| format!("{count} disks"));
            let degraded = text("md/degraded").filter(|count| count != "0");
            let degraded = degraded.map(|count| format!("{count} of them missing"));
            // `resync` is what every array without a journal or bitmap does.
            let policy =
                text("md/consistency_policy").filter(|policy| policy != "none" && policy != "resync");
            let parts = [text("md/level"), disks, degraded, policy];
            parts.into_iter().flatten().reduce(|all, part| format!("{all}, {part}"))
        }
        DeviceClass::Bcache => text("bcache/state").map(|state| match state.as_str() {
            "no cache" => "no cache attached".to_owned(),
            state => state.to_owned(),
        }),
        DeviceClass::Nvme => text("device/transport").map(|transport| format!("over {transport}")),
        DeviceClass::Scsi => {
            // The folder is a link along the path of buses to the device.
            let path = root.link(&folder)?;
            let buses =
                [("/usb", "USB"), ("/session", "iSCSI"), ("/ata", "SATA"), ("/rport-", "Fibre Channel")];
            buses.iter().find(|(sign, _)| path.contains(sign)).map(|(_, bus)| (*bus).to_owned())
        }
        _ => None,
    }
}

/// `writethrough [writeback] writearound none`, of a device that has it as its own or as what lies behind a bcache.
fn bcache_mode(root: &HostRoot, folder: &str) -> Option<String> {
    let is_bcache =
        root.read(&format!("{folder}/uevent")).ok()?.lines().any(|l| l.starts_with("DEVNAME=bcache"));
    let modes = root.read(&format!("{folder}/bcache/cache_mode")).ok().filter(|_| is_bcache)?;
    Some(chosen(modes.trim()).to_owned())
}

/// The cache mode that a SCSI disk reports of itself.
fn scsi_cache(root: &HostRoot, disk: &str) -> Option<String> {
    let folder = format!("{disk}/device/scsi_disk");
    let address = root.list(&folder).ok()?.into_iter().next()?;
    Some(root.read(&format!("{folder}/{address}/cache_type")).ok()?.trim().to_owned())
}

/// The devices right below one.
fn below(
    root: &HostRoot,
    number: &str,
    class: DeviceClass,
    roles: &[KnownRole],
) -> Vec<(String, Option<DeviceRole>)> {
    let folder = folder(number);
    let number_in = |path: String| root.read(&path).ok().map(|text| text.trim().to_owned());
    if class == DeviceClass::Partition {
        // The folder is a link into the disk's, so its parent is the disk.
        return number_in(format!("{folder}/../dev")).map(|number| (number, None)).into_iter().collect();
    }
    let slaves = root.list(&format!("{folder}/slaves")).unwrap_or_default();
    let with_role = |name: &String| {
        let number = number_in(format!("{folder}/slaves/{name}/dev"))?;
        let known = roles.iter().find(|known| known.number == number).map(|known| known.role);
        let role = known.or_else(|| role_by_files(root, &folder, name, class));
        Some((number, role))
    };
    slaves.iter().filter_map(with_role).collect()
}

/// The purpose of a device by the files of bcache and md.
fn role_by_files(root: &HostRoot, folder: &str, name: &str, class: DeviceClass) -> Option<DeviceRole> {
    let has = |file: &str| root.exists(&format!("{folder}/slaves/{name}/{file}"));
    match class {
        DeviceClass::Bcache if has("bcache/cache_replacement_policy") => Some(DeviceRole::Cache),
        DeviceClass::Bcache if has("bcache/cache_mode") => Some(DeviceRole::Origin),
        DeviceClass::Raid => {
            let state = root.read(&format!("{folder}/md/dev-{name}/state")).ok()?;
            let is = |word: &str| state.trim().split(',').any(|known| known == word);
            match () {
                () if is("journal") => Some(DeviceRole::Log),
                () if is("spare") => Some(DeviceRole::Spare),
                () => None,
            }
        }
        _ => None,
    }
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
