//! The file systems that data is on: those of the log directories of the processes that the host is for, else all on disks.

use super::Context;
use std::path::Path;

/// Descriptors that are looked at, at most (ours): a broker opens its locks before its logs, at low numbers.
const DESCRIPTORS_MAX: usize = 20_000;
const KINDS: [&str; 6] = ["xfs", "ext4", "ext3", "btrfs", "f2fs", "zfs"];

/// A file system where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) point: String,
    pub(super) kind: String,
    pub(super) source: String,
    /// Of this place, such as `noatime`.
    pub(super) options: Vec<String>,
    /// Of the file system wherever it is mounted, such as `discard`.
    pub(super) of_all_places: Vec<String>,
}

impl Mount {
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|had| had == option)
    }

    /// True if it tells its disk at once what is free: `discard`, or `discard=async` as btrfs has it.
    pub(super) fn discards(&self) -> bool {
        let all = self.options.iter().chain(&self.of_all_places);
        all.into_iter().any(|had| had == "discard" || had.starts_with("discard="))
    }

    /// True if it is on this disk, or on a partition of it.
    pub(super) fn is_on(&self, disk: &str) -> bool {
        let Some(rest) = self.source.strip_prefix("/dev/").and_then(|source| source.strip_prefix(disk))
        else {
            return false;
        };
        let number =
            if disk.ends_with(|c: char| c.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
        rest.is_empty() || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// The file systems that data is on, each once.
pub(super) fn data_mounts(context: &Context<'_>) -> Vec<Mount> {
    let mut found: Vec<Mount> = Vec::new();
    for process in context.processes {
        let mounts = mounts(context, &process.to_string());
        for directory in log_directories(context, *process) {
            let of_it = mounts.iter().filter(|mount| Path::new(&directory).starts_with(&mount.point));
            found.extend(of_it.max_by_key(|mount| mount.point.len()).cloned());
        }
    }
    if found.is_empty() {
        found = mounts(context, "self");
        found.retain(|mount| {
            KINDS.contains(&mount.kind.as_str())
                && (mount.source.starts_with("/dev/") || mount.kind == "zfs")
                && !Path::new(&mount.point).starts_with("/boot")
        });
    }
    // One file system may be mounted at several places.
    found.sort_by(|one, other| (&one.source, &one.point).cmp(&(&other.source, &other.point)));
    found.dedup_by(|one, other| one.source == other.source);
    found
}

/// Apache Kafka keeps `.lock` of each log directory open as long as it runs, Redpanda `pid.lock` of its data directory.
fn log_directories(context: &Context<'_>, process: u32) -> Vec<String> {
    let folder = format!("/proc/{process}/fd");
    let mut descriptors: Vec<u32> = context
        .host
        .root()
        .list(&folder)
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    descriptors.sort_unstable();
    let directory = |descriptor: u32| {
        let target = context.host.root().link(&format!("{folder}/{descriptor}"))?;
        let (directory, name) = target.rsplit_once('/')?;
        [".lock", "pid.lock"].contains(&name).then(|| directory.to_owned())
    };
    descriptors.into_iter().take(DESCRIPTORS_MAX).filter_map(directory).collect()
}

/// `36 35 8:1 / /data rw,noatime shared:1 - xfs /dev/sda1 rw,attr2`, as a process sees them. Of two at one place the later hides the other.
fn mounts(context: &Context<'_>, process: &str) -> Vec<Mount> {
    let text = context.host.root().read(&format!("/proc/{process}/mountinfo")).unwrap_or_default();
    let mut found: Vec<Mount> = Vec::new();
    for line in text.lines() {
        let Some((here, there)) = line.split_once(" - ") else { continue };
        let here: Vec<&str> = here.split(' ').collect();
        let there: Vec<&str> = there.split(' ').collect();
        if let ([_, _, _, _, point, options, ..], [kind, source, rest @ ..]) = (&here[..], &there[..]) {
            let mount = Mount {
                point: point.replace("\\040", " "),
                kind: (*kind).to_owned(),
                source: (*source).to_owned(),
                options: options.split(',').map(str::to_owned).collect(),
                of_all_places: rest.iter().flat_map(|words| words.split(',')).map(str::to_owned).collect(),
            };
            found.retain(|other| other.point != mount.point);
            found.push(mount);
        }
    }
    found
}
