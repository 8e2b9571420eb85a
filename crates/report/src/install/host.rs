//! Kernel settings of the host as files for systemd: sysctl.d and tmpfiles.d, each with the way back.

use super::settings::{Owner, Setting};
use super::{InstallFile, comment};

const PROC: &str = "/proc/sys/";

pub(super) fn files(settings: &[Setting]) -> Vec<InstallFile> {
    let of_host: Vec<&Setting> = settings.iter().filter(|setting| setting.owner == Owner::Host).collect();
    let (under_sys, sysctls): (Vec<&Setting>, Vec<&Setting>) =
        of_host.into_iter().partition(|setting| setting.key.starts_with("/sys/"));
    let mut files = Vec::new();
    if !sysctls.is_empty() {
        let line = |setting: &Setting, value: &str| {
            // With slashes first, dots are part of a name (sysctl.d(5)).
            let name = setting.key.strip_prefix(PROC).unwrap_or(&setting.key);
            format!("{name} = {value}\n")
        };
        let how = "Copy to /etc/sysctl.d/99-plumb.conf and run: sysctl --system";
        files.extend(both("host/99-plumb.conf", "host/99-plumb.undo.conf", how, &sysctls, line));
    }
    if !under_sys.is_empty() {
        let line = |setting: &Setting, value: &str| format!("w {} - - - - {value}\n", setting.key);
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
    settings: &[&Setting],
    line: impl Fn(&Setting, &str) -> String,
) -> [InstallFile; 2] {
    let written = |of: &dyn Fn(&Setting) -> Option<String>| -> String {
        let lines = settings.iter().map(|setting| match of(setting) {
            Some(value) => line(setting, &value),
            None => comment(&format!("{}: its value is not known", setting.key)),
        });
        lines.collect()
    };
    let now = comment(&format!("{how}.")) + &written(&|setting| setting.now.clone());
    let was = comment(&format!("The values before, as read while the trial ran. {how}."))
        + &written(&|setting| setting.was.clone());
    [InstallFile::plain(apply, now), InstallFile::plain(undo, was)]
}
