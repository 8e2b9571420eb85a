//! Kernel settings of the host as files for systemd: sysctl.d and tmpfiles.d, each with the way back.

use super::{InstallFile, comment};
use plumb_model::change::{Change, Owner};

const PROC: &str = "/proc/sys/";

pub(super) fn files(settings: &[Change]) -> Vec<InstallFile> {
    let of_host: Vec<&Change> = settings.iter().filter(|change| change.target.owner == Owner::Host).collect();
    let (under_sys, sysctls): (Vec<&Change>, Vec<&Change>) =
        of_host.into_iter().partition(|change| change.target.key.starts_with("/sys/"));
    let mut files = Vec::new();
    if !sysctls.is_empty() {
        let line = |change: &Change, value: &str| {
            // With slashes first, dots are part of a name (sysctl.d(5)).
            let name = change.target.key.strip_prefix(PROC).unwrap_or(&change.target.key);
            format!("{name} = {value}\n")
        };
        let how = "Copy to /etc/sysctl.d/99-plumb.conf and run: sysctl --system";
        files.extend(both("host/99-plumb.conf", "host/99-plumb.undo.conf", how, &sysctls, line));
    }
    if !under_sys.is_empty() {
        let line = |change: &Change, value: &str| format!("w {} - - - - {value}\n", change.target.key);
        let how = "Copy to /etc/tmpfiles.d/plumb.conf and run: systemd-tmpfiles --create";
        files.extend(both(
            "host/plumb-tmpfiles.conf",
            "host/plumb-tmpfiles.undo.conf",
            how,
            &under_sys,
            line,
        ));
    }
    files
}

fn both(
    apply: &str,
    undo: &str,
    how: &str,
    settings: &[&Change],
    line: impl Fn(&Change, &str) -> String,
) -> [InstallFile; 2] {
    let written = |of: &dyn Fn(&Change) -> Option<String>| -> String {
        let lines = settings.iter().map(|change| match of(change) {
            Some(value) => line(change, &value),
            None => comment(&format!("{}: its value is not known", change.target.key)),
        });
        lines.collect()
    };
    let now = comment(&format!("{how}.")) + &written(&|change| change.after.clone());
    let was = comment(&format!("The values before, as read while the trial ran. {how}."))
        + &written(&|change| change.before.clone());
    [InstallFile::plain(apply, now), InstallFile::plain(undo, was)]
}
