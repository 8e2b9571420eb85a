//! Work on packets that the interface, or the kernel before its stack, does for many at once: segments joined (GRO) and cut (TSO).

use super::network::{each, group, packets_per_s, pairs};
use super::{Advice, Context, Look, Tunable};
use crate::devices::Interface;
use crate::queues::Way;
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "offloads",
    title: "segments joined and cut for many at once",
    risk: Risk::LinkFlap,
    interrupts: "some drivers reset the interface when an offload is changed",
    source: "kernel documentation, networking/segmentation-offloads.rst, and dev_disable_lro of its networking API; the bounds of 50,000 packets a second and of 500 bytes are ours",
    look,
};

const JOIN: &str = "rx-gro";
const CUT: &str = "tx-tcp-segmentation";
/// Joined by the card so that it cannot be told apart again: wrong where packets are passed on.
const JOIN_FOR_GOOD: &str = "rx-lro";
/// Packets a second from which on their number costs. Ours.
const MANY_PER_S: f64 = 50_000.0;
/// The mean size of packets from which on segments are full enough to be one. Ours.
const FULL_BYTES: u64 = 500;
const FORWARDED: &str = "Ip.ForwDatagrams";

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let reads = match group(context, name, "features") {
        Ok(reads) => reads,
        Err(look) => return *look,
    };
    let features = pairs(&reads);
    let is = |feature: &str, value: &str| features.get(feature).is_some_and(|own| *own == value);
    let forwards = context.number("net.ipv4.ip_forward") == Some(1);
    let wrong: Vec<(&str, &str)> = [
        (JOIN, "on", is(JOIN, "off")),
        (CUT, "on", is(CUT, "off")),
        (JOIN_FOR_GOOD, "off", is(JOIN_FOR_GOOD, "on") && forwards),
    ]
    .into_iter()
    .filter_map(|(feature, wanted, is_wrong)| is_wrong.then_some((feature, wanted)))
    .collect();
    let told: Vec<String> = [JOIN, CUT, JOIN_FOR_GOOD]
        .iter()
        .filter_map(|feature| Some(format!("{feature} {}", features.get(feature)?)))
        .collect();
    if told.is_empty() {
        return Look::not_applicable(name, "its driver lets none of GRO, TSO and LRO be changed");
    }
    let told = told.join(" ");
    if wrong.is_empty() {
        return Look {
            configured: Some(told.clone()),
            effective: Some(told),
            ..Look::plain(
                name,
                plumb_model::check::Status::Ok,
                "segments are joined and cut for many at once",
            )
        };
    }
    let shown = |feature: &str| evidence(context, name, feature);
    // Where counters speak for some alone, those alone are changed.
    let hurting: Vec<(&str, &str)> =
        wrong.iter().copied().filter(|(feature, _)| shown(feature).is_some()).collect();
    let evidence: Vec<Evidence> = hurting.iter().filter_map(|(feature, _)| shown(feature)).collect();
    let changed = if hurting.is_empty() { wrong } else { hurting };
    let recommended =
        changed.iter().map(|(feature, value)| format!("{feature} {value}")).collect::<Vec<_>>().join(" ");
    let reason = changed.iter().map(|(feature, _)| reason(feature)).collect::<Vec<_>>().join("; ");
    let look = Look::at(context, name, &format!("ethtool:{name}:features"), |_| Advice {
        recommended,
        is_met: false,
        evidence,
        reason,
        expected: "fewer passes through the network stack for the same bytes".to_owned(),
    });
    // All features are a page of text; these are what is looked at.
    Look { configured: Some(told), effective: None, ..look }
}

fn reason(feature: &str) -> &'static str {
    match feature {
        JOIN => "with rx-gro off each segment goes through the stack alone",
        CUT => "with tx-tcp-segmentation off the processor cuts what it sends into segments itself",
        _ => {
            "rx-lro joins segments so that they cannot be passed on as they came, and this host forwards packets"
        }
    }
}

/// Only TCP's segments are joined and cut, and only full ones: neither datagrams nor acknowledgements alone speak for it.
fn evidence(context: &Context<'_>, interface: &str, feature: &str) -> Option<Evidence> {
    let (way, direction, segments) = match feature {
        JOIN => (Way::Receive, "rx", "Tcp.InSegs"),
        CUT => (Way::Send, "tx", "Tcp.OutSegs"),
        _ => return context.window.evidence(FORWARDED, "packets"),
    };
    let window = context.window;
    let grown = |what: &str| window.growth(&format!("nic.{interface}.{direction}_{what}"));
    let is_many = |rate: Option<f64>| rate.is_some_and(|rate| rate >= MANY_PER_S);
    let is_full = matches!((grown("bytes"), grown("packets")), (Some(bytes), Some(packets)) if bytes >= FULL_BYTES.saturating_mul(packets));
    let hurts = is_many(packets_per_s(context, interface, way)) && is_many(window.per_s(segments)) && is_full;
    hurts.then(|| window.evidence(segments, "segments"))?
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(features: &str) -> Recorded {
        Recorded::interface("eth0", "ixgbe", 2).file("/ethtool/eth0/features", features)
    }

    #[test]
    fn many_packets_make_an_offload_that_is_off_a_change_that_goes_back() {
        let off = host("rx-gro off tx-tcp-segmentation on rx-lro off\n");
        assert_eq!(off.check("offloads")[0].status, Status::NoEvidence);
        let many = off.grew("nic.eth0.rx_packets", 900_000).grew("nic.eth0.rx_bytes", 900_000_000);
        assert_eq!(many.check("offloads")[0].status, Status::NoEvidence, "datagrams");
        let small = host("rx-gro off\n")
            .grew("nic.eth0.rx_packets", 900_000)
            .grew("nic.eth0.rx_bytes", 60_000_000)
            .grew("Tcp.InSegs", 900_000);
        assert_eq!(small.check("offloads")[0].status, Status::NoEvidence, "acknowledgements");
        let busy = many.grew("Tcp.InSegs", 900_000);
        let check = &busy.check("offloads")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("rx-gro on")));
        busy.changes_go_back("offloads");
    }

    #[test]
    fn only_what_counters_speak_for_is_changed() {
        let both = host("rx-gro off tx-tcp-segmentation off\n")
            .grew("nic.eth0.tx_packets", 900_000)
            .grew("nic.eth0.tx_bytes", 900_000_000)
            .grew("Tcp.OutSegs", 900_000);
        assert_eq!(both.check("offloads")[0].recommended.as_deref(), Some("tx-tcp-segmentation on"));
        both.changes_go_back("offloads");
    }

    #[test]
    fn joining_for_good_is_wrong_only_where_packets_are_passed_on() {
        let features = "rx-gro on tx-tcp-segmentation on rx-lro on\n";
        assert_eq!(host(features).check("offloads")[0].status, Status::Ok);
        let router = host(features).file("/proc/sys/net/ipv4/ip_forward", "1\n").grew("Ip.ForwDatagrams", 9);
        let check = &router.check("offloads")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("rx-lro off")));
    }

    #[test]
    fn what_the_driver_fixes_is_left() {
        assert_eq!(host("rx-checksum on\n").check("offloads")[0].status, Status::NotApplicable);
    }
}
