//! `kernel.numa_balancing`: the kernel takes pages away for a moment to see which processor asks for them, and moves them near it.
//!
//! Every such page costs a fault. It is wasted where the memory is near already.

use super::memory_nodes::nodes;
use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "numa-balancing",
    title: "memory moved near its processor",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/kernel.rst; the bounds of 1000 faults a second and 90 % are ours",
    look,
};

const SETTING: &str = "kernel.numa_balancing";
const FAULTS_PER_S: f64 = 1000.0;
/// The part of faults that found their memory near. Ours.
const LOCAL: f64 = 0.9;

fn look(context: &Context<'_>) -> Vec<Look> {
    if nodes(context).len() < 2 {
        return vec![Look::not_applicable("", "this host has one memory node, so that no memory is far")];
    }
    if !context.host.root().exists("/proc/sys/kernel/numa_balancing") {
        return vec![Look::not_applicable("", "this kernel does not move memory by itself")];
    }
    let evidence = wasted(context);
    vec![Look::at(context, "", SETTING, |value| {
        Advice {
        recommended: "0".to_owned(),
        // Bits: 1 moves memory near, 2 moves it between fast and slow memory, which is another matter.
            is_met: value.parse::<u32>().is_ok_and(|mode| mode & 1 == 0),
        evidence,
        reason: "the kernel's search for far memory costs a fault for each page; where memory is near already it finds nothing. Placing the process does the same for nothing".to_owned(),
        expected: "fewer faults; memory that becomes far stays far".to_owned(),
    }
    })]
}

/// Many faults that found their memory near.
fn wasted(context: &Context<'_>) -> Vec<Evidence> {
    let window = context.window;
    let (Some(faults), Some(local)) =
        (window.growth("vmstat.numa_hint_faults"), window.growth("vmstat.numa_hint_faults_local"))
    else {
        return Vec::new();
    };
    let is_many = window.per_s("vmstat.numa_hint_faults").is_some_and(|faults| faults > FAULTS_PER_S);
    match is_many && local as f64 >= LOCAL * faults as f64 {
        true => window.evidence_of(&["vmstat.numa_hint_faults", "vmstat.numa_hint_faults_local"], "faults"),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::new()
            .file("/sys/devices/system/node/node0/cpulist", "0\n")
            .file("/sys/devices/system/node/node1/cpulist", "1\n")
            .file("/proc/sys/kernel/numa_balancing", "1\n")
    }

    #[test]
    fn faults_that_find_memory_near_are_a_change_that_goes_back() {
        let wasted =
            host().grew("vmstat.numa_hint_faults", 100_000).grew("vmstat.numa_hint_faults_local", 99_000);
        assert_eq!(wasted.check("numa-balancing")[0].status, Status::Change);
        wasted.changes_go_back("numa-balancing");
    }

    #[test]
    fn faults_that_find_far_memory_do_their_work() {
        let useful =
            host().grew("vmstat.numa_hint_faults", 100_000).grew("vmstat.numa_hint_faults_local", 50_000);
        assert_eq!(useful.check("numa-balancing")[0].status, Status::NoEvidence);
        assert_eq!(host().check("numa-balancing")[0].status, Status::NoEvidence);
    }

    #[test]
    fn moving_memory_between_fast_and_slow_is_another_matter() {
        let tiers = host()
            .file("/proc/sys/kernel/numa_balancing", "2\n")
            .grew("vmstat.numa_hint_faults", 100_000)
            .grew("vmstat.numa_hint_faults_local", 99_000);
        assert!(tiers.check("numa-balancing").iter().all(|check| check.assignments.is_empty()));
    }

    #[test]
    fn one_node_has_no_far_memory() {
        assert_eq!(Recorded::new().check("numa-balancing")[0].status, Status::NotApplicable);
        assert_eq!(
            host().file("/proc/sys/kernel/numa_balancing", "0\n").check("numa-balancing")[0].status,
            Status::Ok
        );
    }
}
