//! How the firmware has cut a processor into memory nodes (Cluster-on-Die, sub-NUMA clustering, NPS), and how caches ask each other (snoop
//! mode). Both are the firmware's, and take a restart: told, with how sure it is.

use super::memory_nodes::{far_memory, nodes};
use super::{Context, Look, Tunable};
use crate::devices;
use plumb_model::check::{Risk, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "snoop-mode",
    title: "memory nodes of one processor, and its snoop mode",
    risk: Risk::Reboot,
    interrupts: "",
    source: "Intel's and AMD's guides to firmware settings; the bound of 10 % of far memory is ours",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    match context.facts.virtualisation.value().map(|found| found.virtual_machine) {
        Some(true) => {
            return vec![Look::not_applicable(
                "",
                "a hypervisor states the nodes of a virtual machine, and its firmware is not the processor's",
            )];
        }
        None => return vec![Look::unknown("", "it is not known whether a hypervisor states the nodes")],
        Some(false) => {}
    }
    vec![clusters(context), snoop(context)]
}

/// Nodes with processors, of each package.
fn clusters(context: &Context<'_>) -> Look {
    let target = "nodes of a package";
    let package = |cpu: &u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        context.host.root().read(&path).ok()?.trim().parse::<i32>().ok()
    };
    let packages: BTreeSet<i32> = devices::online_cpus(context.host).iter().filter_map(package).collect();
    let with_cpus = nodes(context)
        .into_iter()
        .filter(|node| !devices::node_cpus(context.host, Some(*node)).is_empty())
        .count();
    if packages.is_empty() || with_cpus == 0 {
        return Look::unknown(target, "the kernel does not say which processors are one package or node");
    }
    let each = with_cpus / packages.len();
    let caches = last_level_caches(context);
    let value = match caches {
        Some(caches) => format!("{with_cpus} nodes, {} packages, {caches} level-3 caches", packages.len()),
        None => format!("{with_cpus} nodes, {} packages", packages.len()),
    };
    if each < 2 {
        return Look::found(
            target,
            Status::Ok,
            value,
            "certain, by the kernel's topology: the firmware has not cut the processor into several nodes",
        );
    }
    // AMD's firmware can make a node of each cache, too, which looks the same.
    let sure = match caches.is_some_and(|caches| caches as usize == with_cpus) {
        true => {
            "certain, by the kernel's topology: the firmware has cut each processor into several nodes; inferred, as each level-3 cache has one: sub-NUMA clustering, Cluster-on-Die, NPS, or a node for each cache"
        }
        false => {
            "certain, by the kernel's topology: the firmware has cut each processor into several nodes (sub-NUMA clustering, Cluster-on-Die or NPS)"
        }
    };
    match far_memory(context) {
        Some(far) => Look::found(target, Status::Advice, value, format!("{sure}. Much memory is taken from far nodes: place each process on one node, or let the firmware make one node of each processor (SNC off, NPS1), which takes a restart and should be tried on one host"))
            .showing(vec![far])
            .recommending("one node for each package"),
        None => Look::found(target, Status::NoEvidence, value, format!("{sure}. Hardly any memory is taken from far nodes, so that near memory is the faster for it")),
    }
}

/// The number of level-3 caches.
fn last_level_caches(context: &Context<'_>) -> Option<u32> {
    let topology = context.facts.cpu_topology.value()?;
    topology.caches.iter().find(|cache| cache.level == 3).map(|cache| cache.count)
}

/// Only Haswell and Broadwell servers have a choice that matters; later ones keep a directory.
fn snoop(context: &Context<'_>) -> Look {
    const WITH_A_CHOICE: [u32; 2] = [63, 79];
    let target = "snoop mode";
    match context.facts.cpu_identity.value().map(|cpu| (cpu.vendor.as_str(), cpu.family, cpu.model)) {
        None => Look::unknown(target, "the processor does not say its generation"),
        Some(("GenuineIntel", Some(6), Some(model))) if WITH_A_CHOICE.contains(&model) => Look::unknown(
            target,
            "inferred: this generation has a choice (early, home, directory), and the kernel does not see it; the firmware's menu or its management controller does (an attribute such as SnoopMode). Early has the shorter waits, home the higher bandwidth between packages: try it on one host",
        ),
        Some(("GenuineIntel", ..)) => {
            Look::not_applicable(target, "this generation has no such choice, or none that matters")
        }
        Some(_) => Look::not_applicable(target, "only Intel's processors have it"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    fn host(model: u32, flags: &str) -> Recorded {
        let cpuinfo = format!(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nstepping\t: 1\nflags\t\t: {flags}\n"
        );
        let host = Recorded::new()
            .file("/proc/cpuinfo", &cpuinfo)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/node/node0/cpulist", "0-1\n")
            .file("/sys/devices/system/node/node1/cpulist", "2-3\n");
        (0..4).fold(host, |host, cpu| {
            host.file(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), "0\n")
        })
    }

    fn of(host: &Recorded, target: &str) -> SettingCheck {
        host.check("snoop-mode").into_iter().find(|check| check.target == target).unwrap()
    }

    #[test]
    fn a_processor_cut_into_nodes_is_told_where_memory_is_far() {
        let far = host(85, "fpu").grew("vmstat.numa_local", 1000).grew("vmstat.numa_other", 1000);
        let check = of(&far, "nodes of a package");
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.starts_with("certain"));
        assert_eq!(of(&host(85, "fpu"), "nodes of a package").status, Status::NoEvidence);
    }

    #[test]
    fn two_packages_of_one_node_each_are_not_cut() {
        let two = host(85, "fpu")
            .file("/sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n")
            .file("/sys/devices/system/cpu/cpu3/topology/physical_package_id", "1\n");
        assert_eq!(of(&two, "nodes of a package").status, Status::Ok);
    }

    #[test]
    fn the_snoop_mode_is_not_seen_where_there_is_a_choice() {
        assert_eq!(of(&host(79, "fpu"), "snoop mode").status, Status::Unknown);
        assert_eq!(of(&host(85, "fpu"), "snoop mode").status, Status::NotApplicable);
        assert_eq!(host(79, "fpu hypervisor").check("snoop-mode")[0].status, Status::NotApplicable);
    }
}
