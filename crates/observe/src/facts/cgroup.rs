//! Limits that the control group sets on processor time, memory, processes and devices, for versions 1 and 2.
//!
//! A group is held by every group above it too, so the smallest limit on the way up to the mount point counts. In a
//! container the groups above are out of sight, and the path that the kernel prints may be the host's, which does not
//! exist here; the mount point itself is then the container's own group.

mod io;
mod memory;

use plumb_model::facts::{Fact, Limit};

use crate::HostRoot;
pub(crate) use io::device_limits;
pub(super) use io::limits as io_limits;
pub(super) use memory::left as memory_left;

const MEMBERSHIP: &str = "/proc/self/cgroup";
const MOUNTS: &str = "/proc/self/mounts";

/// Version 1 prints "no limit" as the largest whole number of pages; pages are at most 64 KiB.
const MEMORY_UNLIMITED_BYTES: u64 = i64::MAX as u64 - 0xffff;

pub(super) fn cpu_limit(root: &HostRoot) -> Fact<Limit<f64>> {
    let read = |folder: &Folder, path: &str| match folder.version {
        1 => {
            let quota = root.read(&format!("{path}/cpu.cfs_quota_us")).ok()?;
            let period = root.read(&format!("{path}/cpu.cfs_period_us")).ok()?;
            parse_quota(&format!("{} {}", quota.trim().replace("-1", "max"), period.trim()))
        }
        _ => parse_quota(&root.read(&format!("{path}/cpu.max")).ok()?),
    };
    smallest(root, "cpu", read)
}

pub(super) fn memory_limit(root: &HostRoot) -> Fact<Limit<u64>> {
    let file = |folder: &Folder| if folder.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
    smallest(root, "memory", |folder, path| {
        parse_amount(&root.read(&format!("{path}/{}", file(folder))).ok()?)
    })
}

pub(super) fn pids_limit(root: &HostRoot) -> Fact<Limit<u64>> {
    smallest(root, "pids", |_, path| parse_amount(&root.read(&format!("{path}/pids.max")).ok()?))
}

/// `max 100000` or `250000 100000`: microseconds of processor time in each period of so many.
pub(crate) fn parse_quota(text: &str) -> Option<Limit<f64>> {
    let (quota, period) = text.trim().split_once(' ')?;
    if quota == "max" {
        return Some(Limit::Unlimited);
    }
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.trim().parse().ok()?);
    (period > 0).then(|| Limit::At(quota as f64 / period as f64))
}

/// `max` or a number.
fn parse_amount(text: &str) -> Option<Limit<u64>> {
    match text.trim() {
        "max" => Some(Limit::Unlimited),
        bytes => match bytes.parse().ok()? {
            MEMORY_UNLIMITED_BYTES.. => Some(Limit::Unlimited),
            bytes => Some(Limit::At(bytes)),
        },
    }
}

/// The group of this process for one controller.
#[derive(Debug, PartialEq)]
struct Folder {
    version: u8,
    mount: String,
    path: String,
}

/// The group's folder for a controller, and the paths of it and of those above it.
fn folders(root: &HostRoot, controller: &str) -> Result<(Folder, Vec<String>), String> {
    let membership = root.read(MEMBERSHIP).map_err(|error| error.reason())?;
    let mounts = root.read(MOUNTS).map_err(|error| error.reason())?;
    let folder = locate(&membership, &mounts, controller)
        .ok_or_else(|| format!("no {controller} controller in {MEMBERSHIP} and {MOUNTS}"))?;
    let mut paths = Vec::new();
    let mut path = folder.path.trim_end_matches('/');
    loop {
        paths.push(format!("{}{path}", folder.mount));
        match path.rfind('/') {
            Some(end) => path = &path[..end],
            None => break,
        }
    }
    Ok((folder, paths))
}

/// The smallest limit between the process's group and the mount point.
fn smallest<T: PartialOrd>(
    root: &HostRoot,
    controller: &str,
    read: impl Fn(&Folder, &str) -> Option<Limit<T>>,
) -> Fact<Limit<T>> {
    let (folder, paths) = match folders(root, controller) {
        Ok(found) => found,
        Err(reason) => return Fact::unknown(reason),
    };
    let limits = paths.iter().filter_map(|path| read(&folder, path));
    let found = limits.fold(None, |found, limit| Some(tighter(found, limit)));
    let source = format!("{} (control groups version {})", folder.mount, folder.version);
    match found {
        Some(limit) => Fact::known(limit, source),
        // The top group of version 2 has no limit files, because nothing can limit it; in version 1 it has one for each
        // resource but the number of processes.
        None if folder.path == "/" && (folder.version == 2 || controller == "pids") => {
            Fact::known(Limit::Unlimited, source)
        }
        None => Fact::unknown(format!("{}: no {controller} limit to be read", folder.mount)),
    }
}

fn tighter<T: PartialOrd>(found: Option<Limit<T>>, limit: Limit<T>) -> Limit<T> {
    match (found, limit) {
        (Some(Limit::At(a)), Limit::At(b)) => Limit::At(if b < a { b } else { a }),
        (Some(Limit::At(a)), Limit::Unlimited) => Limit::At(a),
        (_, limit) => limit,
    }
}

/// A controller is in version 1 when the membership names it, else in version 2.
fn locate(membership: &str, mounts: &str, controller: &str) -> Option<Folder> {
    let in_list = |list: &str| list.split(',').any(|name| name == controller);
    let (version, path) = groups(membership)
        .find(|(controllers, _)| in_list(controllers))
        .map(|(_, path)| (1, path))
        .or_else(|| groups(membership).find(|(list, _)| list.is_empty()).map(|(_, path)| (2, path)))?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (point, kind, options) = (words.next()?, words.next()?, words.next()?);
        let fits = if version == 1 { kind == "cgroup" && in_list(options) } else { kind == "cgroup2" };
        fits.then_some(point)
    })?;
    // A path that begins with /.. is outside of what this namespace may see.
    let path = if path.starts_with("/..") { "/" } else { path };
    Some(Folder { version, mount: mount.to_owned(), path: path.to_owned() })
}

/// Controllers and path of each line: `4:memory:/user.slice`, `0::/user.slice`.
fn groups(membership: &str) -> impl Iterator<Item = (&str, &str)> {
    membership.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_controller_of_version_one_is_found_before_version_two() {
        let membership = "4:cpu,cpuacct:/a\n0::/b\n";
        let mounts = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let cpu = locate(membership, mounts, "cpu").unwrap();
        assert_eq!((cpu.version, &*cpu.mount, &*cpu.path), (1, "/sys/fs/cgroup/cpu,cpuacct", "/a"));
        let memory = locate(membership, mounts, "memory").unwrap();
        assert_eq!((memory.version, &*memory.mount, &*memory.path), (2, "/sys/fs/cgroup/unified", "/b"));
    }

    #[test]
    fn the_largest_number_of_pages_is_no_limit() {
        assert_eq!(parse_amount("9223372036854771712\n"), Some(Limit::Unlimited));
        assert_eq!(parse_amount("9223372036854710272"), Some(Limit::Unlimited));
        assert_eq!(parse_amount("1073741824"), Some(Limit::At(1 << 30)));
    }

    #[test]
    fn a_quota_is_a_number_of_processors() {
        assert_eq!(parse_quota("250000 100000\n"), Some(Limit::At(2.5)));
        assert_eq!(parse_quota("max 100000"), Some(Limit::Unlimited));
        assert_eq!(parse_quota("1 0"), None);
    }

    proptest! {
        #[test]
        fn parsers_never_panic(text in "(?s)[0-9:/ ,a-z]{0,40}.{0,40}", other in "(?s)(cgroup2? /[a-z/]* cgroup2? [a-z,]* 0 0\n){0,3}.{0,40}") {
            let _ = parse_quota(&text);
            let _ = parse_amount(&text);
            let _ = locate(&text, &other, "cpu");
        }
    }
}
