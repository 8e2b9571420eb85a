//! The memory nodes of a host, those that a list of processors belongs to, and how much memory is far.

use super::Context;
use super::cpu_time::percent;
use crate::devices;
use plumb_model::check::Evidence;
use std::collections::BTreeSet;

/// The memory nodes, by number; empty where the kernel tells of none.
pub(super) fn nodes(context: &Context<'_>) -> BTreeSet<u32> {
    let names = context.host.root().list("/sys/devices/system/node").unwrap_or_default();
    names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect()
}

/// The nodes that these processors belong to.
pub(super) fn nodes_of(context: &Context<'_>, cpus: &BTreeSet<u32>) -> BTreeSet<u32> {
    let has = |node: &u32| !devices::node_cpus(context.host, Some(*node)).is_disjoint(cpus);
    nodes(context).into_iter().filter(has).collect()
}

/// Memory taken from another node than the processor's, of all, over the window: more is much. Ours.
const FAR: f64 = 0.1;

/// The part of memory that was taken from far nodes, where it is much.
pub(super) fn far_memory(context: &Context<'_>) -> Option<Evidence> {
    let share = far_share(context)?;
    (share >= FAR).then(|| percent(context, "vmstat.numa_other of all pages", share))
}

/// That hardly any memory is far, with what follows from it; or that nothing was seen of it, where no memory was taken while the counters
/// were watched, or there are none.
pub(super) fn near_memory(context: &Context<'_>, so_that: &str) -> String {
    match far_share(context) {
        Some(_) => format!("Hardly any memory is taken from far nodes, so that {so_that}"),
        None => "Whether memory is taken from far nodes was not seen".to_owned(),
    }
}

fn far_share(context: &Context<'_>) -> Option<f64> {
    let growth = |counter: &str| context.window.growth(counter);
    let (far, near) = (growth("vmstat.numa_other")?, growth("vmstat.numa_local")?);
    (far + near > 0).then(|| far as f64 / (far + near) as f64)
}
