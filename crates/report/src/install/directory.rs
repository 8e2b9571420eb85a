//! The log directory that won: a script that makes one like it from empty devices, and the broker's line.
//!
//! Made from what was seen behind the directory. Whoever runs the script names the devices, as those of another host have other
//! names. It only says what it would do until it is told `--yes`, and refuses a device on which anything is found.

use super::settings::directories;
use super::{Handed, InstallFile, comment, quoted};
use plumb_model::change::{Change, Owner};
use plumb_model::facts::{Device, DeviceClass, FileSystem, Layer, LogDirectory, NamespaceMode, Storage};

/// Mount options that a file system was given for a reason; others are the kernel's own.
const OPTIONS: [&str; 11] = [
    "noatime",
    "nodiratime",
    "lazytime",
    "dax",
    "dax=always",
    "dax=inode",
    "discard",
    "data=journal",
    "data=ordered",
    "largeio",
    "swalloc",
];

/// File systems that the script can make.
const FILE_SYSTEMS: [&str; 2] = ["ext4", "xfs"];

/// Properties of ZFS that matter to a log.
const ZFS: [&str; 5] = ["logbias", "recordsize", "compression", "atime", "primarycache"];

pub(super) fn files(handed: &Handed, settings: &[Change]) -> Vec<InstallFile> {
    let Some(change) = settings.iter().find(|change| change.target.owner == Owner::LogDirectory) else {
        return Vec::new();
    };
    let mut text =
        comment("Where the directories are on the broker's host; the ones that won were at the paths below.");
    text.push_str(&comment(&format!("was {}:", change.before.as_deref().unwrap_or("not set"))));
    text.push_str(&comment(
        "Partitions that are there already stay where they are: move them with kafka-reassign-partitions.sh (log_dirs).",
    ));
    text.push_str(&format!("log.dirs={}\n", change.after.as_deref().unwrap_or_default()));
    let mut files = vec![InstallFile::plain("log-directory/server.properties", text)];
    for directory in directories(handed, &handed.won) {
        let name = format!("log-directory/prepare-{}.sh", file_name(&directory.name));
        files.push(match script(directory) {
            Ok(text) => InstallFile::script(&name, text),
            Err(reason) => InstallFile::plain(
                &format!("log-directory/{}.txt", file_name(&directory.name)),
                format!("{reason}\n\n{}", layers(&directory.storage)),
            ),
        });
    }
    files
}

fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

/// The layers that were seen, a line each.
fn layers(storage: &Storage) -> String {
    let lines = storage.layers.iter().map(|layer| {
        let indent = "  ".repeat(layer.depth as usize);
        format!("{indent}{}: {} {}\n", layer.layer.kind(), layer.layer.name(), layer.layer.detail())
    });
    lines.collect()
}

/// The layer under the file system, as far as the script has to make it.
enum Under<'s> {
    Memory { mode: NamespaceMode },
    Disk,
    Bcache { mode: String },
    LvmCache { kind: &'static str, mode: String },
    Zfs { log: bool, file_system: &'s FileSystem },
}

fn script(directory: &LogDirectory) -> Result<String, String> {
    let storage = &directory.storage;
    let file_system = storage
        .file_system()
        .ok_or("What is behind the directory could not be followed, so nothing can be made like it.")?;
    let under = under(storage, file_system)?;
    let zfs = matches!(under, Under::Zfs { .. });
    if !zfs && !FILE_SYSTEMS.contains(&file_system.fs_type.as_str()) {
        return Err(format!(
            "The script makes ext4, xfs and ZFS; this is {}. Make it by hand, as seen here:",
            file_system.fs_type
        ));
    }
    let (usage, names) = match &under {
        Under::Memory { .. } => ("REGION", vec!["region"]),
        Under::Disk => ("DEVICE", vec!["device"]),
        Under::Bcache { .. } | Under::LvmCache { .. } => ("DISK CACHE", vec!["disk", "cache"]),
        Under::Zfs { log: true, .. } => ("DISK LOG", vec!["disk", "log"]),
        Under::Zfs { log: false, .. } => ("DISK", vec!["disk"]),
    };
    let mut text = String::from("#!/usr/bin/env bash\n");
    text.push_str(&comment(&format!(
        "Makes a log directory like {:?}, which won. What was behind it:",
        directory.name
    )));
    text.push_str(&comment(&layers(storage)));
    text.push_str(&format!("# Usage: prepare.sh [--yes] {usage} DIRECTORY\n"));
    text.push_str(HEAD);
    let assigned: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("{name}=${}", at + 1)).collect();
    text.push_str(&format!(
        "[ $# -eq {} ] || {{ echo \"usage: $0 [--yes] {usage} DIRECTORY\" >&2; exit 2; }}\n{} directory=${}\n{FREE}",
        names.len() + 1,
        assigned.join(" "),
        names.len() + 1,
    ));
    text.push_str(&match under {
        Under::Memory { mode } => memory(mode, file_system),
        Under::Disk => format!("is_free \"$device\"\n{}", made_and_mounted(file_system)),
        Under::Bcache { mode } => format!("{}{}", bcache(&mode), made_and_mounted(file_system)),
        Under::LvmCache { kind, mode } => format!("{}{}", lvm(kind, &mode), made_and_mounted(file_system)),
        Under::Zfs { log, file_system } => zfs_pool(log, file_system),
    });
    text.push_str(TAIL);
    Ok(text)
}

fn under<'s>(storage: &'s Storage, file_system: &'s FileSystem) -> Result<Under<'s>, String> {
    let below: Vec<&Layer> =
        storage.layers.iter().filter(|layer| layer.depth == 1).map(|layer| &layer.layer).collect();
    let [top] = below[..] else {
        return Err("More than one device lies right under the file system. Make it by hand, as seen here:"
            .to_owned());
    };
    let device = match top {
        Layer::Pool(pool) => {
            return Ok(Under::Zfs { log: pool.log_devices.is_some_and(|n| n > 0), file_system });
        }
        Layer::Device(device) => device,
        Layer::FileSystem(_) => {
            return Err("It lies on another file system. Make it by hand, as seen here:".to_owned());
        }
    };
    let mode = device.cache_mode.clone().unwrap_or_else(|| "writeback".to_owned());
    match device.class {
        DeviceClass::PersistentMemory => Ok(Under::Memory { mode: namespace_mode(device) }),
        DeviceClass::Bcache => Ok(Under::Bcache { mode }),
        DeviceClass::DmCache => Ok(Under::LvmCache { kind: "cache", mode }),
        DeviceClass::DmWritecache => Ok(Under::LvmCache { kind: "writecache", mode }),
        DeviceClass::Nvme
        | DeviceClass::Virtio
        | DeviceClass::Scsi
        | DeviceClass::Mmc
        | DeviceClass::Partition
        | DeviceClass::Loop => Ok(Under::Disk),
        class => Err(format!(
            "The script makes directories on disks, persistent memory, bcache, LVM caches and ZFS; this lies on {}. Make it by hand, as \
             seen here:",
            class.as_str().replace('_', " ")
        )),
    }
}

fn namespace_mode(device: &Device) -> NamespaceMode {
    device.persistent_memory.as_ref().and_then(|memory| memory.mode).unwrap_or(NamespaceMode::Fsdax)
}

fn memory(mode: NamespaceMode, file_system: &FileSystem) -> String {
    format!(
        "# The modules have to be in App Direct mode. That is a goal for the next boot, which removes what is in them:\n\
         #   ipmctl create -goal PersistentMemoryType=AppDirect\n\
         # Regions: ndctl list --regions\n\
         [ -d \"/sys/bus/nd/devices/$region\" ] || fail \"$region is no region of persistent memory (ndctl list --regions)\"\n\
         [ \"$(cat \"/sys/bus/nd/devices/$region/available_size\")\" -gt 0 ] || fail \"$region has no room for a namespace\"\n\
         if [ \"$yes\" = yes ]; then\n  \
         device=/dev/$(ndctl create-namespace --mode={mode} --region=\"$region\" | sed -n 's/.*\"blockdev\":\"\\([^\"]*\\)\".*/\\1/p')\n  \
         is_free \"$device\"\n\
         else\n  device=/dev/pmemN\n  echo \"+ ndctl create-namespace --mode={mode} --region=$region\"\nfi\n{}",
        made_and_mounted(file_system),
        mode = mode.as_str(),
    )
}

fn bcache(mode: &str) -> String {
    format!(
        "need make-bcache bcache-tools\nis_free \"$disk\"\nis_free \"$cache\"\nrun make-bcache -B \"$disk\" -C \"$cache\" --writeback\n\
         device=/dev/bcache0\n\
         if [ \"$yes\" = yes ]; then\n  \
         for made in /sys/block/bcache*/; do\n    \
         if [ -e \"${{made}}slaves/$(basename \"$(readlink -f \"$disk\")\")\" ]; then device=/dev/$(basename \"$made\"); fi\n  done\n\
         fi\n\
         run sh -c \"echo {mode} > /sys/block/$(basename \"$device\")/bcache/cache_mode\"\n",
        mode = quoted(mode),
    )
}

fn lvm(kind: &str, mode: &str) -> String {
    let mode = if kind == "cache" { format!(" --cachemode {}", quoted(mode)) } else { String::new() };
    format!(
        "need lvconvert lvm2\nis_free \"$disk\"\nis_free \"$cache\"\nrun pvcreate \"$disk\" \"$cache\"\nrun vgcreate kafka \"$disk\" \"$cache\"\n\
         run lvcreate --name log --extents 100%PVS kafka \"$disk\"\nrun lvcreate --name fast --extents 95%PVS kafka \"$cache\"\n\
         run lvconvert --yes --type {kind} --cachevol fast{mode} kafka/log\ndevice=/dev/kafka/log\n"
    )
}

fn zfs_pool(log: bool, file_system: &FileSystem) -> String {
    let mut text = String::from("need zpool zfsutils-linux\nis_free \"$disk\"\n");
    let with_log = if log {
        text.push_str("is_free \"$log\"\n");
        " log \"$log\""
    } else {
        ""
    };
    text.push_str(&format!("run zpool create -m \"$directory\" kafka \"$disk\"{with_log}\n"));
    for name in ZFS {
        if let Some(value) = file_system.properties.get(name) {
            text.push_str(&format!("run zfs set {}={} kafka\n", name, quoted(value)));
        }
    }
    text
}

fn made_and_mounted(file_system: &FileSystem) -> String {
    let kept: Vec<&str> =
        file_system.options.iter().map(String::as_str).filter(|option| OPTIONS.contains(option)).collect();
    let options = if kept.is_empty() { "defaults".to_owned() } else { kept.join(",") };
    // A reflink and a direct mapping exclude each other in xfs.
    let reflink = if file_system.fs_type == "xfs" && file_system.dax { " -m reflink=0" } else { "" };
    format!(
        "need mkfs.{kind} {package}\nrun mkfs.{kind}{reflink} \"$device\"\nrun mkdir -p \"$directory\"\nrun mount -t {kind} -o {options} \"$device\" \"$directory\"\n\
         if [ \"$yes\" = yes ]; then\n  echo \"add to /etc/fstab: UUID=$(blkid -s UUID -o value \"$device\") $directory {kind} {options} 0 2\"\nfi\n\
         echo \"undo: umount $directory, and take its line out of /etc/fstab\"\n",
        kind = file_system.fs_type,
        package = if file_system.fs_type == "xfs" { "xfsprogs" } else { "e2fsprogs" },
    )
}

const HEAD: &str = r#"# Without --yes it only says what it would do. A device on which anything is found is refused.
set -euo pipefail
yes=no
if [ "${1:-}" = --yes ]; then yes=yes; shift; fi
"#;

const FREE: &str = r#"fail() { echo "refused: $*" >&2; exit 1; }
need() { command -v "$1" > /dev/null || fail "$1 is not here: install $2"; }
run() { echo "+ $*"; if [ "$yes" = yes ]; then "$@"; fi; }
is_free() {
  [ -b "$1" ] || fail "$1 is no block device"
  [ "$(lsblk --noheadings --list --output NAME "$1" | wc -l)" -eq 1 ] || fail "$1 has partitions, or is part of another device"
  [ -z "$(lsblk --noheadings --output MOUNTPOINT "$1" | tr -d '[:space:]')" ] || fail "$1 is mounted"
  found=$(wipefs --no-act --noheadings "$1") || fail "$1 cannot be read: are you root?"
  [ -z "$found" ] || fail "$1 holds something already: $found"
}
if [ -e "$directory" ]; then
  [ -d "$directory" ] || fail "$directory is no directory"
  [ -z "$(ls -A "$directory")" ] || fail "$directory is not empty"
  ! mountpoint --quiet "$directory" || fail "$directory is a mount point already"
fi
"#;

const TAIL: &str = r#"[ "$yes" = yes ] || echo "nothing was done: with --yes it is"
"#;

#[cfg(test)]
mod tests;
