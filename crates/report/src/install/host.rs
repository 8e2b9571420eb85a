//! Settings that were changed around blocks: of the kernel as files for systemd (sysctl.d and tmpfiles.d), of running brokers as commands of
//! Kafka's own tool, each with the way back.

use super::{InstallFile, comment};
use plumb_model::change::{Change, Owner};
use plumb_model::setting_name::ClusterName;

const PROC: &str = "/proc/sys/";

pub(super) fn files(settings: &[Change]) -> Vec<InstallFile> {
    let of_host = settings.iter().filter(|change| change.target.owner == Owner::Host);
    let (of_cluster, of_host): (Vec<&Change>, Vec<&Change>) =
        of_host.partition(|change| ClusterName::new(&change.target.key).is_some());
    let (under_sys, sysctls): (Vec<&Change>, Vec<&Change>) =
        of_host.into_iter().partition(|change| change.target.key.starts_with("/sys/"));
    let of_cluster: Vec<Change> = of_cluster.into_iter().cloned().collect();
    let mut files = super::plan::of_cluster(&of_cluster);
    if !sysctls.is_empty() {
        let lines = |of: Of| lines(&sysctls, of, sysctl_line);
        files.extend(both(
            ["host/99-plumb.conf", "host/99-plumb.undo.conf"],
            SYSCTL_HOW,
            "as read while the trial ran",
            [lines(|change| &change.after), lines(|change| &change.before)],
        ));
    }
    if !under_sys.is_empty() {
        let lines = |of: Of| lines(&under_sys, of, tmpfiles_line);
        files.extend(both(
            ["host/plumb-tmpfiles.conf", "host/plumb-tmpfiles.undo.conf"],
            TMPFILES_HOW,
            "as read while the trial ran",
            [lines(|change| &change.after), lines(|change| &change.before)],
        ));
    }
    files
}

/// Where a sysctl.d file goes, and what then makes it so.
pub(super) const SYSCTL_HOW: &str = "Copy to /etc/sysctl.d/99-plumb.conf and run: sysctl --system";
/// The same of a tmpfiles.d file.
pub(super) const TMPFILES_HOW: &str = "Copy to /etc/tmpfiles.d/plumb.conf and run: systemd-tmpfiles --create";

/// A line of sysctl.d, which has no escapes: its value is the rest of the line.
pub(super) fn sysctl_line(key: &str, value: &str) -> String {
    // With slashes first, dots are part of a name (sysctl.d(5)).
    format!("{} = {value}\n", key.strip_prefix(PROC).unwrap_or(key))
}

/// A line of tmpfiles.d, in whose last column `%` and backslashes have a meaning (tmpfiles.d(5)).
pub(super) fn tmpfiles_line(path: &str, value: &str) -> String {
    format!("w {path} - - - - {}\n", value.replace('\\', "\\\\").replace('%', "%%"))
}

/// The values of a setting after and before: which of them a file has.
type Of = fn(&Change) -> &Option<String>;

fn lines(settings: &[&Change], of: Of, line: fn(&str, &str) -> String) -> String {
    let line = |change: &&Change| match of(change) {
        Some(value) => line(&change.target.key, value),
        None => comment(&format!("{}: its value is not known", change.target.key)),
    };
    settings.iter().map(line).collect()
}

/// A file that sets, and one that sets back.
pub(super) fn both(
    [apply, undo]: [&str; 2],
    how: &str,
    read_when: &str,
    [now, was]: [String; 2],
) -> [InstallFile; 2] {
    let now = comment(&format!("{how}.")) + &now;
    let was = comment(&format!("The values before, {read_when}. {how}.")) + &was;
    [InstallFile::plain(apply, now), InstallFile::plain(undo, was)]
}
