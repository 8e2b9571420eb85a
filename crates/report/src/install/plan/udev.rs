//! udev rules: settings of disks and network interfaces, given whenever the device appears.
//!
//! A device is matched by the path by which udev knows it, and by its name only where no path is known.

use super::Surroundings;
use super::setting::{is_plain, is_word};
use crate::install::comment;

/// Rules in the making.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// With whether it chooses the scheduler, which resets the other settings of a queue, so that it has to come first.
    lines: Vec<(bool, String)>,
    names_address: bool,
}

impl Rules {
    /// True if a rule holds the setting.
    pub(super) fn take(&mut self, path: &str, value: &str, around: &Surroundings) -> bool {
        if !is_plain(value) {
            return false;
        }
        let below = |top: &str| path.strip_prefix(top)?.split_once('/');
        if let Some((disk, attribute)) = below("/sys/block/").or_else(|| below("/sys/class/block/")) {
            if !attribute.starts_with("queue/") {
                return false;
            }
            let device = match path_of(around.disks.get(disk)) {
                Some(path) => format!("ENV{{ID_PATH}}==\"{path}\""),
                None => format!("KERNEL==\"{disk}\""),
            };
            self.lines.push((
                attribute == "queue/scheduler",
                format!(
                    "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {device}, ATTR{{{attribute}}}=\"{value}\"\n"
                ),
            ));
            return true;
        }
        let Some((interface, attribute)) = below("/sys/class/net/") else { return false };
        let Some(identity) = around.interfaces.get(interface) else { return false };
        let device = match (path_of(identity.path.as_ref()), path_of(identity.address.as_ref())) {
            (Some(path), _) => format!("ENV{{ID_PATH}}==\"{path}\""),
            (None, Some(address)) => {
                self.names_address = true;
                format!("ATTR{{address}}==\"{address}\"")
            }
            (None, None) => return false,
        };
        self.lines.push((
            false,
            format!("ACTION==\"add\", SUBSYSTEM==\"net\", {device}, ATTR{{{attribute}}}=\"{value}\"\n"),
        ));
        true
    }

    /// The file, if there is any rule, and whether it fits other hosts.
    pub(super) fn text(mut self) -> (Option<String>, bool) {
        if self.lines.is_empty() {
            return (None, true);
        }
        self.lines.sort_by_key(|(is_scheduler, _)| !is_scheduler);
        let head = comment(
            "Copy to /etc/udev/rules.d/99-plumb.rules and run: udevadm control --reload. For disks that are there already: udevadm trigger \
             --subsystem-match=block --action=change; interfaces have theirs when they appear next.",
        );
        (Some(head + &self.lines.into_iter().map(|(_, line)| line).collect::<String>()), !self.names_address)
    }
}

/// A path or address that has no character with a meaning in a rule or a match.
pub(super) fn path_of(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| is_word(text, ".:_@+-"))
}
