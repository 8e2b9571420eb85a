//! Persistent memory: modules, regions, namespaces (kernel documentation, ABI/testing/sysfs-bus-nvdimm), and memory that is
//! a cache of slower memory (admin-guide/mm/numaperf).

use plumb_model::facts::{Fact, PersistentMemoryUse, PersistentNamespace, PersistentRegion};

use super::cpu::NODES;
use crate::HostRoot;
use crate::storage::namespace_mode;

const BUS: &str = "/sys/bus/nd/devices";

pub(super) fn memory(root: &HostRoot) -> Fact<PersistentMemoryUse> {
    let cache = side_cache_bytes(root);
    let names = root.list(BUS).unwrap_or_default();
    if names.is_empty() && cache.is_none() {
        return Fact::unknown(format!("nothing in {BUS}: no persistent memory, or no driver for it"));
    }
    let text = |path: &str| {
        let text = root.read(&format!("{BUS}/{path}")).ok()?.trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let number = |path: &str| text(path)?.parse::<u64>().ok();
    let of = |stem: &str| -> Vec<&String> {
        let numbered = |name: &&String| {
            name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        names.iter().filter(numbered).collect()
    };
    let regions = of("region").into_iter().map(|name| PersistentRegion {
        name: name.clone(),
        provider: text(&format!("{name}/../provider")),
        size_bytes: number(&format!("{name}/size")),
        available_bytes: number(&format!("{name}/available_size")),
        numa_node: text(&format!("{name}/numa_node")).and_then(|node| node.parse().ok()),
        persistence_domain: text(&format!("{name}/persistence_domain")),
    });
    let namespaces = of("namespace").into_iter().map(|name| PersistentNamespace {
        name: name.clone(),
        mode: text(&format!("{name}/mode")).and_then(|word| namespace_mode(&word)),
        size_bytes: number(&format!("{name}/size")),
    });
    // The kernel keeps a namespace of size 0 in each region as the seed of the next.
    let used = PersistentMemoryUse {
        modules: u32::try_from(of("nmem").len()).unwrap_or(u32::MAX),
        regions: regions.collect(),
        namespaces: namespaces.filter(|namespace| namespace.size_bytes != Some(0)).collect(),
        memory_side_cache_bytes: cache,
    };
    Fact::known(used, format!("{BUS}, {NODES}/node*/memory_side_cache"))
}

/// The memory-side cache of all nodes together.
fn side_cache_bytes(root: &HostRoot) -> Option<u64> {
    let mut sum = None;
    for node in root.list(NODES).unwrap_or_default() {
        let folder = format!("{NODES}/{node}/memory_side_cache");
        for index in root.list(&folder).unwrap_or_default() {
            let size = root.read(&format!("{folder}/{index}/size")).ok();
            if let Some(size) = size.and_then(|text| text.trim().parse::<u64>().ok()).filter(|size| *size > 0)
            {
                sum = Some(sum.unwrap_or(0) + size);
            }
        }
    }
    sum
}
