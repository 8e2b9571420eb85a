//! The fields of a packet that choose its queue: by addresses alone, all datagrams between two hosts go to one.

use super::network::{HOT, each, hot_by, received, uneven};
use super::{Advice, Context, Look, Tunable};
use crate::devices::Interface;
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "flow-hash",
    title: "fields of a packet that choose its queue",
    risk: Risk::Performance,
    interrupts: "datagrams move to other queues: some overtake others",
    source: "ethtool(8), rx-flow-hash; the bound of 1,000 datagrams a second is ours",
    look,
};

const FLOWS: [&str; 4] = ["udp4", "udp6", "tcp4", "tcp6"];
/// Addresses and ports.
const WITH_PORTS: &str = "sdfn";
/// Datagrams a second from which on their queue matters. Ours.
const MANY_PER_S: f64 = 1000.0;
const DATAGRAMS: &str = "Udp.InDatagrams";

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, of_interface)
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Vec<Look> {
    let name = &interface.name;
    if interface.receive_queues < 2 {
        return vec![Look::not_applicable(name, "it has one queue")];
    }
    let looks: Vec<Look> = FLOWS
        .iter()
        .filter(|flow| context.read(&format!("ethtool:{name}:flow-hash-{flow}")).is_ok())
        .map(|flow| of_flow(context, interface, flow))
        .collect();
    match looks.is_empty() {
        true => vec![Look::not_applicable(name, "its driver does not say which fields choose the queue")],
        false => looks,
    }
}

fn of_flow(context: &Context<'_>, interface: &Interface, flow: &str) -> Look {
    let setting = format!("ethtool:{}:flow-hash-{flow}", interface.name);
    Look::at(context, &format!("{} {flow}", interface.name), &setting, |value| {
        let has_ports = value.contains('f') && value.contains('n');
        Advice {
            recommended: if has_ports { value.to_owned() } else { WITH_PORTS.to_owned() },
            is_met: has_ports,
            evidence: if flow == "udp4" { evidence(context, interface) } else { Vec::new() },
            reason: match has_ports {
                true => format!("addresses and ports choose the queue of {flow}"),
                false => format!(
                    "{flow} goes by addresses alone, so that all of it between two hosts is one processor's; with ports, datagrams in fragments (larger than a packet) may come out of order"
                ),
            },
            expected: "datagrams between two hosts spread over queues by their ports".to_owned(),
        }
    })
}

/// Datagrams come while one queue has much more than the others, and a processor is hot.
fn evidence(context: &Context<'_>, interface: &Interface) -> Vec<Evidence> {
    let is_many = context.window.per_s(DATAGRAMS).is_some_and(|datagrams| datagrams >= MANY_PER_S);
    let datagrams = is_many.then(|| context.window.evidence(DATAGRAMS, "datagrams")).flatten();
    let uneven = uneven(context, &interface.name, &received(context, &interface.name));
    let hot = hot_by(context, interface, HOT).map(|(_, evidence)| evidence);
    match (datagrams, uneven, hot) {
        (Some(datagrams), Some(uneven), Some(hot)) => vec![datagrams, uneven, hot],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(datagrams: u64) -> Recorded {
        Recorded::interface("eth0", "ixgbe", 4)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/ethtool/eth0/flow-hash-udp4", "sd\n")
            .file("/ethtool/eth0/flow-hash-tcp4", "sdfn\n")
            .grew("Udp.InDatagrams", datagrams)
            .grew("nic.eth0.rx_queue_0_packets", 900_000)
            .grew("nic.eth0.rx_queue_1_packets", 9)
            .grew("nic.eth0.rx_queue_2_packets", 9)
            .grew("irq.eth0-TxRx-0.cpu0", 50_000)
            .grew("cpu0.softirq_ticks", 700)
            .grew("cpu0.idle_ticks", 300)
    }

    #[test]
    fn datagrams_that_all_go_to_one_queue_are_a_change_that_goes_back() {
        let checks = host(800_000).check("flow-hash");
        let of = |target: &str| checks.iter().find(|check| check.target == target).unwrap();
        assert_eq!(
            (of("eth0 udp4").status, of("eth0 udp4").recommended.as_deref()),
            (Status::Change, Some("sdfn"))
        );
        assert_eq!(of("eth0 tcp4").status, Status::Ok);
        assert_eq!(checks.len(), 2);
        host(800_000).changes_go_back("flow-hash");
    }

    #[test]
    fn without_datagrams_addresses_alone_are_no_evidence() {
        assert_eq!(host(800).check("flow-hash")[0].status, Status::NoEvidence);
        let none = Recorded::interface("eth0", "ena", 4).check("flow-hash");
        assert_eq!(none[0].status, Status::NotApplicable);
    }
}
