//! What a reader of the directory needs: which of the ways to choose, what each file does, where it goes, and what is in none.

use super::{Export, InstallFile, dangerous};
use crate::paint::printable;
use plumb_model::figure::counted;

pub(super) fn text(export: &Export<'_>, files: &[InstallFile]) -> String {
    let plan = export.plan;
    let mut text = format!(
        "# Settings that last\n\nThe plan of {}, for a host of the role {}: {}. `plumb tune apply` makes them until the host is started anew; these \
         files make them last.\n\n",
        cell(&plan.made_at),
        plan.role.word(),
        counted(plan.changes.len(), "change")
    );
    text += CHOOSE;
    text += "\n| setting | was | will be |\n|---|---|---|\n";
    for planned in &plan.changes {
        let change = &planned.change;
        let value = |value: &Option<String>| value.as_deref().map_or("not known".to_owned(), code);
        text += &format!(
            "| {} | {} | {} |\n",
            code(&change.target.key),
            value(&change.before),
            value(&change.after)
        );
    }
    text += &force(export);
    text += "\n## Files\n\n";
    for file in files {
        text += &format!("- {}: {}\n", code(&file.path), purpose(&file.path));
    }
    if !export.left_out.is_empty() {
        text += "\n## Left out\n\n";
        let mut lines: Vec<String> = Vec::new();
        for left in &export.left_out {
            let line = format!("- {}: {}\n", code(&left.name), cell(&left.reason));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        text += &lines.concat();
    }
    text += "\n## Undo\n\n";
    text += UNDO;
    text
}

/// What the role does with changes that a host refuses without `--force`; empty where the plan has none.
fn force(export: &Export<'_>) -> String {
    let names: Vec<String> = dangerous(export.plan).into_iter().map(code).collect();
    if names.is_empty() {
        return String::new();
    }
    let done = match export.is_forced {
        true => {
            "the Ansible role makes them all the same (`plumb_tune_force`), as the plan was exported with `--force`"
        }
        false => {
            "the Ansible role fails on each host before anything is changed there, unless the plan is exported with `--force` or the role is run with `-e plumb_tune_force=true`"
        }
    };
    format!(
        "\nThese can take down the only way to a host, or lose data: {}. `plumb tune apply` refuses them without `--force`, and {done}. The other files \
         set them without asking.\n",
        names.join(", ")
    )
}

const CHOOSE: &str = "Choose one of these, not two: what two programs set, the later one wins, and an undo of one is undone by the other.

1. **The system's own files** (`sysctl.d`, `udev`, `tmpfiles.d`, `network`, `systemd`), for one host. Each setting is in one of them.
2. **TuneD** (`tuned/plumb`), where TuneD runs already.
3. **Ansible** (`ansible`), for many hosts: it checks before and after, puts a host back that got worse, and installs the files of 1.

`apply.sh` and `undo.sh` set everything now and last no longer than a start of the host: to try it, or where none of the above is there.
Files for units (`*.d/plumb.conf`), for Kafka (`kafka`) and for the kernel's command line go beside any of the three.
";

const UNDO: &str = "`./undo.sh`, as root, puts this host back at once, the last setting first. Then remove the files that were copied: nothing else of the system was \
changed. Of the system's own files: `sysctl.d/99-plumb.conf` and `tmpfiles.d/plumb.conf` have a file each that sets the values before; what udev rules, \
`.link` files and the unit set is as it was after the next start of the host. TuneD: `tuned-adm profile` with the profile that is \
included. Ansible: `revert.yml`. Kafka: `kafka/configs.sh BOOTSTRAP undo`.
";

/// The purpose of a file, and its place.
fn purpose(path: &str) -> &'static str {
    match path {
        "sysctl.d/99-plumb.conf" => {
            "kernel settings, for /etc/sysctl.d/. On Debian and Ubuntu what /etc/sysctl.conf sets is read after it and wins: take such lines out there"
        }
        "tmpfiles.d/plumb.conf" => "other files below /sys, for /etc/tmpfiles.d/",
        "sysctl.d/99-plumb.undo.conf" | "tmpfiles.d/plumb.undo.conf" => {
            "the values before, to go in its place"
        }
        "udev/99-plumb.rules" => {
            "disks' queues and interfaces' files, for /etc/udev/rules.d/, whenever the device appears"
        }
        "systemd/plumb-tune.service" => {
            "runs the script below after the network is up, for /etc/systemd/system/"
        }
        "systemd/plumb-tune" => {
            "what no file of the system's own can hold: looks whether each interface is still the same device with the same driver, then sets; for /usr/local/lib/plumb/"
        }
        "tuned/plumb/tuned.conf" => {
            "TuneD's profile, on top of the one that is active; the directory goes to /etc/tuned/"
        }
        "tuned/plumb/plumb.sh" => "what TuneD's own sections cannot set",
        "kernel-command-line.txt" => "what takes other boot options or firmware settings, to be done by hand",
        "kafka/configs.sh" => {
            "`./configs.sh BOOTSTRAP` sets brokers and topics, `./configs.sh BOOTSTRAP undo` sets them back"
        }
        "apply.sh" => "sets everything now, reads each back, ends at the first that fails",
        "undo.sh" => "puts everything back now, the last one first",
        "ansible/README.md" => "how to use the role",
        "ansible/site.yml" => "the roll-out",
        "ansible/revert.yml" => "the way back",
        "ansible/inventory.example.ini" => "how hosts are named",
        "ansible/inventory.ini" => "the hosts of the groups that were drawn",
        path if path.starts_with("network/") => {
            "rings, channels, coalescing and offloads of an interface, for /etc/systemd/network/, at the next start of the host"
        }
        path if path.starts_with("systemd/") => "lines for the unit of a process, at its next start",
        path if path.starts_with("ansible/roles/") => "the role",
        _ => "see inside",
    }
}

/// A name in the middle of a line, whatever is in it.
fn code(text: &str) -> String {
    format!("`{}`", cell(text).replace('`', "'"))
}

fn cell(text: &str) -> String {
    let text = printable(text).to_string();
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
