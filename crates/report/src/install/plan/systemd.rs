//! Units: one that runs a script after the network is up, and lines for the units of processes.

use super::setting::{Kind, LeftOut, is_word};
use super::{Export, InstallFile};
use crate::install::comment;
use plumb_model::check::Status;
use std::collections::BTreeMap;

/// Where the script goes.
pub(super) const SCRIPT: &str = "/usr/local/lib/plumb/plumb-tune";

/// The tunable whose advice is a limit of open files.
const FILES: &str = "file-descriptors";

/// The unit that runs the script.
pub(super) fn unit() -> String {
    comment(&format!(
        "Copy to /etc/systemd/system/plumb-tune.service, the script beside it to {SCRIPT} (mode 755), and run: systemctl daemon-reload && \
         systemctl enable plumb-tune.service"
    )) + &format!(
        "[Unit]
Description=Settings of network drivers and interrupts that Plumb planned
Wants=network-online.target
# irqbalance would move interrupts again.
After=network-online.target irqbalance.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={SCRIPT} start

[Install]
WantedBy=multi-user.target
"
    )
}

/// Lines for the units of processes whose processors are changed.
pub(super) fn drop_ins(export: &Export<'_>, left_out: &mut Vec<LeftOut>) -> Vec<InstallFile> {
    let mut lines: BTreeMap<u32, String> = BTreeMap::new();
    for written in &export.apply {
        if let Kind::Process { pid } = written.kind {
            // AllowedCPUs= holds the whole unit by its control group, CPUAffinity= what the program sees.
            let cpus = written.value.replace(',', " ");
            *lines.entry(pid).or_default() += &format!("CPUAffinity={cpus}\nAllowedCPUs={cpus}\n");
        }
    }
    for check in
        export.plan.left_out.iter().filter(|check| check.id == FILES && check.status == Status::Advice)
    {
        let pid = check.target.strip_prefix("process ").and_then(|pid| pid.parse().ok());
        let files = check.recommended.as_ref().and_then(|files| files.parse::<u64>().ok());
        if let (Some(pid), Some(files)) = (pid, files) {
            *lines.entry(pid).or_default() += &format!("LimitNOFILE={files}\n");
        }
    }
    let mut files = Vec::new();
    for (pid, lines) in lines {
        let unit =
            export.around.units.get(&pid).filter(|unit| {
                is_word(unit, ":_.@\\-") && unit.ends_with(".service") && !unit.starts_with('.')
            });
        let (path, how) = match unit {
            Some(unit) => (
                format!("systemd/{unit}.d/plumb.conf"),
                format!(
                    "Copy to /etc/systemd/system/{unit}.d/plumb.conf, run systemctl daemon-reload and restart {unit} when it suits."
                ),
            ),
            None => {
                left_out.push(LeftOut::new(
                    &format!("affinity:{pid}"),
                    "the unit of this process is not known: put the lines of its file into the unit's .d directory",
                ));
                let how = format!(
                    "For the unit that ran as process {pid}: copy to /etc/systemd/system/UNIT.service.d/plumb.conf."
                );
                (format!("systemd/process-{pid}.conf"), how)
            }
        };
        let text =
            comment(&how) + &comment("Undo: remove it, and restart the unit.") + "[Service]\n" + &lines;
        files.push(InstallFile::plain(&path, text));
    }
    files
}
