//! Memory, swap, huge pages and the limits of dirty pages.

use plumb_model::facts::{DirtyLimits, Fact};

use crate::{HostRoot, ObserveError};

const MEMINFO: &str = "/proc/meminfo";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn total(root: &HostRoot) -> Fact<u64> {
    root.fact(MEMINFO, "MemTotal in kB", |text| meminfo_bytes(text, "MemTotal"))
}

pub(super) fn available(root: &HostRoot) -> Fact<u64> {
    root.fact(MEMINFO, "MemAvailable in kB", |text| meminfo_bytes(text, "MemAvailable"))
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
