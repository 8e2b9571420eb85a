//! What the kernel does about processors' vulnerabilities. A report: Plumb never advises less of it.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};
use plumb_model::facts::Fact;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "mitigations",
    title: "defences against processors' vulnerabilities",
    risk: Risk::Reboot,
    interrupts: "",
    source: "kernel documentation, admin-guide/hw-vuln/ and admin-guide/kernel-parameters.rst",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    let option = context.facts.mitigations.value().cloned().unwrap_or_else(|| "unknown".to_owned());
    let look = match &context.facts.vulnerabilities {
        Fact::Unknown { reason } => Look::unknown("", reason.clone()),
        Fact::Known { value, .. } => {
            let count = |word: &str| value.values().filter(|state| state.starts_with(word)).count();
            let found = format!(
                "mitigations={option}: {} defended, {} open",
                count("Mitigation"),
                count("Vulnerable")
            );
            match count("Vulnerable") {
                0 => Look::found(
                    "",
                    Status::Ok,
                    found,
                    "each defence costs time at calls into the kernel and switches between programs; what in all, only a trial after a restart tells",
                ),
                _ => Look::found(
                    "",
                    Status::NoEvidence,
                    found,
                    "some vulnerabilities are open: that is for the owner of this host's security to decide, not a matter of performance",
                ),
            }
        }
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn defences_are_told_and_never_advised_against() {
        let host = |state: &str| {
            Recorded::new()
                .file("/proc/cmdline", "ro quiet\n")
                .file("/sys/devices/system/cpu/vulnerabilities/spectre_v2", state)
                .file("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n")
                .check("mitigations")[0]
                .clone()
        };
        let defended = host("Mitigation: Retpolines\n");
        assert_eq!((defended.status, defended.assignments.len()), (Status::Ok, 0));
        assert_eq!(host("Vulnerable\n").status, Status::NoEvidence);
    }
}
