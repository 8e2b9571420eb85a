//! Whether a process runs on the memory node of its network interface. A report: placing it is the work of its unit.

use super::memory_nodes::{far_memory, near_memory, nodes, nodes_of};
use super::{Context, Look, Tunable};
use crate::cpus;
use plumb_model::check::{Risk, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "numa-placement",
    title: "memory node of the application",
    risk: Risk::Performance,
    interrupts: "",
    source: "systemd.exec(5), NUMAMask and CPUAffinity; the bound of 10 % is ours",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if nodes(context).len() < 2 {
        return vec![Look::not_applicable("", "this host has one memory node, so that no memory is far")];
    }
    context.each_process(of_process)
}

fn of_process(context: &Context<'_>, process: u32) -> Look {
    let target = format!("process {process}");
    let status = match context.host.root().read(&format!("/proc/{process}/status")) {
        Ok(status) => status,
        Err(error) => return Look::unknown(&target, error.to_string()),
    };
    let list = |key: &str| cpus::parse_list(status.lines().find_map(|line| line.strip_prefix(key))?);
    let (Some(cpus), Some(memory)) = (list("Cpus_allowed_list:"), list("Mems_allowed_list:")) else {
        return Look::unknown(&target, "the kernel does not say where it may run");
    };
    let runs = nodes_of(context, &cpus);
    let value = format!("processors of nodes {}, memory of nodes {}", cpus::list(&runs), cpus::list(&memory));
    let near: BTreeSet<u32> =
        context.interfaces.iter().filter(|of| of.is_up).filter_map(|of| of.node).collect();
    let reason = if near.is_empty() {
        "the firmware does not say which node the network interface hangs on".to_owned()
    } else if runs.is_subset(&near) && runs == memory {
        return Look::found(&target, Status::Ok, value, "it runs on the node of the network interface");
    } else if runs.is_disjoint(&near) {
        format!("its network interface hangs on node {}, and it may not run there", cpus::list(&near))
    } else {
        format!("its network interface hangs on node {}, and it may run on others, too", cpus::list(&near))
    };
    match far_memory(context) {
        Some(far) => Look::found(&target, Status::Advice, value, format!("{reason}. Much memory is taken from far nodes: give it one node in its unit (CPUAffinity=numa, NUMAPolicy=bind, NUMAMask=), if it fits"))
            .showing(vec![far]),
        None => {
            let near = near_memory(context, "it costs little");
            Look::found(&target, Status::NoEvidence, value, format!("{reason}. {near}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(cpus: &str, node: &str) -> Recorded {
        Recorded::new()
            .process(77)
            .file("/sys/devices/system/node/node0/cpulist", "0-3\n")
            .file("/sys/devices/system/node/node1/cpulist", "4-7\n")
            .file("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n")
            .file("/sys/class/net/eth0/operstate", "up\n")
            .file("/sys/class/net/eth0/device/numa_node", "0\n")
            .file("/proc/77/status", &format!("Cpus_allowed_list:\t{cpus}\nMems_allowed_list:\t{node}\n"))
    }

    #[test]
    fn a_process_far_from_its_interface_is_told_where_memory_is_far() {
        let far = host("4-7", "1").grew("vmstat.numa_local", 1000).grew("vmstat.numa_other", 500);
        let check = &far.check("numa-placement")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.contains("may not run there"), "{}", check.reason);
        assert_eq!(host("4-7", "1").check("numa-placement")[0].status, Status::NoEvidence);
    }

    #[test]
    fn a_process_on_its_interfaces_node_is_right() {
        let far = host("0-3", "0").grew("vmstat.numa_local", 1000).grew("vmstat.numa_other", 500);
        assert_eq!(far.check("numa-placement")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("numa-placement")[0].status, Status::NotApplicable);
    }
}
