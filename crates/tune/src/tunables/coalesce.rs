//! How long a card waits for more packets before it interrupts: none for many is a processor that does nothing but begin and end.

use super::network::{each, group, packets_per_s, pairs};
use super::{Advice, Context, Look, Tunable};
use crate::devices::Interface;
use crate::queues::{self, Way};
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "coalesce",
    title: "packets for each interrupt",
    risk: Risk::Performance,
    interrupts: "",
    source: "ethtool(8) and kernel documentation, networking/net_dim.rst; the bounds of 20,000 interrupts a second and 4 packets each are ours",
    look,
};

/// Interrupts a second of one interface that are many. Ours.
const MANY_PER_S: f64 = 20_000.0;
/// Packets for each interrupt that are few. Ours.
const FEW: f64 = 4.0;

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let reads = match group(context, name, "coalesce") {
        Ok(reads) => reads,
        Err(look) => return *look,
    };
    let evidence = evidence(context, name);
    match pairs(&reads).get("adaptive-rx").copied() {
        None => {
            let status = if evidence.is_empty() { Status::NotApplicable } else { Status::Advice };
            let reason = "its driver does not follow the load by itself; a fixed wait (rx-usecs) is a matter of a trial";
            Look::found(name, status, reads, reason).showing(evidence)
        }
        Some("on") => Look::found(name, Status::Ok, reads, "the wait before an interrupt follows the load"),
        Some(_) => Look::at(context, name, &format!("ethtool:{name}:coalesce"), |_| {
            Advice {
            recommended: "adaptive-rx on".to_owned(),
            is_met: false,
            evidence,
            reason: "the wait before an interrupt is fixed, whatever comes; an operator may want it so for latency"
                .to_owned(),
            expected: "fewer interrupts under load, none later when there is little".to_owned(),
        }
        }),
    }
}

/// Many interrupts, each for few packets.
fn evidence(context: &Context<'_>, interface: &str) -> Vec<Evidence> {
    let interrupts: u64 = queues::interrupts(context.host, interface)
        .iter()
        .flat_map(|interrupt| queues::served(context.window, &interrupt.name).into_values())
        .sum();
    let per_s = interrupts as f64 / context.window.seconds();
    let received = packets_per_s(context, interface, Way::Receive);
    let sent = packets_per_s(context, interface, Way::Send);
    let each = (received.unwrap_or(0.0) + sent.unwrap_or(0.0)) / per_s;
    let total = |counter: String, amount: f64, unit: &str| Evidence {
        counter,
        amount: amount.round(),
        unit: unit.to_owned(),
        over_s: Some(context.window.seconds()),
    };
    match received.is_some() && per_s >= MANY_PER_S && each < FEW {
        true => vec![
            total(format!("{interface} interrupts"), interrupts as f64, "interrupts"),
            total(format!("{interface} packets both ways"), each * interrupts as f64, "packets"),
        ],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(coalesce: &str, interrupts: u64) -> Recorded {
        Recorded::interface("eth0", "ice", 2)
            .file("/ethtool/eth0/coalesce", coalesce)
            .grew("nic.eth0.rx_packets", 500_000)
            .grew("irq.eth0-TxRx-0.cpu0", interrupts)
    }

    const FIXED: &str = "adaptive-rx off adaptive-tx on rx-usecs 0 tx-usecs 50\n";

    #[test]
    fn many_interrupts_for_few_packets_are_a_change_that_goes_back() {
        let busy = host(FIXED, 300_000);
        let check = &busy.check("coalesce")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("adaptive-rx on")));
        assert_eq!((check.evidence[0].amount, check.evidence[1].amount), (300_000.0, 500_000.0));
        busy.changes_go_back("coalesce");
    }

    #[test]
    fn few_interrupts_or_many_packets_for_each_are_no_evidence() {
        assert_eq!(host(FIXED, 50_000).check("coalesce")[0].status, Status::NoEvidence);
        let full = host(FIXED, 300_000).grew("nic.eth0.rx_packets", 9_000_000);
        assert_eq!(full.check("coalesce")[0].status, Status::NoEvidence);
    }

    #[test]
    fn a_wait_that_follows_the_load_is_right_and_one_that_cannot_is_told() {
        assert_eq!(host("adaptive-rx on rx-usecs 8\n", 300_000).check("coalesce")[0].status, Status::Ok);
        let check = &host("rx-usecs 0\n", 300_000).check("coalesce")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
    }
}
