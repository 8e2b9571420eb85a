//! The cores, sockets and caches that processors share, and their generation (kernel documentation,
//! ABI/stable/sysfs-devices-system-cpu).

use std::collections::BTreeSet;

use plumb_model::facts::{CpuCache, CpuIdentity, CpuTopology, Fact};

use super::cpu::{CPUS, cpu_list};
use crate::HostRoot;
use crate::cpuinfo::{self, CPUINFO};

pub(super) fn identity(root: &HostRoot) -> Fact<CpuIdentity> {
    root.fact(CPUINFO, "vendor_id or CPU implementer", parse_identity)
}

fn parse_identity(text: &str) -> Option<CpuIdentity> {
    let number = |key| {
        let value = cpuinfo::values(text, key).next()?;
        match value.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        }
    };
    if let Some(vendor) = cpuinfo::values(text, "vendor_id").next() {
        return Some(CpuIdentity {
            vendor: vendor.to_owned(),
            family: number("cpu family"),
            model: number("model"),
            stepping: number("stepping"),
        });
    }
    let vendor = cpuinfo::values(text, "CPU implementer").next()?.to_owned();
    Some(CpuIdentity { vendor, family: None, model: number("CPU part"), stepping: number("CPU revision") })
}

pub(super) fn microcode(root: &HostRoot) -> Fact<Vec<String>> {
    let text = match root.read(CPUINFO) {
        Ok(text) => text,
        Err(error) => return Fact::unknown(error.reason()),
    };
    let revisions: BTreeSet<&str> = cpuinfo::values(&text, "microcode").collect();
    match revisions.is_empty() {
        true => Fact::unknown(format!("{CPUINFO} has no microcode line, as on Arm and in some guests")),
        false => Fact::known(revisions.into_iter().map(str::to_owned).collect(), CPUINFO),
    }
}

/// Also what cgroups and `taskset` leave of the processors.
pub(super) fn allowed(root: &HostRoot) -> Fact<String> {
    root.fact("/proc/self/status", "a Cpus_allowed_list line", |text| {
        Some(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
    })
}

pub(super) fn topology(root: &HostRoot) -> Fact<CpuTopology> {
    let text = |path: &str| root.read(&format!("{CPUS}/{path}")).ok().map(|text| text.trim().to_owned());
    let Some(online) = text("online").as_deref().and_then(cpu_list) else {
        return Fact::unknown(format!("no list of processors in {CPUS}/online"));
    };
    // Each core and each socket is asked about once: hosts have hundreds of processors.
    let grouped = |file: &str, older: &str| {
        let mut sizes = Vec::new();
        let mut seen = BTreeSet::new();
        for cpu in &online {
            if !seen.contains(cpu) {
                let read = |file: &str| text(&format!("cpu{cpu}/topology/{file}"));
                let group = read(file).or_else(|| read(older)).as_deref().and_then(cpu_list)?;
                sizes.push(u32::try_from(group.len()).ok()?);
                seen.insert(*cpu);
                seen.extend(group);
            }
        }
        Some(sizes)
    };
    let (Some(cores), Some(sockets)) = (
        grouped("core_cpus_list", "thread_siblings_list"),
        grouped("package_cpus_list", "core_siblings_list"),
    ) else {
        return Fact::unknown(format!("no {CPUS}/cpu*/topology"));
    };
    let topology = CpuTopology {
        sockets: sockets.len() as u32,
        cores: cores.len() as u32,
        threads_per_core: cores.into_iter().max().unwrap_or(1),
        smt: text("smt/control"),
        caches: caches(root, &online),
    };
    Fact::known(topology, format!("{CPUS}/cpu*/topology, cache, smt/control"))
}

/// Caches of one level, kind and size together.
fn caches(root: &HostRoot, online: &[u32]) -> Vec<CpuCache> {
    let mut found: Vec<CpuCache> = Vec::new();
    let Some(first) = online.first() else { return found };
    let names = root.list(&format!("{CPUS}/cpu{first}/cache")).unwrap_or_default();
    for index in names.iter().filter(|name| name.starts_with("index")) {
        let mut seen = BTreeSet::new();
        for cpu in online {
            if seen.contains(cpu) {
                continue;
            }
            let text = |file: &str| {
                let path = format!("{CPUS}/cpu{cpu}/cache/{index}/{file}");
                root.read(&path).ok().map(|text| text.trim().to_owned())
            };
            let shared = text("shared_cpu_list").as_deref().and_then(cpu_list).unwrap_or_default();
            seen.insert(*cpu);
            seen.extend(&shared);
            let (Some(level), Some(holds), Some(size_bytes)) = (
                text("level").and_then(|level| level.parse().ok()),
                text("type"),
                text("size").as_deref().and_then(cache_size),
            ) else {
                continue;
            };
            let shared_by_cpus = u32::try_from(shared.len().max(1)).unwrap_or(u32::MAX);
            let holds = holds.to_lowercase();
            let same = found
                .iter_mut()
                .find(|cache| (cache.level, &cache.holds, cache.size_bytes) == (level, &holds, size_bytes));
            match same {
                Some(cache) => {
                    cache.count += 1;
                    cache.shared_by_cpus = cache.shared_by_cpus.max(shared_by_cpus);
                }
                None => found.push(CpuCache { level, holds, size_bytes, count: 1, shared_by_cpus }),
            }
        }
    }
    found.sort_by_key(|cache| cache.level);
    found
}

/// `32K`, as the kernel writes the sizes of caches.
fn cache_size(text: &str) -> Option<u64> {
    text.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_processor_is_known_by_its_numbers() {
        let xeon =
            parse_identity("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nstepping\t: 7\n")
                .unwrap();
        assert_eq!((xeon.family, xeon.model, xeon.stepping), (Some(6), Some(85), Some(7)));
        let arm = parse_identity("CPU implementer\t: 0x41\nCPU part\t: 0xd40\nCPU revision\t: 1\n").unwrap();
        assert_eq!((arm.vendor.as_str(), arm.model, arm.stepping), ("0x41", Some(0xd40), Some(1)));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)(vendor_id|CPU part|CPU implementer|model)?\t?: ?(0x)?.{0,40}") {
            let _ = parse_identity(&text);
            let _ = cache_size(&text);
        }
    }
}
