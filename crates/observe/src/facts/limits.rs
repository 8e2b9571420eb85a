//! Limits of this process, and settings of the kernel that ingestion meets.

use std::collections::BTreeMap;

use plumb_model::facts::{Fact, Limit, ProcessLimits, SoftHard};

use crate::HostRoot;

/// Memory maps (Kafka has two for each segment), files, asynchronous I/O, connections, buffers, swapping.
const SETTINGS: [&str; 18] = [
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.sched_rt_runtime_us",
    "kernel.threads-max",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "vm.max_map_count",
    "vm.overcommit_memory",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

pub(super) fn process(root: &HostRoot) -> Fact<ProcessLimits> {
    root.fact("/proc/self/limits", "limits of open files, memory, processes and files", |text| {
        Some(ProcessLimits {
            open_files: limit(text, "Max open files")?,
            locked_memory_bytes: limit(text, "Max locked memory")?,
            processes: limit(text, "Max processes")?,
            file_size_bytes: limit(text, "Max file size")?,
        })
    })
}

/// `Max open files            1024                 524288               files`
fn limit(text: &str, name: &str) -> Option<SoftHard> {
    let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace();
    let mut one = || match words.next()? {
        "unlimited" => Some(Limit::Unlimited),
        number => number.parse().ok().map(Limit::At),
    };
    Some(SoftHard { soft: one()?, hard: one()? })
}

/// The settings that this kernel has.
pub(super) fn settings(root: &HostRoot) -> Fact<BTreeMap<String, String>> {
    let value = |name: &str| {
        let text = root.read(&format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
        Some((name.to_owned(), text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
    };
    let found: BTreeMap<String, String> = SETTINGS.into_iter().filter_map(value).collect();
    match found.is_empty() {
        true => Fact::unknown("none of the settings is in /proc/sys"),
        false => Fact::known(found, "/proc/sys"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_with_how_far_it_may_be_raised() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max locked memory         8388608              unlimited            bytes     \n";
        let expected = SoftHard { soft: Limit::At(8_388_608), hard: Limit::Unlimited };
        assert_eq!(limit(text, "Max locked memory"), Some(expected));
        assert_eq!(limit(text, "Max open files"), None);
    }
}
