//! Processes and threads that a process's control group may have: the bound that a unit's own limit sets, long before the host's.

use super::near_limit::NEAR;
use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "task-limit",
    title: "threads that a unit may have",
    risk: Risk::Low,
    interrupts: "",
    source: "systemd.resource-control(5), TasksMax; kernel documentation, admin-guide/cgroup-v2.rst; the share of 70 % is ours",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    context.each_process(of_process)
}

fn of_process(context: &Context<'_>, process: u32) -> Look {
    let target = format!("process {process}");
    let root = context.host.root();
    let groups = match root.read(&format!("/proc/{process}/cgroup")) {
        Ok(groups) => groups,
        Err(error) => return Look::unknown(&target, error.to_string()),
    };
    // `0::/system.slice/kafka.service`
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Look::unknown(
            &target,
            "its control group is of the old kind, which Plumb does not look at here",
        );
    };
    // The nearest bound: a group without one has that of the group above it.
    let mut place = group.trim_end_matches('/');
    loop {
        let text =
            |file: &str| Some(root.read(&format!("/sys/fs/cgroup{place}/{file}")).ok()?.trim().to_owned());
        let bound: Option<u64> = text("pids.max").and_then(|text| text.parse().ok());
        let used: Option<u64> = text("pids.current").and_then(|text| text.parse().ok());
        if let (Some(bound), Some(used)) = (bound, used) {
            return judge(&target, bound, used);
        }
        match place.rsplit_once('/') {
            Some((above, _)) => place = above,
            None => {
                return Look::found(
                    &target,
                    Status::Ok,
                    "none",
                    "its control group sets no bound of threads",
                );
            }
        }
    }
}

fn judge(target: &str, bound: u64, used: u64) -> Look {
    let value = bound.to_string();
    match used as f64 >= NEAR * bound as f64 {
        true => {
            let more = bound.saturating_mul(2);
            let by_hand = format!(
                "`systemctl set-property UNIT TasksMax={more}`, where the process is of a systemd unit"
            );
            let reason = "its control group has nearly as many threads as it may, and a program that can start none ends";
            Look::found(target, Status::Advice, value, reason)
                .by_hand(by_hand)
                .showing(vec![level("pids.current", used as f64, "threads")])
                .recommending(more.to_string())
        }
        false => Look::found(target, Status::Ok, value, format!("its control group has {used} threads")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(used: &str) -> Recorded {
        Recorded::new()
            .process(77)
            .file("/proc/77/cgroup", "0::/system.slice/kafka.service\n")
            .file("/sys/fs/cgroup/system.slice/kafka.service/pids.max", "max\n")
            .file("/sys/fs/cgroup/system.slice/kafka.service/pids.current", used)
            .file("/sys/fs/cgroup/system.slice/pids.max", "1000\n")
            .file("/sys/fs/cgroup/system.slice/pids.current", used)
    }

    #[test]
    fn a_unit_near_its_bound_is_told_with_the_property_to_set() {
        let check = &host("900\n").check("task-limit")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.by_hand.contains("TasksMax=2000"), "{}", check.by_hand);
        assert_eq!(host("90\n").check("task-limit")[0].status, Status::Ok);
    }

    #[test]
    fn no_bound_is_right_and_no_process_is_nothing_to_look_at() {
        let free = Recorded::new().process(77).file("/proc/77/cgroup", "0::/\n");
        assert_eq!(free.check("task-limit")[0].configured.as_deref(), Some("none"));
        assert_eq!(Recorded::new().check("task-limit")[0].status, Status::NotApplicable);
        assert_eq!(Recorded::new().process(9).check("task-limit")[0].status, Status::Unknown);
    }
}
