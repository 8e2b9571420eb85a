//! Processors: model, count, flags, frequency governors, memory nodes, mitigations.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::facts::{Fact, NumaNode};

use crate::HostRoot;
use crate::cpuinfo::{self, ARM_FLAGS, CPUINFO, X86_FLAGS};

pub(super) const CPUS: &str = "/sys/devices/system/cpu";
pub(super) const NODES: &str = "/sys/devices/system/node";
const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Server cores by implementer and part, from Arm's MIDR_EL1 assignments; Arm kernels print no model name.
const ARM_CORES: [(&str, &str, &str); 8] = [
    ("0x41", "0xd08", "Arm Cortex-A72"),
    ("0x41", "0xd0c", "Arm Neoverse N1"),
    ("0x41", "0xd40", "Arm Neoverse V1"),
    ("0x41", "0xd49", "Arm Neoverse N2"),
    ("0x41", "0xd4f", "Arm Neoverse V2"),
    ("0x41", "0xd84", "Arm Neoverse V3"),
    ("0x41", "0xd8e", "Arm Neoverse N3"),
    ("0xc0", "0xac3", "Ampere-1"),
];

pub(super) fn model(root: &HostRoot) -> Fact<String> {
    root.fact(CPUINFO, "a processor's name", parse_model)
}

fn parse_model(text: &str) -> Option<String> {
    if let Some(name) = cpuinfo::values(text, "model name").find(|name| !name.is_empty()) {
        return Some(name.to_owned());
    }
    let implementer = cpuinfo::values(text, "CPU implementer").next()?;
    let part = cpuinfo::values(text, "CPU part").next()?;
    let known = ARM_CORES.iter().find(|core| core.0 == implementer && core.1 == part);
    Some(known.map_or_else(|| format!("Arm implementer {implementer} part {part}"), |core| core.2.to_owned()))
}

pub(super) fn logical_cpus(root: &HostRoot) -> Fact<u32> {
    root.fact("/sys/devices/system/cpu/online", "a list of processors", count_cpu_list)
}

/// Number of processors in the kernel's notation: `0-15,32-47`.
fn count_cpu_list(text: &str) -> Option<u32> {
    ranges(text).try_fold(0_u32, |count, range| {
        let (first, last) = range?;
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// The processors themselves.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    /// The kernel is built for at most 8,192 (CONFIG_NR_CPUS).
    const CPUS_MAX: u32 = 1 << 16;
    let mut cpus = Vec::new();
    for range in ranges(text) {
        let (first, last) = range?;
        cpus.extend((last < CPUS_MAX).then_some(first..=last)?);
    }
    (!cpus.is_empty()).then_some(cpus)
}

fn ranges(text: &str) -> impl Iterator<Item = Option<(u32, u32)>> {
    text.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some((first.parse().ok()?, last.parse().ok()?))
    })
}

pub(super) fn flags(root: &HostRoot) -> Fact<BTreeMap<String, bool>> {
    root.fact(CPUINFO, "processor flags", parse_flags)
}

fn parse_flags(text: &str) -> Option<BTreeMap<String, bool>> {
    let on_x86: Vec<&str> = cpuinfo::values(text, "flags").collect();
    let on_arm: Vec<&str> = cpuinfo::values(text, "Features").collect();
    let (lists, wanted) = if on_x86.is_empty() { (on_arm, ARM_FLAGS) } else { (on_x86, X86_FLAGS) };
    // Many processors print one line many times.
    let lists: BTreeSet<&str> = lists.into_iter().collect();
    let everywhere =
        |flag: &str| lists.iter().all(|list| list.split_ascii_whitespace().any(|had| had == flag));
    let facts = wanted.iter().filter(|flag| flag.is_fact);
    let found = facts.map(|flag| (flag.name.to_owned(), everywhere(flag.name))).collect();
    (!lists.is_empty()).then_some(found)
}

/// True if the processor itself says that a hypervisor is below it; none where it cannot say (Arm).
pub(super) fn hypervisor_flag(root: &HostRoot) -> Option<bool> {
    let text = root.read(CPUINFO).ok()?;
    cpuinfo::values(&text, "flags")
        .next()
        .map(|list| list.split_ascii_whitespace().any(|f| f == "hypervisor"))
}

pub(super) fn governors(root: &HostRoot) -> Fact<Vec<String>> {
    let names = match root.list(CPUS) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(error.reason()),
    };
    let governor = |name: String| {
        numbered(&name, "cpu")?;
        root.read(&format!("{CPUS}/{name}/cpufreq/scaling_governor")).ok()
    };
    let governors: BTreeSet<String> =
        names.into_iter().filter_map(governor).map(|text| text.trim().to_owned()).collect();
    if governors.is_empty() {
        return Fact::unknown(format!(
            "no {CPUS}/cpu*/cpufreq: no frequency control here, as in most guests"
        ));
    }
    Fact::known(governors.into_iter().collect(), format!("{CPUS}/cpu*/cpufreq/scaling_governor"))
}

pub(crate) fn numa_nodes(root: &HostRoot) -> Fact<Vec<NumaNode>> {
    let names = match root.list(NODES) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(error.reason()),
    };
    let mut nodes: Vec<NumaNode> = names
        .iter()
        .filter_map(|name| {
            let node = numbered(name, "node")?;
            let cpus = root.read(&format!("{NODES}/{name}/cpulist")).ok()?.trim().to_owned();
            let memory_bytes =
                root.read(&format!("{NODES}/{name}/meminfo")).ok().as_deref().and_then(node_memory);
            let distances = root.read(&format!("{NODES}/{name}/distance")).unwrap_or_default();
            let distances = distances.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
            Some(NumaNode { node, cpus, memory_bytes, distances })
        })
        .collect();
    nodes.sort_by_key(|node| node.node);
    match nodes.is_empty() {
        true => Fact::unknown(format!("no {NODES}/node*/cpulist")),
        false => Fact::known(nodes, format!("{NODES}/node*")),
    }
}

/// `Node 0 MemTotal:       24684096 kB`
fn node_memory(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The number in a name such as `node12`.
fn numbered(name: &str, stem: &str) -> Option<u32> {
    name.strip_prefix(stem)?.parse().ok()
}

/// Only this option is taken from the command line, which may hold secrets.
pub(super) fn mitigations(root: &HostRoot) -> Fact<String> {
    root.fact("/proc/cmdline", "boot options", |text| {
        // The kernel lets the last one win.
        let option =
            text.split_ascii_whitespace().filter_map(|word| word.strip_prefix("mitigations=")).next_back();
        Some(option.unwrap_or("default").to_owned())
    })
}

pub(super) fn vulnerabilities(root: &HostRoot) -> Fact<BTreeMap<String, String>> {
    let names = match root.list(VULNERABILITIES) {
        Ok(names) => names,
        Err(error) => return Fact::unknown(error.reason()),
    };
    let states: BTreeMap<String, String> = names
        .into_iter()
        .filter_map(|name| {
            let state = root.read(&format!("{VULNERABILITIES}/{name}")).ok()?.trim().to_owned();
            Some((name, state))
        })
        .collect();
    match states.is_empty() {
        true => Fact::unknown(format!("{VULNERABILITIES} is empty")),
        false => Fact::known(states, VULNERABILITIES),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn processors_are_counted_from_the_kernels_list() {
        assert_eq!(count_cpu_list("0-15,32-47\n"), Some(32));
        assert_eq!(count_cpu_list("0"), Some(1));
        assert_eq!(count_cpu_list(""), None);
        assert_eq!(count_cpu_list("5-2"), None);
        assert_eq!(count_cpu_list("0-4294967295"), None);
    }

    #[test]
    fn a_flag_counts_only_when_every_processor_has_it() {
        let flags = parse_flags("flags : aes avx2 vaes\n\nflags : aes avx2\n").unwrap();
        assert_eq!((flags["aes"], flags["avx2"], flags["vaes"]), (true, true, false));
    }

    #[test]
    fn an_arm_core_without_a_known_part_is_named_by_its_numbers() {
        let text = "CPU implementer\t: 0x51\nCPU part\t: 0x001\n";
        assert_eq!(parse_model(text).unwrap(), "Arm implementer 0x51 part 0x001");
    }

    proptest! {
        #[test]
        fn parsers_never_panic(text in "(?s)(flags|Features|model name|CPU part|CPU implementer|Node 0 MemTotal|[0-9,-]{0,30})? ?:?.{0,80}") {
            let _ = parse_model(&text);
            let _ = parse_flags(&text);
            let _ = count_cpu_list(&text);
            let _ = cpu_list(&text);
            let _ = node_memory(&text);
        }
    }
}
