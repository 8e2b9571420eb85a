//! Where packets and connections were lost over a window: each layer with its counters, in the order in which a packet meets them.
//!
//! The first layer that lost is the one to mend; what comes after it may be its consequence. Names of drivers' counters differ, so each
//! layer has words that tell its own. Connections are counted apart from packets, and packets that the host sends from those that came: a full
//! accept queue is no consequence of lost packets, and neither is a full queue on the way out.

use crate::window::Window;
use plumb_model::check::{Evidence, LayerLoss, LossLayer, PACKETS};
use plumb_model::figure;
use plumb_model::observed::DropReason;
use plumb_observe::NamedCounters;

/// Counters of drivers by layer: a name with one of these in it is of that layer. The first that fits counts.
const OF_DRIVERS: &[(LossLayer, &[&str])] = &[
    // A program of the user's that drops packets is no loss, and neither is a checksum left to the processor.
    (
        LossLayer::Wire,
        &["crc", "symbol", "length_error", "frame_error", "rx_phy_err", "alignment", "fec_uncorrect"],
    ),
    (
        LossLayer::Ring,
        &[
            "out_of_buffer",
            "no_dma",
            "empty_rx_ring",
            "no_buffers_posted",
            "rx_no_buffer",
            "drop_overrun",
            "rx_queue_drop",
            // vmxnet3: out of buffers.
            "rx oob",
        ],
    ),
    (LossLayer::Allocation, &["alloc_fail", "alloc_rx", "alloc_err", "oom_discard", "rx_no_memory"]),
    (
        LossLayer::PortBuffer,
        &[
            "missed",
            "discards_phy",
            "rx_discards",
            // The same of ice, and of i40e before it was renamed.
            "rx_dropped.nic",
            "port.rx_dropped",
            "rx_fifo",
            "over_err",
            "buf_discard",
            "overflow",
        ],
    ),
];
const NO_LOSS: &[&str] = &["xdp", "csum", "checksum", "corrected", "steer_missed"];

/// Counters of the kernel by layer, with what each counts.
const OF_KERNEL: &[(LossLayer, &[&str], &str)] = &[
    (
        LossLayer::Stack,
        &[
            "Ip.InDiscards",
            "Ip.InHdrErrors",
            "Tcp.InErrs",
            "snmp6.Ip6InDiscards",
            "snmp6.Ip6InHdrErrors",
            "TcpExt.PFMemallocDrop",
            "TcpExt.IPReversePathFilter",
        ],
        PACKETS,
    ),
    // One for each fragment that comes too late or has no room, and for each datagram that is never whole (net/ipv4/ip_fragment.c).
    (LossLayer::Stack, &["Ip.ReasmFails", "snmp6.Ip6ReasmFails"], "failures of fragments"),
    (
        LossLayer::Socket,
        &[
            "Udp.RcvbufErrors",
            "snmp6.Udp6RcvbufErrors",
            "TcpExt.TCPRcvQDrop",
            "TcpExt.TCPBacklogDrop",
            "TcpExt.RcvPruned",
            "TcpExt.TCPOFODrop",
            "TcpExt.TCPZeroWindowDrop",
        ],
        PACKETS,
    ),
    // A queue that was cut, by however many packets.
    (LossLayer::Socket, &["TcpExt.PruneCalled", "TcpExt.OfoPruned"], "times"),
    (LossLayer::AcceptQueue, &["TcpExt.ListenOverflows", "TcpExt.TCPReqQFullDrop"], ATTEMPTS),
];

/// What the kernel counts of connections that found no room: each try of a client that tries again.
pub(crate) const ATTEMPTS: &str = "attempts to connect";

/// The layers that lost something between two readings of a host's counters, the first first; `seconds` lie between them. A queue that was
/// made meanwhile counts from 0. None where what a counter of losses counted is not known: it went back or is gone, such as that of a queue
/// that was replaced, or it came with what it had counted elsewhere, such as that of an interface from another namespace.
pub fn losses_between(
    mut before: NamedCounters,
    after: NamedCounters,
    seconds: f64,
) -> Option<Vec<LayerLoss>> {
    let is_whole = |(name, was): (&String, &u64)| after.get(name).is_some_and(|is| is >= was);
    if !before.iter().filter(|(name, _)| counts_losses(name)).all(is_whole) {
        return None;
    }
    let came = after.keys().filter(|name| counts_losses(name) && !before.contains_key(*name));
    let came: Vec<String> = came.cloned().collect();
    if came.iter().any(|name| !is_of_a_queue(name) && after[name] > 0) {
        return None;
    }
    before.extend(came.into_iter().map(|name| (name, 0)));
    Some(losses(&Window::new(before, after, seconds)))
}

/// True of a counter that [`losses`] looks at.
fn counts_losses(name: &str) -> bool {
    let of_a_processor = name.starts_with("softnet.") && name.ends_with(".dropped");
    let of_a_card = || {
        let counter = name.strip_prefix("nic.").and_then(|name| name.split_once('.'));
        counter.and_then(|(_, counter)| layer_of(counter)).is_some()
    };
    let of_the_kernel = || OF_KERNEL.iter().any(|(_, names, _)| names.contains(&name));
    is_of_a_queue(name) || of_a_processor || of_a_card() || of_the_kernel()
}

fn is_of_a_queue(name: &str) -> bool {
    name.starts_with("qdisc.") && name.ends_with(".drops")
}

/// The layers that lost something, the first first.
pub(crate) fn losses(window: &Window) -> Vec<LayerLoss> {
    let mut layers: Vec<LayerLoss> = LossLayer::ALL
        .into_iter()
        .map(|layer| LayerLoss { layer, counters: Vec::new(), reasons: Vec::new() })
        .collect();
    for (name, _) in window.matching("nic.", "") {
        let counter = name.splitn(3, '.').nth(2).unwrap_or_default();
        if let (Some(layer), Some(evidence)) = (layer_of(counter), window.evidence(name, PACKETS)) {
            add(&mut layers, layer, evidence);
        }
    }
    if let Some(evidence) = window.evidence_of_sum("softnet.", ".dropped", PACKETS) {
        add(&mut layers, LossLayer::SoftnetBacklog, evidence);
    }
    for (layer, counters, unit) in OF_KERNEL {
        window
            .evidence_of(counters, unit)
            .into_iter()
            .for_each(|evidence| add(&mut layers, *layer, evidence));
    }
    dropped_while_opening(window)
        .into_iter()
        .for_each(|evidence| add(&mut layers, LossLayer::AcceptQueue, evidence));
    for drop in own_drops(window) {
        match drop.stands {
            Stands::Root => add(&mut layers, LossLayer::OwnQueue, drop.evidence),
            Stands::Ingress => add(&mut layers, LossLayer::Stack, drop.evidence),
            // Those above count them, too.
            Stands::Below => {
                let all = layers.iter_mut().find(|found| found.layer == LossLayer::OwnQueue);
                let packets = figure::count(drop.evidence.amount as u64);
                let words = format!("of them at {}: {packets} packets", drop.evidence.counter);
                all.into_iter().for_each(|all| all.reasons.push(words.clone()));
            }
        }
    }
    layers.retain(|layer| !layer.counters.is_empty());
    layers
}

fn add(layers: &mut [LayerLoss], layer: LossLayer, evidence: Evidence) {
    if let Some(found) = layers.iter_mut().find(|found| found.layer == layer) {
        found.counters.push(evidence);
    }
}

/// Where a queueing discipline stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stands {
    /// All that its interface sends goes through it.
    Root,
    /// Below another one, which counts what it drops.
    Below,
    /// A place for filters on the way in.
    Ingress,
}

/// What a queueing discipline dropped.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnDrop {
    pub(crate) interface: String,
    /// Its kind and number, as tc writes them.
    pub(crate) discipline: String,
    pub(crate) stands: Stands,
    /// Its drops.
    pub(crate) evidence: Evidence,
    /// How often it held a packet back to a rate.
    pub(crate) held_back: Option<Evidence>,
}

/// The queueing disciplines that dropped something, those at the root first.
pub(crate) fn own_drops(window: &Window) -> Vec<OwnDrop> {
    let drop = |(counter, growth): (&str, u64)| {
        let name = counter.strip_suffix(".drops").filter(|_| growth > 0)?;
        let (interface, discipline) = name.strip_prefix("qdisc.")?.rsplit_once('.')?;
        let stands = match discipline {
            below if below.contains(" within ") => Stands::Below,
            ingress if ingress.ends_with(" on the way in") => Stands::Ingress,
            _ => Stands::Root,
        };
        Some(OwnDrop {
            interface: interface.to_owned(),
            discipline: discipline.to_owned(),
            stands,
            evidence: window.evidence(counter, PACKETS)?,
            held_back: window.evidence(&format!("{name}.overlimits"), "times"),
        })
    };
    let mut drops: Vec<OwnDrop> = window.matching("qdisc.", ".drops").filter_map(drop).collect();
    drops.sort_by_key(|drop| drop.stands);
    drops
}

/// True if the queueing disciplines could be read.
pub(crate) fn own_queues_are_seen(window: &Window) -> bool {
    window.matching("qdisc.", ".drops").next().is_some()
}

/// Connections that were dropped before they were open, beside those that found a program's own queues full: those have counters of
/// their own, and this one counts them too.
pub(crate) fn dropped_while_opening(window: &Window) -> Option<Evidence> {
    let grown = |name: &str| window.growth(&format!("TcpExt.{name}")).unwrap_or(0);
    let all = window.evidence("TcpExt.ListenDrops", ATTEMPTS)?;
    let others = (grown("ListenOverflows") + grown("TCPReqQFullDrop")) as f64;
    let counter = match others > 0.0 {
        true => "TcpExt.ListenDrops beside full queues".to_owned(),
        false => all.counter,
    };
    (all.amount > others).then_some(Evidence { counter, amount: all.amount - others, ..all })
}

/// The counters of one interface that lost packets in a layer.
pub(crate) fn of_interface(window: &Window, interface: &str, layer: LossLayer) -> Vec<Evidence> {
    let start = format!("nic.{interface}.");
    let is_its = |name: &&str| name.strip_prefix(&start).and_then(layer_of) == Some(layer);
    let names: Vec<&str> = window.matching(&start, "").map(|(name, _)| name).filter(is_its).collect();
    window.evidence_of(&names, PACKETS)
}

/// The layer that a driver's counter tells of; none of what is no loss of a packet that came.
fn layer_of(counter: &str) -> Option<LossLayer> {
    let counter = counter.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| counter.contains(word));
    let layer = OF_DRIVERS.iter().find(|(_, words)| has(words))?;
    (!has(NO_LOSS) && !counter.starts_with("tx")).then_some(layer.0)
}

/// Reasons by layer, as the kernel names them (include/net/dropreason-core.h). What is no loss of a wanted packet is not here.
const REASONS: &[(LossLayer, &[&str])] = &[
    (LossLayer::SoftnetBacklog, &["CPU_BACKLOG"]),
    (LossLayer::Allocation, &["NOMEM"]),
    (
        LossLayer::Stack,
        &["FULL_RING", "NEIGH_QUEUEFULL", "IP_RPFILTER", "TCP_CSUM", "UDP_CSUM", "IP_CSUM", "PKT_TOO_BIG"],
    ),
    (
        LossLayer::Socket,
        &[
            "SOCKET_RCVBUFF",
            "SOCKET_BACKLOG",
            "PROTO_MEM",
            "TCP_ZEROWINDOW",
            "TCP_OFO_QUEUE_PRUNE",
            "TCP_OFO_DROP",
        ],
    ),
    (
        LossLayer::OwnQueue,
        &[
            "QDISC_DROP",
            "QDISC_OVERLIMIT",
            "QDISC_CONGESTED",
            "CAKE_FLOOD",
            "FQ_BAND_LIMIT",
            "FQ_HORIZON_LIMIT",
            "FQ_FLOW_LIMIT",
        ],
    ),
];

/// What a rule of the firewall's owner drops is no loss: it is told where the network stack lost something, and never alone.
const BY_A_RULE: &str = "NETFILTER_DROP";

/// Adds the kernel's own words to the layers that lost; a layer of which no counter grew is added with them. The kernel counts them over all
/// network namespaces together, and the words say so.
pub(crate) fn add_reasons(losses: &mut Vec<LayerLoss>, drops: &[DropReason]) {
    for drop in drops {
        let name = drop.reason.trim_start_matches("SKB_DROP_REASON_");
        if name == BY_A_RULE {
            if let Some(loss) = losses.iter_mut().find(|loss| loss.layer == LossLayer::Stack) {
                let words = format!(
                    "{name}: {} packets by a rule of the firewall, on the whole host",
                    figure::count(drop.packets)
                );
                loss.reasons.push(words);
            }
            continue;
        }
        let Some((layer, _)) = REASONS.iter().find(|(_, reasons)| reasons.contains(&name)) else { continue };
        let packets = figure::count(drop.packets);
        let is_counted = losses.iter().any(|loss| loss.layer == *layer);
        // The trace sees what the queues count, and the queues of other namespaces besides.
        let whose = match (*layer, is_counted) {
            (LossLayer::OwnQueue, true) => ", those that are counted here among them",
            (LossLayer::OwnQueue, false) => ", none of them at a queue of this network namespace",
            _ => "",
        };
        let words = format!("{name}: {packets} packets on the whole host{whose}");
        match losses.iter_mut().find(|loss| loss.layer == *layer) {
            Some(loss) => loss.reasons.push(words),
            None => losses.push(LayerLoss { layer: *layer, counters: Vec::new(), reasons: vec![words] }),
        }
    }
    losses.sort_by_key(|loss| loss.layer);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(grown: &[(&str, u64)]) -> Window {
        let of = |add: bool| -> NamedCounters {
            grown.iter().map(|(name, by)| ((*name).to_owned(), 7 + if add { *by } else { 0 })).collect()
        };
        Window::new(of(false), of(true), 10.0)
    }

    fn layers(grown: &[(&str, u64)]) -> Vec<LossLayer> {
        losses(&window(grown)).into_iter().map(|loss| loss.layer).collect()
    }

    #[test]
    fn what_a_counter_that_is_gone_or_went_back_had_counted_is_not_known_and_a_new_one_counts_from_0() {
        let reading = |counters: &[(&str, u64)]| -> NamedCounters {
            counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let between = |before: &[(&str, u64)], after: &[(&str, u64)]| {
            let lost = losses_between(reading(before), reading(after), 5.0)?;
            Some(plumb_model::check::packets_lost(&lost))
        };
        let (first, second) = ("qdisc.v0.tbf 8001:.drops", "qdisc.v0.tbf 8002:.drops");
        assert_eq!(between(&[(first, 7)], &[(first, 9)]), Some(2));
        assert_eq!(between(&[(first, 7)], &[(first, 3)]), None);
        assert_eq!(between(&[(first, 7)], &[(second, 900)]), None);
        assert_eq!(between(&[], &[(second, 900)]), Some(900));
        // An interface that came brings what it had counted elsewhere; one that has counted nothing lost nothing.
        assert_eq!(between(&[], &[("nic.eth1.rx_missed_errors", 900)]), None);
        assert_eq!(between(&[], &[("nic.eth1.rx_missed_errors", 0)]), Some(0));
        // What counts no losses may come and go.
        assert_eq!(between(&[("nic.eth0.tx_bytes", 5), ("udp.9.drops", 1)], &[]), Some(0));
        // Several counters of one card may count one packet.
        let card = |missed: u64, ring: u64| {
            [("nic.eth0.rx_missed_errors", missed), ("nic.eth0.rx_no_dma_resources", ring)]
        };
        assert_eq!(between(&card(1, 1), &card(6, 4)), Some(5));
    }

    #[test]
    fn each_drivers_words_are_of_their_layer() {
        for (counter, layer) in [
            ("nic.eth0.rx_crc_errors", LossLayer::Wire),
            ("nic.eth0.rx_out_of_buffer", LossLayer::Ring),
            ("nic.eth0.rx_no_dma_resources", LossLayer::Ring),
            ("nic.eth0.queue_3_rx_empty_rx_ring", LossLayer::Ring),
            ("nic.eth0.rx_discards_phy", LossLayer::PortBuffer),
            ("nic.eth0.rx_missed_errors", LossLayer::PortBuffer),
            ("nic.eth0.port.rx_discards", LossLayer::PortBuffer),
            ("nic.eth0.rx_dropped.nic", LossLayer::PortBuffer),
            ("nic.eth0.port.rx_dropped", LossLayer::PortBuffer),
            ("nic.eth0.pkts rx OOB", LossLayer::Ring),
            ("nic.eth0.alloc_rx_page_failed", LossLayer::Allocation),
            ("nic.eth0.rx_alloc_fail", LossLayer::Allocation),
            ("softnet.cpu3.dropped", LossLayer::SoftnetBacklog),
            ("Udp.RcvbufErrors", LossLayer::Socket),
            ("TcpExt.ListenOverflows", LossLayer::AcceptQueue),
            ("TcpExt.ListenDrops", LossLayer::AcceptQueue),
            ("snmp6.Udp6RcvbufErrors", LossLayer::Socket),
            ("Ip.ReasmFails", LossLayer::Stack),
        ] {
            assert_eq!(layers(&[(counter, 5)]), [layer], "{counter}");
        }
    }

    #[test]
    fn the_kernels_reasons_stand_at_their_layer_and_what_is_no_loss_at_none() {
        let mut found = losses(&window(&[("Udp.RcvbufErrors", 5)]));
        let drop = |reason: &str| DropReason { reason: reason.to_owned(), packets: 5 };
        add_reasons(&mut found, &[drop("SOCKET_RCVBUFF"), drop("NO_SOCKET"), drop("CPU_BACKLOG")]);
        let layers: Vec<LossLayer> = found.iter().map(|loss| loss.layer).collect();
        assert_eq!(layers, [LossLayer::SoftnetBacklog, LossLayer::Socket]);
        assert_eq!(found[1].reasons, ["SOCKET_RCVBUFF: 5 packets on the whole host"]);
    }

    #[test]
    fn connections_dropped_for_a_full_queue_are_not_counted_twice() {
        let amounts = |drops: u64| -> Vec<f64> {
            let grown = [("TcpExt.ListenDrops", drops), ("TcpExt.ListenOverflows", 5)];
            losses(&window(&grown))[0].counters.iter().map(|evidence| evidence.amount).collect()
        };
        assert_eq!(amounts(5), [5.0]);
        assert_eq!(amounts(7), [5.0, 2.0]);
    }

    #[test]
    fn what_this_hosts_own_queues_drop_is_a_layer_of_its_own_and_counted_once() {
        let grown = [
            ("qdisc.eth0.7.htb 1:.drops", 9500),
            ("qdisc.eth0.7.fq_codel 10: within 1:.drops", 9000),
            ("qdisc.eth1.clsact ffff: on the way in.drops", 3),
            ("qdisc.eth2.fq 2:.drops", 0),
        ];
        let mut found = losses(&window(&grown));
        let layers: Vec<LossLayer> = found.iter().map(|loss| loss.layer).collect();
        assert_eq!(layers, [LossLayer::Stack, LossLayer::OwnQueue]);
        let own = &found[1];
        assert_eq!((own.counters.len(), own.counters[0].amount), (1, 9500.0));
        assert_eq!(own.reasons, ["of them at qdisc.eth0.7.fq_codel 10: within 1:.drops: 9,000 packets"]);
        let traced = [DropReason { reason: "QDISC_DROP".to_owned(), packets: 9600 }];
        add_reasons(&mut found, &traced);
        assert!(found[1].reasons[1].ends_with("those that are counted here among them"), "{found:?}");
        let mut elsewhere = Vec::new();
        add_reasons(&mut elsewhere, &traced);
        assert!(elsewhere[0].reasons[0].contains("none of them at a queue of this"), "{elsewhere:?}");
    }

    #[test]
    fn what_the_kernel_counts_is_called_what_it_is() {
        let units = |counter: &str| losses(&window(&[(counter, 5)]))[0].counters[0].unit.clone();
        assert_eq!(units("TcpExt.ListenOverflows"), "attempts to connect");
        assert_eq!(units("TcpExt.ListenDrops"), "attempts to connect");
        assert!(units("Ip.ReasmFails").contains("fragments"));
        assert_eq!(units("TcpExt.PruneCalled"), "times");
        assert_eq!(units("Udp.RcvbufErrors"), PACKETS);
    }

    #[test]
    fn what_a_firewalls_rule_drops_is_no_loss() {
        let rule = [DropReason { reason: "NETFILTER_DROP".to_owned(), packets: 5 }];
        let mut none = Vec::new();
        add_reasons(&mut none, &rule);
        assert!(none.is_empty());
        let mut stack = losses(&window(&[("Ip.InDiscards", 5)]));
        add_reasons(&mut stack, &rule);
        assert!(stack[0].reasons[0].contains("by a rule of the firewall"));
    }

    #[test]
    fn what_is_no_loss_is_none_and_layers_come_in_a_packets_order() {
        assert!(
            layers(&[
                ("nic.eth0.rx_xdp_drop", 5),
                ("nic.eth0.rx_csum_err", 3),
                ("nic.eth0.rx_out_of_buffer", 0)
            ])
            .is_empty()
        );
        assert_eq!(
            layers(&[
                ("TcpExt.ListenOverflows", 1),
                ("softnet.cpu0.dropped", 1),
                ("nic.a.rx_out_of_buffer", 1)
            ]),
            [LossLayer::Ring, LossLayer::SoftnetBacklog, LossLayer::AcceptQueue]
        );
    }
}
