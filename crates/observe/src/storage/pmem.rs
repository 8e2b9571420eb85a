//! Persistent memory behind a block device: namespace, mode, region (kernel documentation, ABI/testing/sysfs-bus-nvdimm).

use plumb_model::facts::{NamespaceMode, PersistentMemory};

use crate::HostRoot;

/// The persistent memory that the block device in this folder of `/sys` is cut from.
///
/// Its `device` is the namespace, or what makes a block device of one (`pfn0.1`, `btt0.0`), which names it; all of them lie
/// in their region's folder.
pub(super) fn behind(root: &HostRoot, folder: &str) -> Option<PersistentMemory> {
    let text = |path: &str| {
        root.read(&format!("{folder}/{path}"))
            .ok()
            .map(|text| text.trim().to_owned())
            .filter(|t| !t.is_empty())
    };
    let holder = root.link(&format!("{folder}/device"))?;
    let holder = holder.rsplit('/').next()?.to_owned();
    let namespace = match text("device/namespace") {
        Some(namespace) => namespace,
        None if holder.starts_with("namespace") => holder,
        None => return None,
    };
    Some(PersistentMemory {
        mode: text(&format!("device/../{namespace}/mode")).and_then(|word| mode(&word)),
        // The kernel numbers namespaces `namespaceREGION.NAMESPACE`.
        region: namespace
            .strip_prefix("namespace")
            .and_then(|numbers| numbers.split('.').next())
            .map(|number| format!("region{number}")),
        provider: text("device/../../provider"),
        persistence_domain: text("device/../persistence_domain"),
        numa_node: text("device/../numa_node").and_then(|node| node.parse().ok()),
        namespace: Some(namespace),
    })
}

/// The kernel's word for a mode.
pub(crate) fn mode(word: &str) -> Option<NamespaceMode> {
    match word.trim() {
        "memory" => Some(NamespaceMode::Fsdax),
        "dax" => Some(NamespaceMode::Devdax),
        "safe" => Some(NamespaceMode::Sector),
        "raw" => Some(NamespaceMode::Raw),
        _ => None,
    }
}
