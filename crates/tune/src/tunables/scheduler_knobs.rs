//! Settings of the kernel's scheduler. A report: their names and meanings change between kernels, and no counter asks for one.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "scheduler",
    title: "the kernel's scheduler",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, scheduler/",
    look,
};

/// The name of a setting, and its places: newest kernels first.
const SETTINGS: [(&str, &[&str]); 3] = [
    ("autogroup", &["/proc/sys/kernel/sched_autogroup_enabled"]),
    (
        "slice",
        &[
            "/sys/kernel/debug/sched/base_slice_ns",
            "/sys/kernel/debug/sched/min_granularity_ns",
            "/proc/sys/kernel/sched_min_granularity_ns",
        ],
    ),
    (
        "migration cost",
        &["/sys/kernel/debug/sched/migration_cost_ns", "/proc/sys/kernel/sched_migration_cost_ns"],
    ),
];

fn look(context: &Context<'_>) -> Vec<Look> {
    let of = |(name, places): (&str, &[&str])| {
        let value = places.iter().find_map(|place| context.read(place).ok());
        match value {
            None => Look::unknown(
                name,
                "this kernel does not have it, or keeps it in debugfs, which is not mounted or needs privileges",
            ),
            Some(value) if name == "autogroup" && value == "1" => Look::found(
                name,
                Status::NoEvidence,
                value,
                "programs started at one terminal share their processors' time as one; services of systemd do not take part, a program started by hand does",
            ),
            Some(value) => Look::found(
                name,
                Status::Ok,
                value,
                "as it was found; only a trial tells whether another value is better",
            ),
        }
    };
    SETTINGS.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn settings_are_told_by_whichever_name_the_kernel_has_for_them() {
        let host = Recorded::new()
            .file("/proc/sys/kernel/sched_autogroup_enabled", "1\n")
            .file("/proc/sys/kernel/sched_min_granularity_ns", "3000000\n");
        let status = |target: &str| {
            host.check("scheduler").into_iter().find(|check| check.target == target).unwrap().status
        };
        assert_eq!(status("autogroup"), Status::NoEvidence);
        assert_eq!(status("slice"), Status::Ok);
        assert_eq!(status("migration cost"), Status::Unknown);
        assert!(host.check("scheduler").iter().all(|check| check.assignments.is_empty()));
    }
}
