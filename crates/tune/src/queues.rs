//! The queues of a network interface: their packets over a window by each driver's names for them, and their interrupts.
//!
//! Not here: what follows from it (`tunables/`), where interrupts are set (`setting/interrupt.rs`).

use crate::devices::{self, DeviceInterrupt};
use crate::host::Host;
use crate::window::Window;
use std::collections::BTreeMap;

/// Which way packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Receive,
    Send,
}

/// A counter of one queue's packets: what is before its number and what behind. From the drivers' sources.
const RECEIVED: &[(&str, &str)] = &[
    // ixgbe, igb, igc, ice, virtio_net, hv_netvsc.
    ("rx_queue_", "_packets"),
    // mlx5, mlx4, virtio_net since Linux 6.9.
    ("rx", "_packets"),
    // i40e, iavf.
    ("rx-", ".packets"),
    ("rx-", ".rx_packets"),
    // ena.
    ("queue_", "_rx_cnt"),
    // gve.
    ("rx_completed_desc[", "]"),
    // bnxt.
    ("[", "]: rx_ucast_packets"),
];
const SENT: &[(&str, &str)] = &[
    ("tx_queue_", "_packets"),
    ("tx", "_packets"),
    ("tx-", ".packets"),
    ("tx-", ".tx_packets"),
    ("queue_", "_tx_cnt"),
    ("tx_completed_desc[", "]"),
    ("[", "]: tx_ucast_packets"),
];

/// Packets of each queue of an interface over the window, by the queue's number; empty where its driver counts none.
pub(crate) fn packets(window: &Window, interface: &str, way: Way) -> BTreeMap<u32, u64> {
    let forms = if way == Way::Receive { RECEIVED } else { SENT };
    let start = format!("nic.{interface}.");
    let number = |counter: &str| {
        let of = |(before, behind): &(&str, &str)| {
            let digits = counter.strip_prefix(before)?.strip_suffix(behind)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        forms.iter().find_map(of)
    };
    let row = |(name, growth): (&str, u64)| Some((number(name.strip_prefix(&start)?)?, growth));
    window.matching(&start, "").filter_map(row).collect()
}

/// Words in the names of interrupts that carry no packets: the driver's own business with the card.
const MANAGEMENT: &[&str] =
    &["config", "mgmnt", "mgmt", "async", "cmd", "misc", "event", "hwc", "pages", "ctrl", "fdir", "aeq"];

/// The interrupts of an interface's queues, by number. An interface whose device has one interrupt has it for its queues.
pub(crate) fn interrupts(host: &Host, interface: &str) -> Vec<DeviceInterrupt> {
    let all = devices::interrupts(host, interface);
    // Some drivers name the interrupt of the link after the interface.
    let is_queues =
        |interrupt: &&DeviceInterrupt| interrupt.name != interface && number(&interrupt.name).is_some();
    let of_queues: Vec<DeviceInterrupt> = all.iter().filter(is_queues).cloned().collect();
    match (of_queues.is_empty(), all.len()) {
        (true, 1) => all,
        _ => of_queues,
    }
}

/// The number of the queue whose interrupt has this name: `eth0-TxRx-3`, `virtio1-input.3`, `mlx5_comp3@pci:0000:5e:00.0`; none of an
/// interrupt that carries no packets.
pub(crate) fn number(interrupt: &str) -> Option<u32> {
    let own = interrupt.split('@').next().unwrap_or_default();
    let lower = own.to_ascii_lowercase();
    if MANAGEMENT.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let digits = own.len() - own.bytes().rev().take_while(u8::is_ascii_digit).count();
    own[digits..].parse().ok()
}

/// Growth of an interrupt by the processors that served it.
pub(crate) fn served(window: &Window, interrupt: &str) -> BTreeMap<u32, u64> {
    let start = format!("irq.{interrupt}.cpu");
    let row = |(name, growth): (&str, u64)| Some((name.strip_prefix(&start)?.parse().ok()?, growth));
    window.matching(&start, "").filter_map(row).filter(|(_, growth)| *growth > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_observe::NamedCounters;

    fn window(grown: &[(&str, u64)]) -> Window {
        let after: NamedCounters = grown.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect();
        let before = after.keys().map(|name| (name.clone(), 0)).collect();
        Window::new(before, after, 10.0)
    }

    #[test]
    fn each_drivers_name_of_a_queues_packets_is_known() {
        for (counter, queue) in [
            ("rx_queue_3_packets", 3),
            ("rx12_packets", 12),
            ("rx-7.packets", 7),
            ("queue_5_rx_cnt", 5),
            ("rx_completed_desc[4]", 4),
            ("[2]: rx_ucast_packets", 2),
        ] {
            let window = window(&[(&format!("nic.eth0.{counter}"), 9)]);
            assert_eq!(packets(&window, "eth0", Way::Receive), [(queue, 9)].into(), "{counter}");
            assert!(
                packets(&window, "eth0", Way::Send).is_empty()
                    && packets(&window, "eth", Way::Receive).is_empty()
            );
        }
        let others =
            window(&[("nic.eth0.rx_packets", 1), ("nic.eth0.rx_64_packets", 1), ("nic.eth0.rx1_bytes", 1)]);
        assert!(packets(&others, "eth0", Way::Receive).is_empty());
    }

    #[test]
    fn an_interrupt_that_carries_no_packets_has_no_queue() {
        for (name, queue) in [
            ("eth0-TxRx-3", Some(3)),
            ("i40e-eth0-TxRx-11", Some(11)),
            ("ice-ens1f0-TxRx-0", Some(0)),
            ("mlx5_comp3@pci:0000:5e:00.0", Some(3)),
            ("ens5-Tx-Rx-2", Some(2)),
            ("gve-ntfy-blk6@pci:0000:00:04.0", Some(6)),
            ("virtio1-input.0", Some(0)),
            ("virtio1-output.1", Some(1)),
            ("mlx5_async0@pci:0000:5e:00.0", None),
            ("ena-mgmnt@pci:0000:00:05.0", None),
            ("gve-mgmnt@pci:0000:00:04.0", None),
            ("virtio1-config", None),
            ("i40e-0000:5e:00.0:misc", None),
            ("eth0-event-4", None),
        ] {
            assert_eq!(number(name), queue, "{name}");
        }
    }

    #[test]
    fn an_interrupt_is_known_by_the_processors_that_served_it() {
        let window =
            window(&[("irq.eth0-TxRx-1.cpu3", 5), ("irq.eth0-TxRx-1.cpu4", 0), ("irq.eth0-TxRx-11.cpu5", 7)]);
        assert_eq!(served(&window, "eth0-TxRx-1"), [(3, 5)].into());
    }
}
