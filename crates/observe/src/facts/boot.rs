//! The options that the kernel got at boot.
//!
//! The command line may hold passwords, addresses and names of volumes. So only options that are on a list are shown
//! (kernel documentation, admin-guide/kernel-parameters), and the others are counted.

use plumb_model::facts::{Fact, KernelOptions};

use crate::HostRoot;

const CMDLINE: &str = "/proc/cmdline";

/// Options that bear on performance.
const SHOWN: &[&str] = &[
    "amd_iommu",
    "amd_pstate",
    "audit",
    "cgroup_disable",
    "cgroup_no_v1",
    "clocksource",
    "default_hugepagesz",
    "elevator",
    "gather_data_sampling",
    "hugepages",
    "hugepagesz",
    "idle",
    "init_on_alloc",
    "init_on_free",
    "intel_iommu",
    "intel_pstate",
    "iommu",
    "irqaffinity",
    "isolcpus",
    "kernelcore",
    "l1tf",
    "lsm",
    "maxcpus",
    "mce",
    "mds",
    "mem",
    "memmap",
    "mitigations",
    "mmio_stale_data",
    "movablecore",
    "nmi_watchdog",
    "no_timer_check",
    "nohpet",
    "nohz",
    "nohz_full",
    "nopti",
    "nosmt",
    "nosoftlockup",
    "nospectre_v1",
    "nospectre_v2",
    "nowatchdog",
    "nr_cpus",
    "numa",
    "numa_balancing",
    "page_poison",
    "pcie_aspm",
    "preempt",
    "psi",
    "pti",
    "rcu_nocb_poll",
    "rcu_nocbs",
    "reg_file_data_sampling",
    "retbleed",
    "selinux",
    "skew_tick",
    "slub_debug",
    "spec_rstack_overflow",
    "spec_store_bypass_disable",
    "spectre_v2",
    "spectre_v2_user",
    "srbds",
    "threadirqs",
    "transparent_hugepage",
    "tsc",
    "tsx",
    "tsx_async_abort",
];

/// Modules and subsystems whose every option bears on it.
const SHOWN_PARTS: &[&str] = &[
    "cpufreq.",
    "cpuidle.",
    "dm_mod.",
    "intel_idle.",
    "iommu.",
    "kvm.",
    "kvm_amd.",
    "kvm_intel.",
    "nvme.",
    "nvme_core.",
    "processor.",
    "rcupdate.",
    "rcutree.",
    "workqueue.",
    "zfs.",
    "zswap.",
];

/// Longer values are no settings. Ours: lists of processors are the longest that are met.
const VALUE_MAX: usize = 64;

pub(super) fn options(root: &HostRoot) -> Fact<KernelOptions> {
    root.fact(CMDLINE, "boot options", |text| Some(parse(text)))
}

fn parse(text: &str) -> KernelOptions {
    let mut options = KernelOptions::default();
    for word in text.split_ascii_whitespace() {
        match is_shown(word) {
            true => options.shown.push(word.to_owned()),
            false => options.left_out += 1,
        }
    }
    options
}

fn is_shown(word: &str) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    // The kernel takes - for _ in names.
    let name = name.replace('-', "_");
    let known = SHOWN.contains(&name.as_str()) || SHOWN_PARTS.iter().any(|part| name.starts_with(part));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_,.:;-+!$@%&".contains(c);
    known && value.len() <= VALUE_MAX && value.chars().all(plain) && name.len() <= VALUE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bears_on_performance_is_shown_and_the_rest_only_counted() {
        let text = "BOOT_IMAGE=/vmlinuz root=UUID=5f-1 ro quiet isolcpus=managed_irq,2-15 nvme_core.default_ps_max_latency_us=0 \
                    intel_iommu=on rd.luks.key=hunter2 systemd.setenv=TOKEN=abc ip=192.0.2.7 nosmt hunter3\n";
        let options = parse(text);
        let expected =
            ["isolcpus=managed_irq,2-15", "nvme_core.default_ps_max_latency_us=0", "intel_iommu=on", "nosmt"];
        assert_eq!(options.shown, expected);
        assert_eq!(options.left_out, 8);
    }

    #[test]
    fn a_value_that_looks_like_no_setting_is_left_out() {
        assert!(!is_shown("lsm=/home/somebody"));
        assert!(!is_shown(&format!("mem={}", "a".repeat(65))));
    }
}
