//! Memory, swap, huge pages and the limits of dirty pages.

use plumb_model::facts::{DirtyLimits, Fact};

use super::cgroup;
use crate::{HostRoot, ObserveError};

const MEMINFO: &str = "/proc/meminfo";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn total(root: &HostRoot) -> Fact<u64> {
    root.fact(MEMINFO, "MemTotal in kB", |text| meminfo_bytes(text, "MemTotal"))
}

pub(super) fn available(root: &HostRoot) -> Fact<u64> {
    root.fact(MEMINFO, "MemAvailable in kB", |text| meminfo_bytes(text, "MemAvailable"))
}

/// Memory that programs started now may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeMemory {
    /// Without pushing anything into swap; most of the page cache counts as free.
    pub bytes: u64,
    /// True if it is a control group that leaves no more, and not the machine.
    pub by_control_group: bool,
}

/// Memory that programs started now may have: of the machine, or of this process's control group, if that leaves less. None
/// where the machine does not say.
pub fn free_memory(root: &HostRoot) -> Option<FreeMemory> {
    let machine = *available(root).value()?;
    Some(match cgroup::memory_left(root).filter(|left| *left < machine) {
        Some(bytes) => FreeMemory { bytes, by_control_group: true },
        None => FreeMemory { bytes: machine, by_control_group: false },
    })
}

/// Memory that nothing uses, the page cache neither. None where the machine does not say.
pub fn unused_memory_bytes(root: &HostRoot) -> Option<u64> {
    root.parsed(MEMINFO, "MemFree in kB", |text| meminfo_bytes(text, "MemFree")).ok()
}

pub(super) fn swap_total(root: &HostRoot) -> Fact<u64> {
    root.fact(MEMINFO, "SwapTotal in kB", |text| meminfo_bytes(text, "SwapTotal"))
}

pub(super) fn swap_used(root: &HostRoot) -> Fact<u64> {
    root.fact(MEMINFO, "SwapTotal and SwapFree in kB", |text| {
        meminfo_bytes(text, "SwapTotal")?.checked_sub(meminfo_bytes(text, "SwapFree")?)
    })
}

/// `MemTotal:       24684096 kB`, in bytes.
pub(crate) fn meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The choice in brackets: `always [madvise] never`.
pub(super) fn transparent_huge_pages(root: &HostRoot) -> Fact<String> {
    root.fact(HUGE_PAGES, "a choice in brackets", |text| {
        let (_, rest) = text.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    })
}

pub(super) fn dirty_limits(root: &HostRoot) -> Fact<DirtyLimits> {
    match read_dirty_limits(root) {
        Ok(limits) => Fact::known(limits, "/proc/sys/vm/dirty_*"),
        Err(error) => Fact::unknown(error.reason()),
    }
}

fn read_dirty_limits(root: &HostRoot) -> Result<DirtyLimits, ObserveError> {
    let number = |name: &str| {
        root.parsed(&format!("/proc/sys/vm/{name}"), "a number", |text| text.trim().parse::<u64>().ok())
    };
    Ok(DirtyLimits {
        background_ratio_percent: number("dirty_background_ratio")?,
        background_bytes: number("dirty_background_bytes")?,
        ratio_percent: number("dirty_ratio")?,
        bytes: number("dirty_bytes")?,
        expire_centisecs: number("dirty_expire_centisecs")?,
        writeback_centisecs: number("dirty_writeback_centisecs")?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A host with 8 GiB free and this control group of version 2.
    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, HostRoot) {
        let place = tempfile::tempdir().unwrap();
        let common = [
            ("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"),
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"),
        ];
        for (path, text) in common.iter().chain(files) {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = HostRoot::new(place.path());
        (place, root)
    }

    #[test]
    fn what_is_free_is_what_the_machine_has_or_the_control_group_leaves() {
        let (_place, root) = host(&[("sys/fs/cgroup/a/memory.max", "max\n")]);
        assert_eq!(free_memory(&root), Some(FreeMemory { bytes: 8 << 30, by_control_group: false }));
        let (_place, root) = host(&[
            ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/a/memory.current", "805306368\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 268435456\nactive_file 7\n"),
        ]);
        assert_eq!(free_memory(&root), Some(FreeMemory { bytes: 512 << 20, by_control_group: true }));
    }

    #[test]
    fn a_host_that_does_not_say_what_is_free_has_no_figure() {
        assert_eq!(free_memory(&HostRoot::new("/nowhere")), None);
    }

    #[test]
    fn a_key_that_begins_like_another_is_not_taken_for_it() {
        assert_eq!(meminfo_bytes("WritebackTmp:  8 kB\nWriteback:  4 kB\n", "Writeback"), Some(4096));
        assert_eq!(meminfo_bytes("Dirty: 99999999999999999999 kB", "Dirty"), None);
        assert_eq!(meminfo_bytes("Dirty: 18446744073709551615 kB", "Dirty"), None);
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)(Dirty:? *[0-9]{0,25} ?k?B?)?.{0,80}") {
            let _ = meminfo_bytes(&text, "Dirty");
        }
    }
}
