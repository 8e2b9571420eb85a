//! `net.netfilter.nf_conntrack_max`: connections that the firewall follows. A packet that would be one more is dropped.

use super::near_limit::Use;
use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "conntrack",
    title: "connections that the firewall follows",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, networking/nf_conntrack-sysctl.rst; the share of 70 % is ours",
    look,
};

const SETTING: &str = "net.netfilter.nf_conntrack_max";
/// Some 400 bytes each: more than four millions should be somebody's decision. Ours.
const MOST: u64 = 4 << 20;

fn look(context: &Context<'_>) -> Vec<Look> {
    if !context.host.root().exists("/proc/sys/net/netfilter/nf_conntrack_max") {
        return vec![context.absent(
            "",
            "/proc/sys/net",
            "no firewall of this network namespace follows connections",
        )];
    }
    let Some(used) = context.number("net.netfilter.nf_conntrack_count") else {
        return vec![Look::unknown("", "the number of connections that are followed cannot be read")];
    };
    let near = Use {
        setting: SETTING,
        counter: "net.netfilter.nf_conntrack_count",
        unit: "connections",
        used,
        at_least: 0,
        at_most: MOST,
        reason: "when the table is full the firewall drops packets of new connections; net.netfilter.nf_conntrack_buckets should grow with it",
        expected: "no new connection dropped for want of room",
    };
    let mut found = near.look(context, "");
    // A packet that lost a race to insert counts as failed, too, and is no sign of a full table; one that was dropped may be an invalid one.
    if found.status == Status::Change {
        found
            .evidence
            .extend(context.window.evidence_of(&["conntrack.drop", "conntrack.early_drop"], "packets"));
    }
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(used: &str) -> Recorded {
        Recorded::new()
            .file("/proc/sys/net/netfilter/nf_conntrack_max", "65536\n")
            .file("/proc/sys/net/netfilter/nf_conntrack_count", used)
    }

    #[test]
    fn a_table_that_is_nearly_full_is_doubled_and_goes_back() {
        let full = host("60000\n").grew("conntrack.early_drop", 4);
        let check = &full.check("conntrack")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("131072")));
        assert_eq!(check.evidence.len(), 2);
        full.changes_go_back("conntrack");
    }

    #[test]
    fn the_kernels_table_is_read_as_it_shows_it() {
        let shown =
            host("1\n").file("/proc/net/stat/nf_conntrack", "entries found drop\n0005 00 0a\n0005 00 01\n");
        let counters = plumb_observe::named_counters(shown.host().root());
        assert_eq!(counters.get("conntrack.drop"), Some(&11));
        assert_eq!(counters.get("conntrack.entries"), None);
    }

    #[test]
    fn drops_of_a_table_with_room_are_no_evidence() {
        let roomy = host("600\n").grew("conntrack.insert_failed", 9).grew("conntrack.drop", 4);
        assert_eq!(roomy.check("conntrack")[0].status, Status::Ok);
    }
}
