//! `net.core.flow_limit_cpu_bitmap`: processors that drop packets of the largest flows first when their backlog is half full.
//!
//! It protects many small flows from one large one. Where the large flows are the work (producers, replication), it drops the work.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Risk, Role};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "flow-limit",
    title: "packets of large flows dropped first",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, networking/scaling.rst; that large flows are a broker's work is ours",
    look,
};

const SETTING: &str = "net.core.flow_limit_cpu_bitmap";

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::WebEdge {
        return Vec::new();
    }
    let dropped = context.window.evidence_of_sum("softnet.", ".flow_limit", "packets");
    if let Some(look) = context.of_the_hosts_network(SETTING, dropped.iter().cloned().collect()) {
        return vec![look];
    }
    if !context.host.root().exists("/proc/sys/net/core/flow_limit_cpu_bitmap") {
        return vec![context.absent(
            "",
            "/proc/sys/net/core",
            "this kernel was built without the flow limit",
        )];
    }
    vec![Look::at(context, "", SETTING, |value| {
        // As many digits as the kernel shows, so that what is read back is the same.
        let none = value.chars().map(|digit| if digit == ',' { ',' } else { '0' }).collect();
        Advice {
            is_met: value == none,
            reason: match value == none {
                true => "no processor drops packets of large flows first",
                false => "the limit drops packets of the largest flows while a backlog is more than half full; producers and replication are such flows",
            }
            .to_owned(),
            recommended: none,
            evidence: dropped.into_iter().collect(),
            expected: "no packets of large flows dropped before the backlog is full".to_owned(),
        }
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{Role, Status};

    fn host(bitmap: &str) -> Recorded {
        Recorded::new().file("/proc/sys/net/core/flow_limit_cpu_bitmap", bitmap)
    }

    #[test]
    fn a_limit_that_drops_is_a_change_and_one_that_does_not_has_no_evidence() {
        assert_eq!(host("ff\n").check("flow-limit")[0].status, Status::NoEvidence);
        let drops = host("ff\n").grew("softnet.cpu0.flow_limit", 12);
        let check = &drops.check("flow-limit")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("00")));
        drops.changes_go_back("flow-limit");
    }

    #[test]
    fn no_limit_is_right_and_an_edge_may_have_one() {
        assert_eq!(host("00\n").grew("softnet.cpu0.dropped", 9).check("flow-limit")[0].status, Status::Ok);
        assert!(host("ff\n").role(Role::WebEdge).check("flow-limit").is_empty());
    }
}
