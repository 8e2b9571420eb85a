//! The files that make a plan last: for this host in the system's own places, or as a TuneD profile, and for many as an Ansible role.
//!
//! Each setting has one place among the system's own files, the first of these that can hold it: sysctl.d, a udev rule, tmpfiles.d, a
//! `.link` file, and for what has none a unit that runs a script after the network is up. What no format can hold safely is in no file, and
//! `README.md` names it. `setting` reads the names of a plan, `native` decides the place, the others write one kind of file each.
//!
//! Not here: asking the host anything. What a plan does not say of it is [`Surroundings`].

mod ansible;
mod boot;
mod kafka;
mod link;
mod native;
mod readme;
mod setting;
mod shell;
mod systemd;
#[cfg(test)]
mod tests;
mod tuned;
mod udev;

use super::{InstallFile, host};
use plumb_model::change::{Change, way_back};
use plumb_model::check::TunePlan;
use setting::{LeftOut, Written};
use std::collections::BTreeMap;

pub use ansible::{InventoryError, Member};

/// What a plan does not say of its host, by the names that the plan has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// Network interfaces.
    pub interfaces: BTreeMap<String, InterfaceIdentity>,
    /// Disks: the path by which udev knows each (`ID_PATH`).
    pub disks: BTreeMap<String, String>,
    /// The systemd units of processes.
    pub units: BTreeMap<u32, String>,
    /// TuneD's profile that is active.
    pub tuned_profile: Option<String>,
}

/// What an interface is known by beside its name, which may go to another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InterfaceIdentity {
    /// The last part of its device's place in `/sys`, such as `0000:3b:00.0`.
    pub device: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// The path by which udev knows it (`ID_PATH`), such as `pci-0000:3b:00.0`.
    pub path: Option<String>,
    /// The address that its hardware has.
    pub address: Option<String>,
}

/// A plan in the form in which it is written.
struct Export<'p> {
    plan: &'p TunePlan,
    around: &'p Surroundings,
    /// What is set, in the plan's order.
    apply: Vec<Written>,
    /// What is set to have everything as it was, in that order.
    undo: Vec<Written>,
    /// What is in no file.
    left_out: Vec<LeftOut>,
}

impl<'p> Export<'p> {
    fn of(plan: &'p TunePlan, around: &'p Surroundings) -> Self {
        let changes: Vec<Change> = plan.changes.iter().map(|planned| planned.change.clone()).collect();
        let mut export = Export { plan, around, apply: Vec::new(), undo: Vec::new(), left_out: Vec::new() };
        for change in &changes {
            let key = &change.target.key;
            let Some(after) = &change.after else {
                export.left_out.push(LeftOut::new(key, "the plan has no value for it"));
                continue;
            };
            match Written::new(key, after) {
                Ok(written) => export.apply.push(written),
                Err(left) => export.left_out.push(left),
            }
            if change.inverse.is_empty() {
                export.left_out.push(LeftOut::new(key, "the way back: its value before is not known"));
            }
        }
        for back in way_back(&changes) {
            match Written::new(&back.key, &back.value) {
                Ok(written) => export.undo.push(written),
                Err(left) => {
                    export.left_out.push(LeftOut::new(&left.name, &format!("the way back: {}", left.reason)))
                }
            }
        }
        export
    }
}

/// The file that changes a running cluster's settings, and takes that back; none where no setting is a cluster's.
pub(super) fn of_cluster(changes: &[Change]) -> Vec<InstallFile> {
    let written = |key: &str, value: &str| Written::new(key, value).ok();
    let given = |change: &Change| written(&change.target.key, change.after.as_ref()?);
    let apply: Vec<Written> = changes.iter().filter_map(given).collect();
    let undo: Vec<Written> =
        way_back(changes).iter().filter_map(|back| written(&back.key, &back.value)).collect();
    // What cannot be written so is no key of Kafka's that a trial could have set.
    kafka::files(&kafka::Settings { apply: &apply, undo: &undo }, &mut Vec::new())
}

/// The files of a plan, `README.md` first; with the inventory of groups of hosts, where there are any.
///
/// # Errors
/// Where the groups are no inventory.
pub fn exported(
    plan: &TunePlan,
    around: &Surroundings,
    groups: &[Member],
) -> Result<Vec<InstallFile>, InventoryError> {
    let mut export = Export::of(plan, around);
    let mut left_out = std::mem::take(&mut export.left_out);
    let native = native::files(&export, &mut left_out);
    let mut files = native.files.clone();
    files.extend(systemd::drop_ins(&export, &mut left_out));
    files.extend(tuned::files(&export, &mut left_out));
    files.extend(boot::files(plan));
    let settings = kafka::Settings { apply: &export.apply, undo: &export.undo };
    files.extend(kafka::files(&settings, &mut left_out));
    files.extend(shell::files(&export));
    files.extend(ansible::files(&export, &native, &mut left_out));
    if !groups.is_empty() {
        files.push(ansible::inventory(groups)?);
    }
    export.left_out = left_out;
    files.insert(0, InstallFile::plain("README.md", readme::text(&export, &files)));
    Ok(files)
}
