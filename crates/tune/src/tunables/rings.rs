//! Descriptors of the receive rings: packets that came while none was free are lost.
//!
//! More than are needed is worse than enough: each is a buffer that the processor's cache has to hold.

use super::network::{each, group, number};
use super::{Advice, Context, Look, Tunable};
use crate::devices::Interface;
use crate::losses;
use crate::setting::ethtool::limits;
use plumb_model::check::{Evidence, LossLayer, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "rings",
    title: "descriptors of the receive rings",
    risk: Risk::LinkFlap,
    interrupts: "the driver makes its rings anew: packets are lost for a moment, and some drivers take the link down",
    source: "ethtool(8), the driver's counters; twice or four times, by whether more than 1 packet in 10,000 was lost, is ours",
    look,
};

/// Lost packets of all from which on the ring grows four times at once. Node checks in use alarm there; the step is ours.
const MANY: f64 = 1e-4;
/// Drivers that have no counter of a ring without descriptors: their packets are lost in the port's buffer then.
const COUNTED_AT_THE_PORT: [&str; 2] = ["i40e", "ice"];

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let reads = match group(context, name, "rings") {
        Ok(reads) => reads,
        Err(look) => return *look,
    };
    let most = limits(context.host, name, "rings").and_then(|most| most.get("rx").copied());
    let (Some(now), Some(most)) = (number(&reads, "rx"), most) else {
        return Look::found(
            name,
            Status::NotApplicable,
            reads,
            "its driver does not say how many descriptors it can have",
        );
    };
    let lost = lost(context, interface);
    if lost.is_empty() {
        return Look::found(
            name,
            Status::Ok,
            reads,
            "no packet was lost for want of a descriptor in the window; more than are needed only displace other data from the processor's cache",
        );
    }
    if context.window.sum("softnet.", ".dropped") > 0 {
        let reason = "packets were lost for want of a descriptor, and in the processors' backlog, too: what they cannot take they would only lose later";
        return Look::found(name, Status::NoEvidence, reads, reason).showing(lost);
    }
    let wanted = if share(context, name, &lost) > MANY { 4 * now } else { 2 * now };
    let wanted = wanted.next_power_of_two().min(most).max(now);
    let look = Look::at(context, name, &format!("ethtool:{name}:rings"), |_| Advice {
        recommended: format!("rx {wanted}"),
        is_met: wanted == now,
        evidence: lost,
        reason: format!(
            "packets came while none of {now} descriptors was free, and no processor's backlog was full; not its maximum of {most} at once, as each descriptor is a buffer that the processor's cache has to hold"
        ),
        expected: "bursts up to the new length are taken without loss".to_owned(),
    });
    look.or_where_it_hurts("packets are lost although its rings have all the descriptors that they can have: more queues, or processors that take them sooner, are what is left")
}

/// Counters of this interface that say that no descriptor was free.
fn lost(context: &Context<'_>, interface: &Interface) -> Vec<Evidence> {
    let of = |layer| losses::of_interface(context.window, &interface.name, layer);
    let lost = of(LossLayer::Ring);
    let counts_at_port =
        COUNTED_AT_THE_PORT.iter().any(|driver| interface.driver.as_deref() == Some(*driver));
    if lost.is_empty() && counts_at_port { of(LossLayer::PortBuffer) } else { lost }
}

/// Lost packets of all that came.
fn share(context: &Context<'_>, interface: &str, lost: &[Evidence]) -> f64 {
    // Counters of one loss by several names are not added.
    let lost = lost.iter().map(|evidence| evidence.amount).fold(0.0, f64::max);
    let came = context.window.growth(&format!("nic.{interface}.rx_packets")).unwrap_or(0);
    lost / (came as f64 + lost)
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(rings: &str) -> Recorded {
        Recorded::interface("eth0", "mlx5_core", 2)
            .file("/ethtool/eth0/rings", rings)
            .file("/ethtool/eth0/rings.max", "rx 8192 tx 8192\n")
            .grew("nic.eth0.rx_packets", 10_000_000)
    }

    #[test]
    fn a_ring_without_descriptors_grows_by_as_much_as_was_lost_and_goes_back() {
        let few = host("rx 1024 tx 1024\n").grew("nic.eth0.rx_out_of_buffer", 40);
        let check = &few.check("rings")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("rx 2048")));
        few.changes_go_back("rings");
        let many = host("rx 1000 tx 1000\n").grew("nic.eth0.rx_out_of_buffer", 40_000);
        assert_eq!(many.check("rings")[0].recommended.as_deref(), Some("rx 4096"));
    }

    #[test]
    fn without_a_loss_a_ring_is_as_it_should_be_whatever_its_length() {
        assert_eq!(host("rx 256 tx 256\n").check("rings")[0].status, Status::Ok);
        let port = host("rx 256 tx 256\n").grew("nic.eth0.rx_discards_phy", 40);
        assert_eq!(port.check("rings")[0].status, Status::Ok);
    }

    #[test]
    fn a_ring_that_is_as_long_as_it_can_be_is_advised_and_not_changed() {
        let check = &host("rx 8192 tx 8192\n").grew("nic.eth0.rx_out_of_buffer", 40).check("rings")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
    }

    #[test]
    fn processors_that_drop_too_are_no_reason_for_a_longer_ring() {
        let both =
            host("rx 1024 tx 1024\n").grew("nic.eth0.rx_out_of_buffer", 40).grew("softnet.cpu0.dropped", 3);
        let check = &both.check("rings")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::NoEvidence, 0));
    }
}
