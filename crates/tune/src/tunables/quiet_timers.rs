//! `kernel.timer_migration` and `kernel.nmi_watchdog`: small interruptions of a program that measures. Only a load generator is asked.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Risk, Role};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "quiet-timers",
    title: "small interruptions of a program that measures",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/kernel.rst; as tuned's profile for latency has it",
    look,
};

const SETTINGS: [(&str, &str); 2] = [
    ("kernel.timer_migration", "timers of sleeping processors are moved to one that works, and interrupt it"),
    (
        "kernel.nmi_watchdog",
        "the kernel's watchdog interrupts each processor now and then, and takes one of its counters",
    ),
];

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role != Role::LoadGenerator {
        return Vec::new();
    }
    let of = |(setting, reason): (&str, &str)| {
        if !context.host.root().exists(&format!("/proc/sys/{}", setting.replace('.', "/"))) {
            return Look::not_applicable(setting, "this kernel was built without it");
        }
        Look::at(context, setting, setting, |value| Advice {
            recommended: "0".to_owned(),
            is_met: value == "0",
            evidence: Vec::new(),
            reason: format!(
                "{reason}; whether that spoils a measurement here, no counter of the kernel's tells"
            ),
            expected: "fewer interruptions, of some microseconds each".to_owned(),
        })
    };
    SETTINGS.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{Role, Status};

    #[test]
    fn only_a_load_generator_is_asked_and_nothing_is_planned_unasked() {
        let host = Recorded::new().role(Role::LoadGenerator).file("/proc/sys/kernel/timer_migration", "1\n");
        let checks = host.check("quiet-timers");
        assert_eq!((checks[0].status, checks[1].status), (Status::NoEvidence, Status::NotApplicable));
        host.changes_without_evidence_go_back("quiet-timers");
        let set = host.file("/proc/sys/kernel/timer_migration", "0\n");
        assert!(set.check("quiet-timers").iter().any(|check| check.status == Status::Ok));
        assert!(set.role(Role::KafkaBroker).check("quiet-timers").is_empty());
    }
}
