//! A plan as an Ansible role, for hosts that are like the one that it was made on.
//!
//! The role is the same for every plan: it gets the settings as `files/profile.yaml`, which Ansible copies without reading it, and makes each
//! host plan and apply them itself, with that host's own way back. Only `vars/main.yml` tells which files make it last.

use super::native::Native;
use super::setting::{LeftOut, is_word};
use super::{Export, InstallFile};
use crate::install::comment;
use std::collections::BTreeMap;

/// Files that are the same for every plan.
const FILES: [(&str, &str); 10] = [
    ("README.md", include_str!("ansible/README.md")),
    ("site.yml", include_str!("ansible/site.yml")),
    ("revert.yml", include_str!("ansible/revert.yml")),
    ("inventory.example.ini", include_str!("ansible/inventory.ini")),
    ("roles/plumb_tune/defaults/main.yml", include_str!("ansible/defaults.yml")),
    ("roles/plumb_tune/tasks/main.yml", include_str!("ansible/tasks.yml")),
    ("roles/plumb_tune/tasks/apply.yml", include_str!("ansible/apply.yml")),
    ("roles/plumb_tune/tasks/revert.yml", include_str!("ansible/revert_tasks.yml")),
    ("roles/plumb_tune/handlers/main.yml", include_str!("ansible/handlers.yml")),
    ("roles/plumb_tune/meta/main.yml", include_str!("ansible/meta.yml")),
];

const ROLE: &str = "ansible/roles/plumb_tune";

pub(super) fn files(export: &Export<'_>, native: &Native, left_out: &mut Vec<LeftOut>) -> Vec<InstallFile> {
    let mut profile = comment("The settings, as `plumb tune plan --profile` takes them.");
    let mut is_empty = true;
    for (at, written) in export.apply.iter().enumerate() {
        // YAML has a key once; the later change is what is in effect in the end.
        let is_set_again = export.apply[at + 1..].iter().any(|later| later.name == written.name);
        match written.is_lasting() {
            true if is_set_again => {}
            true => {
                is_empty = false;
                profile += &format!("{}: {}\n", yaml(&written.name), yaml(&written.value));
            }
            false => {
                let reason = "not in the Ansible role: it is no setting of every host";
                left_out.push(LeftOut::new(&written.name, reason));
            }
        }
    }
    if is_empty {
        return Vec::new();
    }
    let mut files: Vec<InstallFile> = FILES
        .iter()
        .map(|(path, text)| InstallFile::plain(&format!("ansible/{path}"), (*text).to_owned()))
        .collect();
    files.push(InstallFile::plain(&format!("{ROLE}/files/profile.yaml"), profile));
    let vars = vars(export, native, left_out, &mut files);
    files.push(InstallFile::plain(&format!("{ROLE}/vars/main.yml"), vars));
    files
}

fn vars(
    export: &Export<'_>,
    native: &Native,
    left_out: &mut Vec<LeftOut>,
    files: &mut Vec<InstallFile>,
) -> String {
    let mut lines = String::new();
    for place in &native.places {
        if !place.is_for_many {
            let reason = "not in the Ansible role: it names this host's hardware address";
            left_out.push(LeftOut::new(&place.path, reason));
            continue;
        }
        let Some(file) = native.files.iter().find(|file| file.path == place.path) else { continue };
        files.push(InstallFile { path: format!("{ROLE}/files/{}", place.path), ..file.clone() });
        let mode = if file.executable { "0755" } else { "0644" };
        lines += &format!(
            "  - {{src: {}, dest: {}, mode: \"{mode}\"}}\n",
            yaml(&place.path),
            yaml(&place.goes_to)
        );
    }
    let none = if lines.is_empty() { " []" } else { "" };
    let force = match export.is_forced {
        true => {
            "# Changes that can take down the only way to a host, or lose data, are made: whoever exported the plan insisted.\nplumb_tune_force: true\n"
        }
        false => "",
    };
    format!(
        "---\n{}plumb_tune_role: {}\n{force}plumb_tune_files:{none}\n{lines}",
        comment("What the plan decides."),
        export.plan.role.word()
    )
}

/// A string of YAML, which has those of JSON. Only printable ASCII comes here.
fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A host and its group, as `plumb trial fleet --assign` draws them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The host.
    pub name: String,
    /// `control`, `test`, or a group that has no part in it.
    pub group: String,
}

/// Why hosts are no inventory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryError {
    /// A name that Ansible would read as something else.
    #[error("{name:?} is no host's name that an inventory can have")]
    Name {
        /// The name.
        name: String,
    },
    /// A host twice.
    #[error("{name} is named twice")]
    Twice {
        /// The host.
        name: String,
    },
    /// A group without hosts.
    #[error("no host is in the group {group:?}")]
    Empty {
        /// The group.
        group: &'static str,
    },
}

/// Groups of hosts as an inventory of Ansible's.
pub(super) fn inventory(members: &[Member]) -> Result<InstallFile, InventoryError> {
    let mut group_of: BTreeMap<&str, &str> = BTreeMap::new();
    for member in members {
        if !is_word(&member.name, "._-") {
            return Err(InventoryError::Name { name: member.name.clone() });
        }
        if group_of.insert(&member.name, &member.group).is_some() {
            return Err(InventoryError::Twice { name: member.name.clone() });
        }
    }
    let mut text = comment("The groups of a trial. Hosts of the group control are never touched.");
    for group in ["test", "control"] {
        let of_group: Vec<&str> =
            group_of.iter().filter(|(_, own)| **own == group).map(|(name, _)| *name).collect();
        if of_group.is_empty() {
            return Err(InventoryError::Empty { group });
        }
        text += &format!("[{group}]\n{}\n\n", of_group.join("\n"));
    }
    Ok(InstallFile::plain("ansible/inventory.ini", text))
}
