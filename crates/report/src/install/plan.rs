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
use plumb_model::check::{Risk, TunePlan};
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
    /// True if the Ansible role makes dangerous changes, too.
    is_forced: bool,
}

/// What is decided of many hosts, and not of the one that the plan was made on.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForMany<'a> {
    /// Groups of hosts; none: whoever runs the role names them.
    pub groups: &'a [Member],
    /// True if changes that can take down the only way to a host, or lose data, are made there.
    pub force: bool,
}

/// The settings of a plan that no host changes without `--force`.
pub fn dangerous(plan: &TunePlan) -> Vec<&str> {
    let changes = plan.changes.iter().filter(|planned| planned.risk == Risk::LockOut);
    changes.map(|planned| planned.change.target.key.as_str()).collect()
}

impl<'p> Export<'p> {
    fn of(plan: &'p TunePlan, around: &'p Surroundings) -> Self {
        let changes: Vec<Change> = plan.changes.iter().map(|planned| planned.change.clone()).collect();
        let (apply, undo, left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut export = Export { plan, around, apply, undo, left_out, is_forced: false };
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

/// The files of a plan, `README.md` first.
///
/// # Errors
/// Where the groups are no inventory.
pub fn exported(
    plan: &TunePlan,
    around: &Surroundings,
    many: ForMany<'_>,
) -> Result<Vec<InstallFile>, InventoryError> {
    let mut export = Export { is_forced: many.force, ..Export::of(plan, around) };
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
    if !many.groups.is_empty() {
        files.push(ansible::inventory(many.groups)?);
    }
    export.left_out = left_out;
    files.insert(0, InstallFile::plain("README.md", readme::text(&export, &files)));
    Ok(files)
}
