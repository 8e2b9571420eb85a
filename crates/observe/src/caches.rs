//! Data caches of the processors, as sysfs states them. A hypervisor may state others than there are.

use crate::HostRoot;
use plumb_model::facts::Fact;
use plumb_model::probe::Cache;
use std::collections::BTreeMap;

const CPUS: &str = "/sys/devices/system/cpu";

/// Data and unified caches, smallest level first.
pub fn caches(root: &HostRoot) -> Fact<Vec<Cache>> {
    let mut instances: BTreeMap<(u32, String, u64), BTreeMap<String, u32>> = BTreeMap::new();
    for cpu in names(root, CPUS, "cpu") {
        for index in names(root, &format!("{CPUS}/{cpu}/cache"), "index") {
            let read = |file: &str| {
                let text = root.read(&format!("{CPUS}/{cpu}/cache/{index}/{file}")).ok()?;
                Some(text.trim().to_owned())
            };
            let Some((level, kind, bytes, shared)) = cache(read) else { continue };
            *instances.entry((level, kind, bytes)).or_default().entry(shared).or_default() += 1;
        }
    }
    if instances.is_empty() {
        return Fact::unknown(format!("{CPUS}/cpu*/cache states no data cache"));
    }
    let rows = instances.into_iter().map(|((level, kind, bytes), each)| Cache {
        name: format!("L{level}{kind}"),
        bytes,
        instances: each.len() as u32,
        cpus_each: each.values().copied().max().unwrap_or(1),
    });
    Fact::known(rows.collect(), format!("{CPUS}/cpu*/cache"))
}

/// Level, kind (`d` for a data cache, nothing for a unified one), size, and who shares it.
fn cache(read: impl Fn(&str) -> Option<String>) -> Option<(u32, String, u64, String)> {
    let kind = match read("type")?.as_str() {
        "Data" => "d",
        "Unified" => "",
        _ => return None,
    };
    let kibibytes: u64 = read("size")?.strip_suffix('K')?.parse().ok()?;
    Some((read("level")?.parse().ok()?, kind.to_owned(), kibibytes << 10, read("shared_cpu_list")?))
}

/// Entries that are `prefix` and a number.
fn names(root: &HostRoot, directory: &str, prefix: &str) -> Vec<String> {
    let numbered = |name: &String| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
    root.list(directory).unwrap_or_default().into_iter().filter(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn host(caches: &[(&str, &str, &str, &str, &str)]) -> (tempfile::TempDir, HostRoot) {
        let directory = tempfile::tempdir().unwrap();
        for (place, level, kind, size, shared) in caches {
            let path = directory.path().join("sys/devices/system/cpu").join(place);
            fs::create_dir_all(&path).unwrap();
            for (file, text) in
                [("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)]
            {
                fs::write(path.join(file), format!("{text}\n")).unwrap();
            }
        }
        let root = HostRoot::new(directory.path());
        (directory, root)
    }

    #[test]
    fn caches_are_told_by_kind_with_how_many_there_are_and_who_shares_them() {
        let (_directory, root) = host(&[
            ("cpu0/cache/index0", "1", "Data", "48K", "0"),
            ("cpu0/cache/index1", "1", "Instruction", "32K", "0"),
            ("cpu0/cache/index2", "2", "Unified", "2048K", "0"),
            ("cpu0/cache/index3", "3", "Unified", "32768K", "0-1"),
            ("cpu1/cache/index0", "1", "Data", "48K", "1"),
            ("cpu1/cache/index2", "2", "Unified", "2048K", "1"),
            ("cpu1/cache/index3", "3", "Unified", "32768K", "0-1"),
            ("cpu2/cache/index3", "3", "Unified", "32768K", "2"),
        ]);
        let caches = caches(&root);
        let told: Vec<_> = caches
            .value()
            .unwrap()
            .iter()
            .map(|cache| (cache.name.as_str(), cache.bytes >> 10, cache.instances, cache.cpus_each))
            .collect();
        assert_eq!(told, [("L1d", 48, 2, 1), ("L2", 2048, 2, 1), ("L3", 32768, 2, 2)]);
    }

    #[test]
    fn a_host_that_states_no_cache_says_so() {
        let (_directory, root) = host(&[]);
        assert!(matches!(caches(&root), Fact::Unknown { reason } if reason.contains("no data cache")));
    }
}
