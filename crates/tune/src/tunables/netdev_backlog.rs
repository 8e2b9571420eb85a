//! `net.core.netdev_max_backlog`: packets that wait for a processor after they left the driver. Only packet steering, tunnels and virtual
//! interfaces go through it.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::Risk;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "netdev-backlog",
    title: "packets that wait for a processor",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/net.rst; the factor of 4 is ours",
    look,
};

const SETTING: &str = "net.core.netdev_max_backlog";
/// The kernel's default is 1000; four times holds a burst four times as long. Ours.
const ENOUGH: u64 = 4000;

fn look(context: &Context<'_>) -> Vec<Look> {
    let dropped = context.window.evidence_of_sum("softnet.", ".dropped", "packets");
    if let Some(look) = context.of_the_hosts_network(SETTING, dropped.iter().cloned().collect()) {
        return vec![look];
    }
    vec![Look::at_number(context, "", SETTING, |value| {
        // While packets are dropped, what there is does not do.
        let wanted = if dropped.is_some() { ENOUGH.max(value.saturating_mul(4)) } else { ENOUGH };
        Advice {
            recommended: wanted.to_string(),
            is_met: value >= wanted,
            evidence: dropped.into_iter().collect(),
            reason: match value >= wanted {
                true => "no processor's backlog was full",
                false => {
                    "a processor whose backlog is full drops packets that the interface has already taken"
                }
            }
            .to_owned(),
            expected: "fewer packets dropped in bursts, each at the price of a longer wait".to_owned(),
        }
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::new().file("/proc/sys/net/core/netdev_max_backlog", "1000\n")
    }

    #[test]
    fn drops_in_the_window_make_it_a_change_and_none_make_it_no_evidence() {
        let calm = host().check("netdev-backlog");
        assert_eq!(calm[0].status, Status::NoEvidence);
        let lossy =
            host().grew("softnet.cpu0.dropped", 12).grew("softnet.cpu1.dropped", 3).check("netdev-backlog");
        assert_eq!((lossy[0].status, lossy[0].evidence[0].amount), (Status::Change, 15.0));
        assert_eq!(lossy[0].recommended.as_deref(), Some("4000"));
    }

    #[test]
    fn drops_that_are_seen_within_a_namespace_say_where_their_bound_is() {
        let within = Recorded::new().file("/proc/sys/net/core/somaxconn", "4096\n");
        let lossy = &within.grew("softnet.cpu0.dropped", 12).check("netdev-backlog")[0];
        assert_eq!((lossy.status, lossy.evidence[0].amount), (Status::Advice, 12.0));
        assert!(lossy.reason.contains("netdev_max_backlog bounds this"), "{}", lossy.reason);
        assert!(lossy.reason.contains("the host's own network namespace"), "{}", lossy.reason);
    }

    #[test]
    fn an_operators_larger_value_is_not_lowered() {
        let set = Recorded::new().file("/proc/sys/net/core/netdev_max_backlog", "250000\n");
        assert_eq!(set.check("netdev-backlog")[0].status, Status::Ok);
    }

    #[test]
    fn the_change_goes_back_to_the_byte() {
        host().grew("softnet.cpu0.dropped", 12).changes_go_back("netdev-backlog");
    }
}
