//! The devices below a file system, and the one that it keeps its journal on.

use std::collections::BTreeMap;

use super::device;
use super::mount::Mount;
use crate::HostRoot;

const BTRFS: &str = "/sys/fs/btrfs";

/// Numbers of the devices right under a file system. One that spans several has a number of its own that is no
/// device's.
pub(super) fn device_numbers(root: &HostRoot, mount: &Mount<'_>) -> Vec<String> {
    if root.exists(&device::folder(mount.number)) {
        return vec![mount.number.to_owned()];
    }
    // bcachefs names all of its devices: `/dev/sda:/dev/sdb`.
    let nodes = mount.source.split(':').filter(|_| mount.source.starts_with("/dev/"));
    let numbers: Vec<String> = nodes.filter_map(|node| device::number_of_node(root, node)).collect();
    if mount.fs_type == "btrfs"
        && let Some(folder) = btrfs_folder(root, mount.source)
    {
        return btrfs_devices(root, &folder);
    }
    numbers
}

/// The folder of the btrfs file system that has this device.
fn btrfs_folder(root: &HostRoot, source: &str) -> Option<String> {
    let number = device::number_of_node(root, source)?;
    let folders = root.list(BTRFS).ok()?.into_iter().map(|name| format!("{BTRFS}/{name}"));
    folders.into_iter().find(|folder| btrfs_devices(root, folder).contains(&number))
}

fn btrfs_devices(root: &HostRoot, folder: &str) -> Vec<String> {
    let names = root.list(&format!("{folder}/devices")).unwrap_or_default();
    let number =
        |name: &String| Some(root.read(&format!("{folder}/devices/{name}/dev")).ok()?.trim().to_owned());
    names.iter().filter_map(number).collect()
}

/// The profiles by which btrfs keeps data and metadata: `single`, `dup`, `raid1` ...
pub(super) fn btrfs_profiles(root: &HostRoot, source: &str) -> BTreeMap<String, String> {
    let Some(folder) = btrfs_folder(root, source) else { return BTreeMap::new() };
    let profile = |kind: &str| {
        let path = format!("{folder}/allocation/{kind}");
        // Beside files with figures there is a folder for each profile that is in use.
        let names = root.list(&path).ok()?;
        let names: Vec<String> =
            names.into_iter().filter(|name| root.exists(&format!("{path}/{name}/total_bytes"))).collect();
        (!names.is_empty()).then(|| (kind.to_owned(), names.join("+")))
    };
    ["data", "metadata"].into_iter().filter_map(profile).collect()
}

/// The device of its own on which a file system keeps its journal.
pub(super) fn log_device(root: &HostRoot, mount: &Mount<'_>) -> Option<String> {
    match mount.fs_type {
        "xfs" => device::number_of_node(root, mount.option("logdev")?),
        "ext4" | "ext3" => {
            let own = device::name(root, &device::folder(mount.number))?;
            let task = root.read(&format!("/sys/fs/ext4/{own}/journal_task")).ok()?;
            let thread = root.read(&format!("/proc/{}/comm", task.trim())).ok()?;
            // The thread is called `jbd2/sda1-8` by device and inode, or `jbd2/sdb1` by the journal's own device.
            let journal = thread.trim().strip_prefix("jbd2/")?;
            let elsewhere = !journal.contains('-') && journal != own;
            elsewhere.then(|| device::number_of_node(root, &format!("/dev/{journal}"))).flatten()
        }
        _ => None,
    }
}
