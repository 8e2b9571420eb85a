//! `net.core.netdev_budget` and `netdev_budget_usecs`: packets, and time, that a processor gives to interfaces before it lets others run.
//!
//! `time_squeeze` counts the rounds that ended with packets left. Alone it is a known false alarm: the next round takes them.

use super::{Advice, Context, Look, Tunable};
use crate::losses::losses;
use plumb_model::check::{Evidence, LossLayer, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "napi-budget",
    title: "packets and time of one round of an interface",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/net.rst; the values are ours: twice the kernel's defaults",
    look,
};

/// The kernel's default is 300 packets.
const PACKETS: u64 = 600;
/// The kernel's default is two ticks of its clock: 2 ms where it ticks 1000 times a second, 8 ms at 250.
const TIME_US: u64 = 8000;

fn look(context: &Context<'_>) -> Vec<Look> {
    let evidence = evidence(context);
    if let Some(look) = context.of_the_hosts_network("net.core.netdev_budget", evidence.clone()) {
        return vec![look];
    }
    let of = |setting: &str, enough: u64| {
        Look::at(context, setting, setting, |value| {
            Advice {
            recommended: enough.to_string(),
            is_met: value.parse::<u64>().is_ok_and(|value| value >= enough),
            evidence: evidence.clone(),
            reason: "rounds that end early lose packets only where rings or backlogs overflow meanwhile; early ends alone do no harm".to_owned(),
            expected: "fewer drops in bursts; programs on these processors wait longer".to_owned(),
        }
        })
    };
    let mut looks = vec![of("net.core.netdev_budget", PACKETS), of("net.core.netdev_budget_usecs", TIME_US)];
    // A round ends with whichever comes first, so that one that is short makes the other's length no use.
    if looks.iter().all(|look| look.status == Status::Ok) {
        let long = "rounds end early and packets are lost although a round is long already: more queues on more processors help, and a longer round does not";
        looks = looks.into_iter().map(|look| look.or_where_it_hurts(long)).collect();
    }
    looks
}

/// Rounds that ended early together with packets that were lost for want of service.
fn evidence(context: &Context<'_>) -> Vec<Evidence> {
    let Some(squeezed) = context.window.evidence_of_sum("softnet.", ".time_squeeze", "rounds") else {
        return Vec::new();
    };
    let is_late = |layer: LossLayer| {
        matches!(layer, LossLayer::PortBuffer | LossLayer::Ring | LossLayer::SoftnetBacklog)
    };
    let lost: Vec<Evidence> = losses(context.window)
        .into_iter()
        .filter(|loss| is_late(loss.layer))
        .flat_map(|loss| loss.counters)
        .collect();
    match lost.is_empty() {
        true => Vec::new(),
        false => [squeezed].into_iter().chain(lost).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::new()
            .file("/proc/sys/net/core/netdev_budget", "300\n")
            .file("/proc/sys/net/core/netdev_budget_usecs", "2000\n")
    }

    #[test]
    fn early_ends_alone_are_no_evidence_and_neither_are_drops_alone() {
        let squeezed = host().grew("softnet.cpu0.time_squeeze", 5000);
        assert!(squeezed.check("napi-budget").iter().all(|check| check.status == Status::NoEvidence));
        let dropped = host().grew("softnet.cpu0.time_squeeze", 0).grew("softnet.cpu0.dropped", 9);
        assert!(dropped.check("napi-budget").iter().all(|check| check.status == Status::NoEvidence));
        // A damaged packet is not for want of service.
        let wire = host().grew("softnet.cpu0.time_squeeze", 9).grew("nic.eth0.rx_crc_errors", 9);
        assert!(wire.check("napi-budget").iter().all(|check| check.status == Status::NoEvidence));
    }

    #[test]
    fn early_ends_with_ring_drops_are_a_change_that_goes_back() {
        let busy = host().grew("softnet.cpu0.time_squeeze", 50).grew("nic.eth0.rx_out_of_buffer", 7);
        let checks = busy.check("napi-budget");
        assert_eq!(checks[0].status, Status::Change);
        assert_eq!(checks[0].evidence.len(), 2);
        assert_eq!(checks[1].recommended.as_deref(), Some("8000"));
        busy.changes_go_back("napi-budget");
    }

    #[test]
    fn an_operators_larger_budget_is_left_and_where_both_are_large_more_is_no_help() {
        let drops =
            |host: Recorded| host.grew("softnet.cpu0.time_squeeze", 50).grew("softnet.cpu0.dropped", 7);
        let one = drops(host().file("/proc/sys/net/core/netdev_budget", "1000\n"));
        let statuses: Vec<Status> = one.check("napi-budget").iter().map(|check| check.status).collect();
        assert_eq!(statuses, [Status::Change, Status::Ok]);
        let both = host()
            .file("/proc/sys/net/core/netdev_budget", "1000\n")
            .file("/proc/sys/net/core/netdev_budget_usecs", "8000\n");
        assert!(both.check("napi-budget").iter().all(|check| check.status == Status::Ok));
        let both = drops(both).check("napi-budget");
        assert!(both.iter().all(|check| check.status == Status::Advice && check.assignments.is_empty()));
    }
}
