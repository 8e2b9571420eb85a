//! Which processors serve interrupts and which the application, planned together: moving one without the other is worse than neither.
//!
//! Shared: every processor near an interface does both. Dedicated: some whole cores of the interfaces' memory nodes serve interrupts alone,
//! and the application has the rest; that pays where interrupts take most of a processor. A node keeps at least one core for the
//! application whatever is asked.

use crate::cpus;
use crate::devices::{self, Interface};
use crate::host::Host;
use plumb_model::check::CpuUse;
use std::collections::{BTreeMap, BTreeSet};

/// Processors for each interrupt processor in dedicated mode (ours, as seastar's perftune has it).
const CPUS_FOR_ONE: usize = 16;
/// Fewer processors than this are shared whatever is asked (ours).
const CPUS_MIN: usize = 4;

/// The processors of a host and what each is for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) online: BTreeSet<u32>,
    pub(crate) interrupts: BTreeSet<u32>,
    pub(crate) application: BTreeSet<u32>,
    /// Each processor's place among those that share its core.
    thread: BTreeMap<u32, usize>,
}

impl Placement {
    /// True if interrupts have processors of their own.
    pub(crate) fn is_dedicated(&self) -> bool {
        self.interrupts.is_disjoint(&self.application) && !self.interrupts.is_empty()
    }

    /// The processors that the interrupts of an interface go to in turn: those of the plan that are near it, one of each core first.
    pub(crate) fn for_interrupts(&self, near: &BTreeSet<u32>) -> Vec<u32> {
        let own: BTreeSet<u32> = self.interrupts.intersection(near).copied().collect();
        self.one_of_each_core_first(if own.is_empty() { &self.interrupts } else { &own })
    }

    /// Processors in the order in which work is spread over them: siblings come after all cores have some.
    pub(crate) fn one_of_each_core_first(&self, cpus: &BTreeSet<u32>) -> Vec<u32> {
        let mut ordered: Vec<u32> = cpus.iter().copied().collect();
        ordered.sort_by_key(|cpu| (self.thread.get(cpu).copied().unwrap_or(0), *cpu));
        ordered
    }
}

/// Plans the processors of a host for these interfaces and processes.
pub(crate) fn placement(host: &Host, interfaces: &[Interface], processes: &[u32], shared: bool) -> Placement {
    let online = devices::online_cpus(host);
    let cores = cores(host, &online);
    let thread = cores.iter().flat_map(|core| core.iter().copied().zip(0..)).collect();
    let isolated = list(host, "/sys/devices/system/cpu/isolated");
    // Those of the nodes that the interfaces hang on: a packet stays in the memory that is near.
    let near: Vec<BTreeSet<u32>> = near_nodes(host, interfaces, &online);
    let interrupts = match shared || online.len() < CPUS_MIN {
        true => BTreeSet::new(),
        false => {
            let limits = cpusets(host, processes, &online);
            let wanted = online.len().div_ceil(CPUS_FOR_ONE).div_ceil(near.len().max(1));
            let of_node = |node: &BTreeSet<u32>| set_apart(&cores, node, &isolated, &limits, wanted);
            near.iter().flat_map(of_node).collect()
        }
    };
    if !interrupts.is_empty() {
        let application = online.difference(&interrupts).copied().collect();
        return Placement { interrupts, application, online, thread };
    }
    // What an operator keeps free of everything stays free of interrupts, too.
    let near: BTreeSet<u32> = near.into_iter().flatten().collect();
    let free: BTreeSet<u32> = near.difference(&isolated).copied().collect();
    let interrupts = if free.is_empty() { near } else { free };
    Placement { interrupts, application: online.clone(), online, thread }
}

/// Whole cores of a node for interrupts alone, and at least one left: a sibling that serves interrupts takes from the other what it wants
/// for itself.
fn set_apart(
    cores: &[BTreeSet<u32>],
    node: &BTreeSet<u32>,
    isolated: &BTreeSet<u32>,
    limits: &[BTreeSet<u32>],
    wanted: usize,
) -> BTreeSet<u32> {
    let mut own: Vec<&BTreeSet<u32>> = cores.iter().filter(|core| core.is_subset(node)).collect();
    // Those last that a process is bound to: it cannot make room.
    own.sort_by_key(|core| limits.iter().any(|limit| !limit.is_disjoint(core)));
    let left = own.len().saturating_sub(1);
    let mut taken = BTreeSet::new();
    for core in own.into_iter().take(left).filter(|core| core.is_disjoint(isolated)) {
        if taken.len() >= wanted {
            break;
        }
        taken.extend(core);
    }
    taken
}

/// The processors on line of each memory node that an interface hangs on; of all nodes where none is known to.
fn near_nodes(host: &Host, interfaces: &[Interface], online: &BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
    let near: BTreeSet<u32> = interfaces
        .iter()
        .filter(|interface| interface.pci.is_some() && interface.is_up)
        .flat_map(|interface| devices::node_cpus(host, interface.node))
        .collect();
    let nodes: Vec<BTreeSet<u32>> = nodes(host)
        .into_iter()
        .map(|node| devices::node_cpus(host, Some(node)).intersection(online).copied().collect())
        .filter(|cpus: &BTreeSet<u32>| !cpus.is_empty())
        .collect();
    let nodes = if nodes.is_empty() { vec![online.clone()] } else { nodes };
    let is_near = |node: &&BTreeSet<u32>| !node.is_disjoint(&near);
    let found: Vec<BTreeSet<u32>> = nodes.iter().filter(is_near).cloned().collect();
    if found.is_empty() { nodes } else { found }
}

/// The memory nodes by number.
fn nodes(host: &Host) -> Vec<u32> {
    let names = host.root().list("/sys/devices/system/node").unwrap_or_default();
    let mut nodes: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    nodes.sort_unstable();
    nodes
}

/// The processors on line by the cores that they share.
fn cores(host: &Host, online: &BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
    let of = |cpu: &u32| -> BTreeSet<u32> {
        let mut core = list(host, &format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
        core.insert(*cpu);
        core.intersection(online).copied().collect()
    };
    let mut cores: Vec<BTreeSet<u32>> = Vec::new();
    for cpu in online {
        if !cores.iter().any(|core| core.contains(cpu)) {
            cores.push(of(cpu));
        }
    }
    cores
}

/// The processors that control groups keep these processes to, where those are not all.
fn cpusets(host: &Host, processes: &[u32], online: &BTreeSet<u32>) -> Vec<BTreeSet<u32>> {
    let limit = |process: &u32| {
        let text = host.root().read(&format!("/proc/{process}/cgroup")).ok()?;
        text.lines().find_map(|line| of_group(host, line)).filter(|limit| !online.is_subset(limit))
    };
    processes.iter().filter_map(limit).collect()
}

/// The processors of the group that a line of `/proc/PID/cgroup` names: `0::/system.slice/kafka.service`, or `5:cpuset:/kafka` of the
/// first version (cgroups(7)).
fn of_group(host: &Host, line: &str) -> Option<BTreeSet<u32>> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (top, file) = match (number, controllers) {
        ("0", "") => ("/sys/fs/cgroup", "cpuset.cpus.effective"),
        (_, controllers) if controllers.split(',').any(|own| own == "cpuset") => {
            ("/sys/fs/cgroup/cpuset", "cpuset.effective_cpus")
        }
        _ => return None,
    };
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    // A group without the controller has what the one above it has.
    let groups = std::path::Path::new(path).ancestors();
    let cpus = groups.map(|group| list(host, &format!("{top}{}/{file}", group.display())));
    cpus.into_iter().find(|cpus| !cpus.is_empty())
}

/// A list of processors in a file; empty where there is none.
fn list(host: &Host, path: &str) -> BTreeSet<u32> {
    cpus::parse_list(&host.root().read(path).unwrap_or_default()).unwrap_or_default()
}

/// The map of processors: where each is, which interrupts go to it, and what the plan has it for.
pub(crate) fn map(host: &Host, interfaces: &[Interface], placement: &Placement) -> Vec<CpuUse> {
    let mut served: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for interface in interfaces {
        for interrupt in devices::interrupts(host, &interface.name) {
            let place = |file: &str| host.root().read(&format!("/proc/irq/{}/{file}", interrupt.number)).ok();
            let text =
                place("effective_affinity_list").or_else(|| place("smp_affinity_list")).unwrap_or_default();
            for cpu in cpus::parse_list(&text).unwrap_or_default() {
                served.entry(cpu).or_default().insert(interface.name.clone());
            }
        }
    }
    let number = |cpu: u32, file: &str| {
        let text = host.root().read(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/{file}")).ok()?;
        text.trim().parse().ok()
    };
    let nodes = nodes(host);
    let node_of = |cpu: u32| {
        nodes.iter().copied().find(|node| devices::node_cpus(host, Some(*node)).contains(&cpu)).unwrap_or(0)
    };
    let planned = |cpu: &u32| match (placement.interrupts.contains(cpu), placement.application.contains(cpu))
    {
        (true, true) => "both",
        (true, false) => "interrupts",
        (false, _) => "application",
    };
    let row = |cpu: &u32| CpuUse {
        cpu: *cpu,
        node: node_of(*cpu),
        core: number(*cpu, "core_id").unwrap_or(*cpu),
        interrupts: served.remove(cpu).unwrap_or_default().into_iter().collect(),
        planned: planned(cpu).to_owned(),
    };
    placement.online.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunables::recorded::Recorded;

    /// A host of nodes with these processors, whose cores have these threads, with an interface on some nodes.
    fn host(nodes: &[&str], siblings: impl Fn(u32) -> String, interfaces: &[u32]) -> Recorded {
        let mut host = Recorded::new();
        let mut online = BTreeSet::new();
        for (node, cpus) in nodes.iter().enumerate() {
            host = host.file(&format!("/sys/devices/system/node/node{node}/cpulist"), &format!("{cpus}\n"));
            online.extend(cpus::parse_list(cpus).unwrap());
        }
        for cpu in &online {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            host = host.file(&path, &siblings(*cpu));
        }
        for node in interfaces {
            let (name, pci) =
                (format!("eth{node}"), format!("/sys/devices/pci0000:{node}0/0000:{node}0:00.0"));
            host = host
                .file(&format!("{pci}/numa_node"), &format!("{node}\n"))
                .file(&format!("/sys/class/net/{name}/operstate"), "up\n")
                .file(&format!("/sys/class/net/{name}/queues/rx-0/rps_cpus"), "0\n")
                .link(&format!("/sys/class/net/{name}/device"), &pci);
        }
        host.file("/sys/devices/system/cpu/online", &cpus::list(&online))
    }

    fn planned(recorded: &Recorded, processes: &[u32], shared: bool) -> (String, String) {
        let host = recorded.host();
        let plan = placement(&host, &devices::interfaces(&host), processes, shared);
        assert!(!plan.application.is_empty() && plan.interrupts.is_subset(&plan.online));
        (cpus::list(&plan.interrupts), cpus::list(&plan.application))
    }

    fn texts(interrupts: &str, application: &str) -> (String, String) {
        (interrupts.to_owned(), application.to_owned())
    }

    /// Two nodes of 16 cores with two threads each, as a two-socket Xeon numbers them.
    fn two_sockets(interfaces: &[u32]) -> Recorded {
        host(&["0-15,32-47", "16-31,48-63"], |cpu| format!("{},{}\n", cpu % 32, cpu % 32 + 32), interfaces)
    }

    #[test]
    fn dedicated_processors_are_whole_cores_of_the_interfaces_node() {
        assert_eq!(planned(&two_sockets(&[1]), &[], false), texts("16-17,48-49", "0-15,18-47,50-63"));
        assert_eq!(planned(&two_sockets(&[0]), &[], false).0, "0-1,32-33");
    }

    #[test]
    fn interfaces_of_several_nodes_take_from_each() {
        assert_eq!(planned(&two_sockets(&[0, 1]), &[], false).0, "0,16,32,48");
    }

    #[test]
    fn shared_is_every_processor_near_an_interface_and_the_application_has_all() {
        assert_eq!(planned(&two_sockets(&[1]), &[], true), texts("16-31,48-63", "0-63"));
        assert_eq!(planned(&host(&["0-2"], |cpu| cpu.to_string(), &[0]), &[], false), texts("0-2", "0-2"));
    }

    #[test]
    fn an_interface_that_is_down_attracts_nothing() {
        let down = two_sockets(&[0, 1]).file("/sys/class/net/eth1/operstate", "down\n");
        assert_eq!(planned(&down, &[], false).0, "0-1,32-33");
    }

    #[test]
    fn a_node_keeps_a_core_for_the_application() {
        let small = host(&["0-1", "2-3", "4-5", "6-7"], |cpu| cpu.to_string(), &[0, 1, 2, 3]);
        assert_eq!(planned(&small, &[], false), texts("0,2,4,6", "1,3,5,7"));
        let one_core = host(&["0-1", "2-3"], |cpu| format!("{}-{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1), &[0]);
        assert_eq!(planned(&one_core, &[], false), texts("0-1", "0-3"));
    }

    #[test]
    fn processors_that_are_off_line_are_not_in_the_plan() {
        let off = two_sockets(&[0]).file("/sys/devices/system/cpu/online", "1-31,33-63\n");
        assert_eq!(planned(&off, &[], false), texts("1-2,33-34", "3-31,35-63"));
        let without_threads = two_sockets(&[0]).file("/sys/devices/system/cpu/online", "0-31\n");
        assert_eq!(planned(&without_threads, &[], false).0, "0-1");
    }

    #[test]
    fn a_process_that_its_group_binds_keeps_its_processors() {
        for (group, path, file) in [
            ("0::/kafka.slice/kafka.service", "/sys/fs/cgroup/kafka.slice", "cpuset.cpus.effective"),
            ("12:pids:/x\n5:cpuset,cpu:/kafka", "/sys/fs/cgroup/cpuset/kafka", "cpuset.effective_cpus"),
        ] {
            let bound = two_sockets(&[0])
                .file("/proc/77/cgroup", &format!("{group}\n"))
                .file(&format!("{path}/{file}"), "0-13,32-45\n");
            assert_eq!(planned(&bound, &[77], false).0, "14-15,46-47", "{group}");
            assert_eq!(planned(&bound, &[], false).0, "0-1,32-33");
        }
        let outside = two_sockets(&[0]).file("/proc/77/cgroup", "0::/../..\n");
        assert_eq!(planned(&outside, &[77], false).0, "0-1,32-33");
    }

    #[test]
    fn what_is_kept_free_of_everything_is_kept_free_of_interrupts() {
        let isolated = two_sockets(&[0]).file("/sys/devices/system/cpu/isolated", "0-3,32-35\n");
        assert_eq!(planned(&isolated, &[], false).0, "4-5,36-37");
        assert_eq!(planned(&isolated, &[], true).0, "4-15,36-47");
    }

    #[test]
    fn interrupts_go_to_one_thread_of_each_core_first() {
        let recorded = two_sockets(&[0]);
        let host = recorded.host();
        let plan = placement(&host, &devices::interfaces(&host), &[], false);
        assert_eq!(plan.for_interrupts(&devices::node_cpus(&host, Some(0))), [0, 1, 32, 33]);
        assert_eq!(plan.for_interrupts(&devices::node_cpus(&host, Some(1))), [0, 1, 32, 33]);
    }

    #[test]
    fn the_map_has_each_processors_node_core_interrupts_and_part() {
        let recorded = Recorded::interface("eth0", "ixgbe", 2)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/node/node0/cpulist", "0-1\n")
            .file("/sys/devices/system/node/node1/cpulist", "2-3\n")
            .file("/sys/devices/system/cpu/cpu2/topology/core_id", "7\n")
            .file("/proc/irq/41/effective_affinity_list", "2\n");
        let host = recorded.host();
        let interfaces = devices::interfaces(&host);
        let plan = placement(&host, &interfaces, &[], false);
        let map = map(&host, &interfaces, &plan);
        let row = |cpu: usize| {
            (map[cpu].node, map[cpu].core, map[cpu].interrupts.clone(), map[cpu].planned.as_str())
        };
        assert_eq!(map.len(), 4);
        assert_eq!(row(0), (0, 0, vec!["eth0".to_owned()], "interrupts"));
        assert_eq!(row(2), (1, 7, vec!["eth0".to_owned()], "interrupts"));
        assert_eq!(row(3), (1, 3, Vec::new(), "application"));
    }
}
