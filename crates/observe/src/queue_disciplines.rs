//! The queueing disciplines of this network namespace and what they dropped: tc(8) reads the same with `tc -s qdisc show`.
//!
//! What a packet of this host waits in before its interface takes it. A packet that finds its queue full is dropped here, and no counter of
//! the interface or of a protocol tells of it. It is asked over netlink (rtnetlink(7)); no privilege is needed.

use crate::netlink::{Question, attribute, dump, number, text};
use std::collections::BTreeMap;
use std::io;

const ROUTE: i32 = 0;
/// `RTM_GETQDISC` and `RTM_NEWQDISC`, `RTM_GETLINK` and `RTM_NEWLINK`.
const GET_DISCIPLINES: u16 = 38;
const DISCIPLINE: u16 = 36;
const GET_LINKS: u16 = 18;
const LINK: u16 = 16;
/// Bytes of `struct tcmsg`, and places in it.
const TC_BYTES: usize = 20;
const TC_LINK: usize = 4;
const TC_HANDLE: usize = 8;
const TC_PARENT: usize = 12;
/// `TCA_KIND`, `TCA_STATS2` and in it `TCA_STATS_QUEUE`.
const KIND: u16 = 1;
const STATISTICS: u16 = 7;
const QUEUE: u16 = 3;
/// Places in `struct gnet_stats_queue`.
const DROPS: usize = 8;
const OVERLIMITS: usize = 16;
/// Bytes of `struct ifinfomsg`, the place of the number in it, and `IFLA_IFNAME`.
const LINK_BYTES: usize = 16;
const LINK_NUMBER: usize = 4;
const LINK_NAME: u16 = 3;
/// `TC_H_ROOT` and `TC_H_INGRESS`.
const AT_ROOT: u32 = u32::MAX;
const AT_INGRESS: u32 = 0xffff_fff1;
/// More than are looked at (ours): a card with many queues has one for each.
const MOST: usize = 10_000;

/// Where a queueing discipline stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    /// Every packet that the interface sends goes through it; what those below it drop it counts too.
    Root,
    /// Below another one.
    Below(u32),
    /// Before the network stack: filters on the way in, and of `clsact` on both ways.
    Ingress,
}

/// A queueing discipline, with its counters since it was made. They have 32 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueDiscipline {
    pub(crate) interface: String,
    pub(crate) kind: String,
    /// The upper half of its number, as tc writes it before the colon; 0 of one that the kernel made by itself.
    pub(crate) handle: u32,
    pub(crate) stands: Stands,
    /// Packets that it dropped.
    pub(crate) drops: u32,
    /// How often it held a packet back because a rate was used up.
    pub(crate) overlimits: u32,
}

impl QueueDiscipline {
    /// `tbf 1:`, `fq_codel 10: within 1:`, `ingress ffff: on the way in`.
    pub(crate) fn words(&self) -> String {
        let name = format!("{} {:x}:", self.kind, self.handle);
        match self.stands {
            Stands::Root => name,
            Stands::Below(above) => format!("{name} within {above:x}:"),
            Stands::Ingress => format!("{name} on the way in"),
        }
    }
}

/// All of this network namespace.
pub(crate) fn queue_disciplines() -> io::Result<Vec<QueueDiscipline>> {
    let of = |kind, answer, body| Question { protocol: ROUTE, kind, answer, body, most: MOST };
    // The namespace of this process: /sys may be that of another one.
    let links: BTreeMap<u32, String> =
        dump(&of(GET_LINKS, LINK, &[0; LINK_BYTES]), link)?.into_iter().collect();
    dump(&of(GET_DISCIPLINES, DISCIPLINE, &[0; TC_BYTES]), |message| discipline(message, &links))
}

fn link(message: &[u8]) -> Option<(u32, String)> {
    let name = attribute(message.get(LINK_BYTES..)?, LINK_NAME)?;
    Some((number(message, LINK_NUMBER)?, text(name)))
}

/// None where an interface came meanwhile.
fn discipline(message: &[u8], links: &BTreeMap<u32, String>) -> Option<QueueDiscipline> {
    let attributes = message.get(TC_BYTES..)?;
    let queue = attribute(attribute(attributes, STATISTICS)?, QUEUE)?;
    Some(QueueDiscipline {
        interface: links.get(&number(message, TC_LINK)?)?.clone(),
        kind: text(attribute(attributes, KIND)?),
        handle: number(message, TC_HANDLE)? >> 16,
        stands: match number(message, TC_PARENT)? {
            AT_ROOT => Stands::Root,
            AT_INGRESS => Stands::Ingress,
            above => Stands::Below(above >> 16),
        },
        drops: number(queue, DROPS)?,
        overlimits: number(queue, OVERLIMITS)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attribute_of(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [&((4 + value.len()) as u16).to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(parent: u32) -> Vec<u8> {
        let queue: Vec<u8> = [1u32, 2, 9500, 4, 77].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let head = [0, 3, 0x8001_0000, parent, 0].iter().flat_map(|word: &u32| word.to_ne_bytes()).collect();
        let statistics = attribute_of(STATISTICS, &attribute_of(QUEUE, &queue));
        [head, attribute_of(KIND, b"tbf\0"), statistics].concat()
    }

    #[test]
    fn a_discipline_is_told_with_its_interface_and_where_it_stands() {
        let links = BTreeMap::from([(3, "veth0".to_owned())]);
        let of = |parent| discipline(&message(parent), &links).unwrap();
        let root = of(AT_ROOT);
        assert_eq!((root.interface.as_str(), root.drops, root.overlimits), ("veth0", 9500, 77));
        assert_eq!(root.words(), "tbf 8001:");
        assert_eq!(of(0x0001_0010).words(), "tbf 8001: within 1:");
        assert_eq!(of(AT_INGRESS).words(), "tbf 8001: on the way in");
        assert_eq!(discipline(&message(AT_ROOT), &BTreeMap::new()), None);
    }

    /// Every namespace has a loopback interface, which has a discipline by default.
    #[test]
    fn this_namespace_tells_those_that_it_has() {
        let found = queue_disciplines().unwrap();
        assert!(found.iter().any(|one| one.stands == Stands::Root && !one.kind.is_empty()), "{found:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_discipline_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = discipline(&bytes, &BTreeMap::from([(0, String::new())]));
            let _ = link(&bytes);
        }
    }
}
