//! Time that the hypervisor gave to others while this machine wanted it. No setting of this host changes it.

use super::cpu_time::{percent, share};
use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};
use plumb_model::figure;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "steal",
    title: "time that the hypervisor gave to others",
    risk: Risk::Low,
    interrupts: "",
    source: "proc_stat(5); the bounds of 2 % over 10 s and of 5 % are ours",
    look,
};

/// More of all time is felt: a stolen slice is some milliseconds long. Few of them in a short window are chance. Ours.
const FELT: f64 = 0.02;
const FELT_OVER_S: f64 = 10.0;
/// So much is felt in any window. Ours.
const MUCH: f64 = 0.05;

fn look(context: &Context<'_>) -> Vec<Look> {
    let is_guest = context.facts.virtualisation.value().map(|found| found.virtual_machine);
    let felt = if context.window.seconds() >= FELT_OVER_S { FELT } else { MUCH };
    let shown = |share: f64| vec![percent(context, "cpu.steal_ticks of all", share)];
    // A level, which varies: it is nothing that is set.
    let look = match (is_guest, share(context, "cpu", &["steal"])) {
        (Some(false), _) => Look::not_applicable("", "no hypervisor is below this kernel"),
        (_, None) => Look::unknown("", "the kernel's times of processors cannot be read"),
        (_, Some(share)) if share >= felt => Look::plain("", Status::Advice, "programs wait while others have the processor, and no setting here ends it: ask for processors that are not shared, or spend fewer where the machine has a budget of time (burstable types)")
            .showing(shown(share)),
        (_, Some(share)) => Look::plain("", Status::Ok, format!("the hypervisor gave nearly all of the time that was asked for, as far as it says: {} went to others", figure::percent(share))),
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    fn check(flags: &str, steal: u64) -> SettingCheck {
        Recorded::new()
            .file("/proc/cpuinfo", &format!("processor : 0\nflags : {flags}\n"))
            .grew("cpu.steal_ticks", steal)
            .grew("cpu.idle_ticks", 1000 - steal)
            .check("steal")[0]
            .clone()
    }

    #[test]
    fn stolen_time_is_told_in_a_virtual_machine() {
        let stolen = check("fpu hypervisor", 50);
        assert_eq!((stolen.status, stolen.evidence[0].amount), (Status::Advice, 5.0));
        assert_eq!(check("fpu hypervisor", 15).status, Status::Ok);
        assert_eq!(check("fpu hypervisor", 20).status, Status::Advice);
        assert_eq!(stolen.configured, None);
    }

    #[test]
    fn a_kernel_on_hardware_has_nobody_that_steals() {
        assert_eq!(check("fpu", 50).status, Status::NotApplicable);
    }
}
