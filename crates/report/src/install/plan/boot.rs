//! Advice that only a start of the machine with other options, or other firmware settings, can follow.

use super::InstallFile;
use crate::install::comment;
use plumb_model::check::{Risk, SettingCheck, Status, TunePlan};

/// What is found to matter, and takes a restart.
fn is_told(check: &&SettingCheck) -> bool {
    check.risk == Risk::Reboot && matches!(check.status, Status::Advice | Status::NoEvidence)
}

pub(super) fn files(plan: &TunePlan) -> Vec<InstallFile> {
    let told: Vec<&SettingCheck> = plan.left_out.iter().filter(is_told).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let mut text = comment(
        "What takes a restart of this host and is in none of the other files. Options of the kernel's command line go into \
         GRUB_CMDLINE_LINUX_DEFAULT in a file below /etc/default/grub.d/ (then update-grub), or with grubby --update-kernel=ALL --args=...; others \
         are the firmware's. Undo: take the option out again.",
    );
    for check in told {
        let of = if check.target.is_empty() { String::new() } else { format!(" ({})", check.target) };
        text += "\n";
        text += &comment(&format!("{}{of}: {}", check.id, check.status.words()));
        for (what, value) in [("is", &check.effective), ("should be", &check.recommended)] {
            if let Some(value) = value {
                text += &comment(&format!("  {what} {value}"));
            }
        }
        text += &comment(&format!("  {}", check.reason));
    }
    vec![InstallFile::plain("kernel-command-line.txt", text)]
}
