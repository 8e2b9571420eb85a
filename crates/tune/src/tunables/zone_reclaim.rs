//! `vm.zone_reclaim_mode`: whether the kernel drops pages of a memory node before it takes memory of another. For a page cache that is
//! the work, far memory is better than none.

use super::memory_nodes::nodes;
use super::{Advice, Context, Look, Tunable};
use plumb_model::check::Risk;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "zone-reclaim",
    title: "pages dropped before far memory is used",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/vm.rst",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if nodes(context).len() < 2 {
        return vec![Look::not_applicable("", "this host has one memory node, so that no memory is far")];
    }
    let dropped =
        context.window.evidence_of(&["vmstat.zone_reclaim_success", "vmstat.zone_reclaim_failed"], "times");
    vec![Look::at(context, "", "vm.zone_reclaim_mode", |value| Advice {
        recommended: "0".to_owned(),
        is_met: value == "0",
        evidence: dropped,
        reason: if value == "0" {
            "memory of another node is used before pages are dropped"
        } else {
            "the kernel drops pages of the page cache while another node has free memory"
        }
        .to_owned(),
        expected: "a page cache as large as the host's memory".to_owned(),
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(mode: &str) -> Recorded {
        Recorded::new()
            .file("/sys/devices/system/node/node0/cpulist", "0\n")
            .file("/sys/devices/system/node/node1/cpulist", "1\n")
            .file("/proc/sys/vm/zone_reclaim_mode", mode)
    }

    #[test]
    fn pages_dropped_beside_free_memory_are_a_change_that_goes_back() {
        assert_eq!(host("1\n").check("zone-reclaim")[0].status, Status::NoEvidence);
        let drops = host("1\n").grew("vmstat.zone_reclaim_success", 4);
        assert_eq!(drops.check("zone-reclaim")[0].status, Status::Change);
        drops.changes_go_back("zone-reclaim");
    }

    #[test]
    fn off_is_right_and_one_node_has_nothing_to_set() {
        assert_eq!(host("0\n").check("zone-reclaim")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("zone-reclaim")[0].status, Status::NotApplicable);
    }
}
