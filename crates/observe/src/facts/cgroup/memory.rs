//! Memory that the control group, and those above it, leave to what is started in it.

use super::{Folder, folders, parse_amount};
use crate::HostRoot;
use plumb_model::facts::Limit;

/// Bytes left below the tightest limit; what the page cache holds and has not used for long counts as left. None where
/// nothing limits it, or no limit can be read.
pub(crate) fn left(root: &HostRoot) -> Option<u64> {
    let (folder, paths) = folders(root, "memory").ok()?;
    paths.iter().filter_map(|path| left_of(root, &folder, path)).min()
}

fn left_of(root: &HostRoot, folder: &Folder, path: &str) -> Option<u64> {
    let (limit, usage, cache) = match folder.version {
        1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        _ => ("memory.max", "memory.current", "inactive_file"),
    };
    let Limit::At(limit) = parse_amount(&root.read(&format!("{path}/{limit}")).ok()?)? else { return None };
    let used: u64 = root.read(&format!("{path}/{usage}")).ok()?.trim().parse().ok()?;
    let stat = root.read(&format!("{path}/memory.stat")).unwrap_or_default();
    let reclaimable = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok());
    Some(limit.saturating_sub(used.saturating_sub(reclaimable.unwrap_or(0))))
}
