//! A plan as shell scripts: `apply.sh` and `undo.sh`, and the lines of those that a unit or TuneD runs.
//!
//! Each line sets one setting and reads it back. `apply.sh` ends at the first that fails, the others do what they can.

use super::setting::{Group, Kind, Written};
use super::{Export, InstallFile, InterfaceIdentity};
use crate::install::{comment, quoted};

/// What every script starts with.
const FUNCTIONS: &str = include_str!("shell/functions.sh");

pub(super) fn files(export: &Export<'_>) -> Vec<InstallFile> {
    let on_host =
        |all: &[Written]| -> Vec<Written> { all.iter().filter(|it| it.is_lasting()).cloned().collect() };
    let (apply, undo) = (on_host(&export.apply), on_host(&export.undo));
    if apply.is_empty() {
        return Vec::new();
    }
    let head = |what: &str| format!("#!/bin/sh\n{}set -eu\n{FUNCTIONS}\n", comment(what));
    let strict = head(
        "Sets this host's settings as the plan has them, until it is started anew, and reads each back. Ends at the first that fails; undo.sh \
         then puts back what was set.",
    ) + "[ \"$(id -u)\" -eq 0 ] || { say 'run this as root'; exit 1; }\n"
        + "stopped() { say 'not all is set; ./undo.sh puts back what was'; exit 1; }\n"
        + &export.device_checks(&apply, "stopped")
        + &apply.iter().filter_map(call).map(|call| format!("{call} || stopped\n")).collect::<String>();
    let back =
        head("Puts this host's settings back as they were when the plan was made, the last one first.")
            + &export.attempts(&undo)
            + "exit \"$failed\"\n";
    vec![InstallFile::script("apply.sh", strict), InstallFile::script("undo.sh", back)]
}

impl Export<'_> {
    /// Looks whether each interface is the one that the plan was made for.
    fn device_checks(&self, all: &[Written], otherwise: &str) -> String {
        let mut names: Vec<&str> = all.iter().filter_map(Written::interface).collect();
        names.sort_unstable();
        names.dedup();
        let check = |name: &&str| Some(format!("same_device {} || {otherwise}\n", self.device_words(name)?));
        names.iter().filter_map(check).collect()
    }

    /// `eth0 0000:3b:00.0 mlx5_core`; none where nothing is known of it.
    fn device_words(&self, interface: &str) -> Option<String> {
        let InterfaceIdentity { device, driver, .. } = self.around.interfaces.get(interface)?;
        // No device has a name with a control character: whatever says so is no device's name.
        let is_name = |word: &&String| word.chars().all(|c| c.is_ascii_graphic() || c == ' ');
        let (device, driver) = (device.as_ref().filter(is_name), driver.as_ref().filter(is_name));
        if device.is_none() && driver.is_none() {
            return None;
        }
        let word = |word: Option<&String>| quoted(word.map_or("", String::as_str));
        Some(format!("{} {} {}", quoted(interface), word(device), word(driver)))
    }

    /// Each setting tried, whatever becomes of the others.
    pub(super) fn attempts(&self, all: &[Written]) -> String {
        let line = |written: &Written| {
            let call = call(written)?;
            Some(match written.interface().and_then(|interface| self.device_words(interface)) {
                Some(device) => format!("attempt_on {device} {call}\n"),
                None => format!("attempt {call}\n"),
            })
        };
        all.iter().filter_map(line).collect()
    }

    /// A script that is told `start` or `stop`.
    pub(super) fn service(&self, what: &str, apply: &[Written], undo: &[Written]) -> String {
        let branch = |word: &str, all: &[Written]| {
            let lines: String = self.attempts(all).lines().map(|line| format!("        {line}\n")).collect();
            format!("    {word})\n{lines}        ;;\n")
        };
        format!(
            "#!/bin/sh\n{}set -u\n{FUNCTIONS}\ncase ${{1:-}} in\n{}{}    *) ;;\nesac\nexit \"$failed\"\n",
            comment(what),
            branch("start", apply),
            branch("stop", undo)
        )
    }
}

/// The call that sets it; none of what a script on this host cannot set.
pub(super) fn call(written: &Written) -> Option<String> {
    let words = |words: &[&str]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    if let Some(path) = written.file() {
        return Some(words(&["set_file", &path, &written.value]));
    }
    match &written.kind {
        Kind::Driver { interface, group } => Some(match group {
            Group::Pairs(group, pairs) => {
                let pairs = pairs.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]);
                words(&["set_driver", interface, group.name()].into_iter().chain(pairs).collect::<Vec<_>>())
            }
            Group::Spread(spread) => {
                let spread = spread.iter().map(String::as_str);
                words(&["set_spread", interface].into_iter().chain(spread).collect::<Vec<_>>())
            }
            Group::FlowHash(flow, letters) => {
                let letters = if letters == "none" { "" } else { letters };
                words(&["set_flow_hash", interface, flow, letters])
            }
        }),
        Kind::Interrupt { device, name } => Some(words(&["set_interrupt", device, name, &written.value])),
        _ => None,
    }
}
