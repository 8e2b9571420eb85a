//! The number of an interface's queues: with fewer than processors near it, some processor serves more than its part.

use super::network::{HOT, each, group, hot_by, near, number, received, uneven};
use super::{Advice, Context, Look, Tunable};
use crate::devices::Interface;
use crate::setting::ethtool::limits;
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "channels",
    title: "queues of a network interface",
    risk: Risk::LinkFlap,
    interrupts: "the interface makes its queues anew: packets are lost for a moment, and some drivers take the link down",
    source: "kernel documentation, networking/scaling.rst; the queues that a driver spreads packets over as seastar's perftune has them",
    look,
};

/// Queues over which these drivers' cards spread packets, at most, whatever number they can have (seastar, perftune.py).
const SPREAD_MAX: [(&str, u64); 5] =
    [("ixgbe", 16), ("ixgbevf", 4), ("i40e", 64), ("iavf", 16), ("i40evf", 16)];

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

/// Why what a change of the queues resets is not changed with it.
pub(super) const FIRST: &str = "its queues are made anew first (channels); check again afterwards";

/// True if counters ask for more queues.
pub(super) fn are_made_anew(context: &Context<'_>, interface: &Interface) -> bool {
    of_interface(context, interface).status == Status::Change
}

/// True if the device can have more of the queues that serve it, whether counters ask for them or not.
pub(super) fn can_be_more(context: &Context<'_>, interface: &Interface) -> bool {
    !of_interface(context, interface).assignments.is_empty()
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let reads = match group(context, name, "channels") {
        Ok(reads) => reads,
        Err(look) => return *look,
    };
    let most = limits(context.host, name, "channels").unwrap_or_default();
    let is_combined = most.get("combined").is_some_and(|most| *most > 0);
    let key = if is_combined { "combined" } else { "rx" };
    let (Some(most), Some(now)) = (most.get(key).copied(), number(&reads, key)) else {
        return Look::found(
            name,
            Status::NotApplicable,
            reads,
            "its driver does not say how many queues it can have",
        );
    };
    let near = near(context, interface).len() as u64;
    let hot = hot_evidence(context, interface);
    if most == 1 && near > 1 {
        let reason = "the device has one queue, so that one processor serves all of its packets; only the hypervisor gives it more (libvirt: queues=N in the driver element of the interface; QEMU: queues=N of the netdev with vectors=2N+2 of the device)";
        let status = if hot.is_empty() { Status::NotApplicable } else { Status::Advice };
        return Look::found(name, status, reads, reason).showing(hot);
    }
    let spread = SPREAD_MAX.iter().find(|(driver, _)| interface.driver.as_deref() == Some(*driver));
    let wanted = near.min(most).min(spread.map_or(u64::MAX, |(_, most)| *most)).max(now);
    let is_met = wanted == now;
    let look = Look::at(context, name, &format!("ethtool:{name}:channels"), |_| Advice {
        recommended: if is_combined { format!("combined {wanted}") } else { format!("rx {wanted}") },
        is_met,
        evidence: hot,
        reason: format!(
            "it has {now} queues, {near} processors are near it, and its device can have {most}; making queues anew resets the spread of packets, interrupts and steering, so check those again afterwards"
        ),
        expected: "its packets are served by more processors; each serves fewer at a time".to_owned(),
    });
    look.or_where_it_hurts("it has as many queues as serve it, and one processor is nevertheless hot: see whether its flows are even")
}

/// One processor is hot with this interface's packets, and not because one queue gets most of them.
fn hot_evidence(context: &Context<'_>, interface: &Interface) -> Vec<Evidence> {
    let hot = hot_by(context, interface, HOT).map(|(_, evidence)| evidence);
    let is_uneven = uneven(context, &interface.name, &received(context, &interface.name)).is_some();
    hot.filter(|_| !is_uneven).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(channels: &str, most: &str) -> Recorded {
        Recorded::interface("eth0", "ixgbe", 2)
            .file("/sys/devices/system/cpu/online", "0-7\n")
            .file("/ethtool/eth0/channels", channels)
            .file("/ethtool/eth0/channels.max", most)
            .grew("nic.eth0.rx_queue_0_packets", 500_000)
            .grew("nic.eth0.rx_queue_1_packets", 500_000)
            .grew("irq.eth0-TxRx-0.cpu0", 90_000)
    }

    fn hot(host: Recorded) -> Recorded {
        host.grew("cpu0.softirq_ticks", 700).grew("cpu0.idle_ticks", 300)
    }

    #[test]
    fn few_queues_and_a_hot_processor_are_a_change_to_one_for_each_near_processor() {
        let check = &hot(host("combined 2\n", "combined 63\n")).check("channels")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("combined 8")));
        hot(host("combined 2\n", "combined 63\n")).changes_go_back("channels");
        assert_eq!(host("combined 2\n", "combined 63\n").check("channels")[0].status, Status::NoEvidence);
    }

    #[test]
    fn queues_that_get_uneven_parts_are_not_mended_by_more_of_them() {
        let skewed = hot(host("combined 2\n", "combined 63\n")).grew("nic.eth0.rx_queue_1_packets", 1);
        assert_eq!(skewed.check("channels")[0].status, Status::NoEvidence);
    }

    #[test]
    fn more_queues_than_needed_are_an_operators_and_stay() {
        let check = &host("combined 16\n", "combined 63\n").check("channels")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Ok, Some("combined 16")));
    }

    #[test]
    fn a_driver_with_queues_apart_is_told_of_those_that_receive() {
        let check = &hot(host("rx 2 tx 2\n", "rx 4 tx 4\n")).check("channels")[0];
        assert_eq!(check.recommended.as_deref(), Some("rx 4"));
    }

    #[test]
    fn one_queue_is_the_hypervisors() {
        let check = &hot(host("combined 1\n", "combined 1\n")).check("channels")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        assert!(check.reason.contains("queues=N"), "{}", check.reason);
        assert_eq!(host("combined 1\n", "combined 1\n").check("channels")[0].status, Status::NotApplicable);
    }
}
