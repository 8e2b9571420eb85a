//! What the looks at network interfaces have in common: which are looked at, their driver's settings, and how their load is spread over
//! queues and processors.

use super::cpu_time::{percent, share};
use super::{Context, Look};
use crate::cpus;
use crate::devices::{self, Interface};
use crate::queues::{self, Way};
use crate::setting::{Setting, SettingError};
use plumb_model::check::Evidence;
use plumb_model::fault::chain;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// The part of a processor's time for packets from which on it is called hot. Ours.
pub(super) const HOT: f64 = 0.5;
/// The part from which on it is called full. Ours.
pub(super) const FULL: f64 = 0.8;
/// The packets of the fullest queue as a multiple of the mean of the others from which on queues are called uneven. Ours.
const UNEVEN: f64 = 2.0;
/// Packets a second from which on the spread of an interface tells something. Ours.
const TELLING_PER_S: f64 = 1000.0;

/// One look for each interface that carries packets of other hosts.
pub(super) fn each(
    context: &Context<'_>,
    mut look: impl FnMut(&Context<'_>, &Interface) -> Vec<Look>,
) -> Vec<Look> {
    let looks: Vec<Look> = interfaces(context).flat_map(|interface| look(context, interface)).collect();
    match looks.is_empty() {
        true => vec![Look::not_applicable("", "no network interface that is a device is up")],
        false => looks,
    }
}

/// Interfaces that are up and are devices. A virtual one (veth, a bridge, a tunnel) is left, however many queues it was made with.
pub(super) fn interfaces<'c>(context: &Context<'c>) -> impl Iterator<Item = &'c Interface> {
    let all = context.interfaces;
    all.iter().filter(|found| found.is_up && found.driver.is_some())
}

/// A group of a driver's settings; where there is none the look says so.
pub(super) fn group(context: &Context<'_>, interface: &str, group: &str) -> Result<String, Box<Look>> {
    let read =
        Setting::new(&format!("ethtool:{interface}:{group}")).and_then(|found| found.read(context.host));
    read.map_err(|error| Box::new(of_error(interface, group, &error)))
}

fn of_error(interface: &str, group: &str, error: &SettingError) -> Look {
    match error {
        SettingError::Unknown { source, .. }
            if matches!(source.kind(), io::ErrorKind::Unsupported | io::ErrorKind::NotFound) =>
        {
            Look::not_applicable(
                interface,
                format!("the driver of {interface} has no {group} that can be read"),
            )
        }
        error => Look::unknown(interface, chain(error).join(": ")),
    }
}

/// `rx 512 tx 512` by its keys.
pub(super) fn pairs(text: &str) -> BTreeMap<&str, &str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// A number of a group.
pub(super) fn number(text: &str, key: &str) -> Option<u64> {
    pairs(text).get(key)?.parse().ok()
}

/// Processors near an interface.
pub(super) fn near(context: &Context<'_>, interface: &Interface) -> BTreeSet<u32> {
    let near = devices::node_cpus(context.host, interface.node);
    let on_line: BTreeSet<u32> = near.intersection(&context.placement.online).copied().collect();
    if on_line.is_empty() { context.placement.online.clone() } else { on_line }
}

/// The processor that packets take most of among those that served an interrupt of this interface, where they take at least this part.
pub(super) fn hot_by(context: &Context<'_>, interface: &Interface, least: f64) -> Option<(u32, Evidence)> {
    let interrupts = queues::interrupts(context.host, &interface.name);
    // Where no interrupt is seen, the packets are those of the only interface.
    let served: BTreeSet<u32> = match interrupts.is_empty() {
        true if interfaces(context).count() == 1 => context.placement.online.clone(),
        _ => interrupts
            .iter()
            .flat_map(|found| queues::served(context.window, &found.name).into_keys())
            .collect(),
    };
    let of = |cpu: &u32| Some((*cpu, share(context, &format!("cpu{cpu}"), &["softirq"])?));
    let (cpu, busy) = served.iter().filter_map(of).max_by(|one, other| one.1.total_cmp(&other.1))?;
    (busy >= least).then(|| (cpu, percent(context, &format!("cpu{cpu}.softirq_ticks"), busy)))
}

/// What the queues of an interface received: packets where its driver counts them, or interrupts.
pub(super) fn received(context: &Context<'_>, interface: &str) -> BTreeMap<u32, u64> {
    let counted = queues::packets(context.window, interface, Way::Receive);
    if !counted.is_empty() {
        return counted;
    }
    let mut received = BTreeMap::new();
    for interrupt in queues::interrupts(context.host, interface) {
        if let Some(queue) = queues::number(&interrupt.name) {
            *received.entry(queue).or_default() +=
                queues::served(context.window, &interrupt.name).values().sum::<u64>();
        }
    }
    received
}

/// The fullest queue, where it has much more than the others.
pub(super) fn uneven(
    context: &Context<'_>,
    interface: &str,
    by_queue: &BTreeMap<u32, u64>,
) -> Option<Evidence> {
    let all: u64 = by_queue.values().sum();
    let (queue, most) = by_queue.iter().max_by_key(|(_, packets)| **packets)?;
    let others = (all - most) as f64 / (by_queue.len() - 1).max(1) as f64;
    let is_telling = all as f64 >= TELLING_PER_S * context.window.seconds();
    let is_uneven = by_queue.len() > 1 && is_telling && *most as f64 >= UNEVEN * others;
    is_uneven.then(|| {
        percent(context, &format!("{interface} queue {queue} of all packets"), *most as f64 / all as f64)
    })
}

/// Packets that an interface received or sent.
pub(super) fn packets_per_s(context: &Context<'_>, interface: &str, way: Way) -> Option<f64> {
    let counter = if way == Way::Receive { "rx_packets" } else { "tx_packets" };
    context.window.per_s(&format!("nic.{interface}.{counter}"))
}

/// The queues of one kind of an interface, in the order of their numbers.
pub(super) fn queue_files(context: &Context<'_>, interface: &str, kind: &str, file: &str) -> Vec<String> {
    let folder = format!("/sys/class/net/{interface}/queues");
    let names = context.host.root().list(&folder).unwrap_or_default();
    let mut numbered: Vec<(u32, String)> = names
        .into_iter()
        .filter_map(|name| Some((name.strip_prefix(kind)?.parse().ok()?, format!("{folder}/{name}/{file}"))))
        .collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

/// The part of packets that a processor left to another one; none where none came.
pub(super) fn steered(context: &Context<'_>) -> Option<f64> {
    let processed = context.window.sum("softnet.", ".processed");
    let steered = context.window.sum("softnet.", ".received_rps");
    (processed > 0).then(|| steered as f64 / processed as f64)
}

/// A mask of processors; empty where it is none.
pub(super) fn mask(text: &str) -> BTreeSet<u32> {
    cpus::parse_mask(text).unwrap_or_default()
}
