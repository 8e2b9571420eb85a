//! A storage probe's document in, the findings against its figures out: commits that are not durable, rates that cannot be real,
//! rates of a cache instead of the device.
//!
//! Every warning says its evidence. A commit is durable when the method asks for it, and nothing that this host shows says
//! otherwise. What a hypervisor or a controller does with a flush cannot be seen from here. [`commits`] judges one way to commit,
//! [`path`] a path.

mod commits;
mod path;
pub(crate) mod rows;
#[cfg(test)]
mod tests;

use crate::row::Row;
use plumb_model::facts::{Device, Layer, Storage};
use plumb_model::finding::Finding;
use plumb_model::probe::storage::{CommitResult, StorageProbe};
use rows::*;

/// Fills in what is durable and what speaks against the figures. What an earlier judgement left is replaced.
pub fn judge(document: &mut StorageProbe) {
    let virtualisation = document.conditions.host.virtualisation.value();
    let bare_metal = virtualisation.is_some_and(|known| !known.virtual_machine);
    for target in &mut document.targets {
        let storage = target.storage.clone();
        for commit in &mut target.commits {
            commit.findings = commits::warnings(&storage, commit, bare_metal);
            commit.durable = durable(&storage, commit);
        }
        target.findings = path::warnings(target);
    }
}

fn durable(storage: &Storage, commit: &CommitResult) -> Option<bool> {
    commit.rate_per_s?;
    let says = |row: &Row| commit.findings.iter().any(|finding| finding.id == row.id);
    let not =
        [&NOT_DURABLE_BY_DESIGN, &MEMORY, &NO_BARRIER, &SYNC_IGNORED, &FLUSH_SUPPRESSED, &NO_FLUSH_SEEN];
    if not.into_iter().any(says) {
        return Some(false);
    }
    let unknown =
        [&UNKNOWABLE, &TOO_FAST, &FASTER_THAN_PUBLISHED].into_iter().any(says) || storage.layers.is_empty();
    (!unknown).then_some(true)
}

fn warning(row: &Row, claim: impl Into<String>) -> Finding {
    // A name that the kernel gave may come first, so that the first letter stays.
    row.finding(row.severity, format!("{}.", claim.into()))
}

fn devices(storage: &Storage) -> impl Iterator<Item = &Device> {
    storage.layers.iter().filter_map(|layer| match &layer.layer {
        Layer::Device(device) => Some(device),
        Layer::FileSystem(_) | Layer::Pool(_) => None,
    })
}

/// Devices under which there is nothing more.
fn hardware(storage: &Storage) -> Vec<&Device> {
    let names = storage.hardware();
    devices(storage).filter(|device| names.contains(&device.name.as_str())).collect()
}
