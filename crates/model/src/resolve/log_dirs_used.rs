//! The number of a lab's log directories that each broker has, as a sweep: a lab of its own for each number.

use super::sweep::Variant;
use super::{ResolveError, Trail};
use crate::plan::{ClusterPlan, LogDirLayout, Origin};
use crate::scenario::OneOrMany;

const PATH: &str = "cluster.lab.log_dirs_used";

/// Refuses more directories than the lab has, in any broker.
pub(super) fn check(
    used: &OneOrMany<u32>,
    directories: usize,
    layout: LogDirLayout,
    trail: &Trail,
) -> Result<(), ResolveError> {
    let place = trail.source_place(PATH);
    if layout == LogDirLayout::BrokerEach {
        return Err(ResolveError::Conflict {
            place,
            first: PATH.into(),
            second: "cluster.lab.log_dir_layout: broker_each".into(),
            reason: "a broker for each log directory has one; with log_dir_layout: together a broker has several",
        });
    }
    let beyond = used.values().iter().find(|used| !(1..=directories).contains(&(**used as usize)));
    match beyond {
        None => Ok(()),
        Some(beyond) => Err(ResolveError::OutOfBounds {
            place,
            path: PATH.into(),
            got: beyond.to_string(),
            expected: if directories == 0 { "left out".to_owned() } else { format!("1 to {directories}") },
            reason: "so many directories are named in cluster.lab.log_dirs",
        }),
    }
}

/// The largest number: the lab that steps share has so many directories.
pub(super) fn most(used: &OneOrMany<u32>) -> usize {
    used.values().iter().max().map_or(0, |most| *most as usize)
}

/// The lab of a step that has fewer directories than the one that steps share.
pub(super) fn own_lab(
    shared: &ClusterPlan,
    variant: &Variant,
    step: usize,
    trail: &mut Trail,
) -> Option<ClusterPlan> {
    let used = most(variant.log_dirs_used.as_ref()?);
    let mut own = shared.clone();
    let ClusterPlan::Lab { log_dirs, .. } = &mut own else { return None };
    if used >= log_dirs.len() {
        return None;
    }
    log_dirs.truncate(used);
    let origin = trail.sources.get(PATH).cloned().unwrap_or(Origin::Default);
    trail.own_lab_origins(step, [("log_dirs".to_owned(), origin)].into());
    Some(own)
}
