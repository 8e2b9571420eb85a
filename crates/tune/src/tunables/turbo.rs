//! Frequencies above the nominal one (turbo, boost). A report: peers contradict each other, some switch it on and some off, so that a trial
//! is to show it.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "turbo",
    title: "frequencies above the nominal one",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/pm/cpufreq.rst and intel_pstate.rst",
    look,
};

/// The files, and the value with which it is on.
const FILES: [(&str, &str); 2] =
    [("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"), ("/sys/devices/system/cpu/cpufreq/boost", "1")];

fn look(context: &Context<'_>) -> Vec<Look> {
    let Some((file, on)) = FILES.into_iter().find(|(file, _)| context.host.root().exists(file)) else {
        return vec![Look::not_applicable(
            "",
            "this kernel has no switch for it: a hypervisor or the firmware decides",
        )];
    };
    let look = match context.read(file) {
        Err(reason) => Look::unknown("", reason),
        Ok(value) if value == on => Look::found(
            "",
            Status::Ok,
            "on",
            "processors are as fast as power and heat allow; how fast, changes with the work of all",
        ),
        Ok(_) => Look::found(
            "",
            Status::NoEvidence,
            "off",
            "processors keep to their nominal frequency: slower, and steadier. No counter tells which this host is better with",
        ),
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn it_is_told_and_never_changed() {
        let intel = |value| Recorded::new().file("/sys/devices/system/cpu/intel_pstate/no_turbo", value);
        let check = &intel("1\n").check("turbo")[0];
        assert_eq!(
            (check.status, check.configured.as_deref(), check.assignments.len()),
            (Status::NoEvidence, Some("off"), 0)
        );
        assert_eq!(intel("0\n").check("turbo")[0].status, Status::Ok);
        let other = Recorded::new().file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
        assert_eq!(other.check("turbo")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("turbo")[0].status, Status::NotApplicable);
    }
}
