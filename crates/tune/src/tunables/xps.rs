//! The queue on which a processor sends (XPS): with one of its own it waits for no other.

use super::network::{each, mask, near, queue_files, uneven};
use super::{Context, Look, Tunable, channels};
use crate::cpus;
use crate::devices::Interface;
use crate::queues::{self, Way};
use plumb_model::change::Assignment;
use plumb_model::check::{Evidence, Risk, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "xps",
    title: "queue on which a processor sends",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/scaling.rst; twice the mean of the other queues as uneven is ours",
    look,
};

/// Words in drivers' counters of a queue that was full and had to be stopped.
const STOPPED: [&str; 4] = ["stop", "tx_busy", "restart", "send_full"];

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let queues = queue_files(context, name, "tx-", "xps_cpus");
    if queues.len() < 2 {
        return Look::not_applicable(name, "it has one queue for sending");
    }
    let reads: Vec<(String, BTreeSet<u32>)> =
        queues.iter().filter_map(|queue| Some((queue.clone(), mask(&context.read(queue).ok()?)))).collect();
    if reads.len() < queues.len() {
        return Look::not_applicable(name, "this kernel lets no processor choose its queue");
    }
    let value = value(&reads);
    if is_one_each(&reads, context) {
        return Look::found(name, Status::Ok, value, "each processor sends on one queue");
    }
    if channels::are_made_anew(context, interface) {
        return Look::found(name, Status::NoEvidence, value, channels::FIRST);
    }
    let wanted = wanted(context, interface, reads.len());
    let evidence = evidence(context, name);
    let status = if evidence.is_empty() { Status::NoEvidence } else { Status::Change };
    let differs = |((_, now), wanted): &(&(String, BTreeSet<u32>), &BTreeSet<u32>)| now != *wanted;
    Look {
        assignments: reads
            .iter()
            .zip(&wanted)
            .filter(differs)
            .map(|((path, _), wanted)| Assignment { key: path.clone(), value: cpus::mask(wanted) })
            .collect(),
        expected: "processors do not wait for each other to send".to_owned(),
        ..Look::found(name, status, value, "processors share queues for sending, or have none of their own")
            .showing(evidence)
            .recommending("one queue for each processor")
    }
}

fn value(reads: &[(String, BTreeSet<u32>)]) -> String {
    match reads.iter().all(|(_, cpus)| cpus.is_empty()) {
        true => "by the hash of the connection".to_owned(),
        false => reads.iter().map(|(_, cpus)| cpus::list(cpus)).collect::<Vec<_>>().join(" "),
    }
}

/// True if each processor on line is in the mask of one queue.
fn is_one_each(reads: &[(String, BTreeSet<u32>)], context: &Context<'_>) -> bool {
    let queues_of = |cpu: &u32| reads.iter().filter(|(_, cpus)| cpus.contains(cpu)).count();
    let online = &context.placement.online;
    // More processors than queues share them evenly.
    let part = online.len().div_ceil(reads.len());
    let is_even = reads.iter().all(|(_, cpus)| cpus.intersection(online).count() <= part);
    !online.is_empty() && is_even && online.iter().all(|cpu| queues_of(cpu) == 1)
}

/// The processors of each queue: those near the interface first, in the order in which its interrupts go to them.
fn wanted(context: &Context<'_>, interface: &Interface, queues: usize) -> Vec<BTreeSet<u32>> {
    let near = near(context, interface);
    let far: BTreeSet<u32> = context.placement.online.difference(&near).copied().collect();
    let order = [near, far].map(|cpus| context.placement.one_of_each_core_first(&cpus)).concat();
    let of = |queue: usize| order.iter().copied().skip(queue).step_by(queues).collect();
    (0..queues).map(of).collect()
}

/// A queue for sending was full while it had much more than the others.
fn evidence(context: &Context<'_>, interface: &str) -> Vec<Evidence> {
    let uneven = uneven(context, interface, &queues::packets(context.window, interface, Way::Send));
    let start = format!("nic.{interface}.");
    let is_stopped = |name: &&str| {
        let counter = name[start.len()..].to_ascii_lowercase();
        counter.contains("tx") && STOPPED.iter().any(|word| counter.contains(word))
    };
    let names: Vec<&str> =
        context.window.matching(&start, "").map(|(name, _)| name).filter(is_stopped).collect();
    let stopped = context.window.evidence_of(&names, "times");
    match uneven {
        Some(uneven) if !stopped.is_empty() => stopped.into_iter().chain([uneven]).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::interface("eth0", "mlx5_core", 2)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n")
            .file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n")
    }

    #[test]
    fn a_full_queue_that_has_most_packets_is_a_change_that_goes_back() {
        let full = host()
            .grew("nic.eth0.tx0_packets", 900_000)
            .grew("nic.eth0.tx1_packets", 0)
            .grew("nic.eth0.tx0_stopped", 7);
        let check = &full.check("xps")[0];
        assert_eq!(check.status, Status::Change);
        assert_eq!(check.assignments.iter().map(|to| to.value.as_str()).collect::<Vec<_>>(), ["5", "a"]);
        full.changes_go_back("xps");
        assert_eq!(host().check("xps")[0].status, Status::NoEvidence);
        host().changes_without_evidence_go_back("xps");
    }

    #[test]
    fn a_queue_for_each_processor_is_right_whichever_it_is() {
        let other = host()
            .file("/sys/class/net/eth0/queues/tx-0/xps_cpus", "a\n")
            .file("/sys/class/net/eth0/queues/tx-1/xps_cpus", "5\n");
        assert_eq!(other.check("xps")[0].status, Status::Ok);
        let one =
            Recorded::interface("eth0", "virtio_net", 1).file("/sys/devices/system/cpu/online", "0-3\n");
        assert_eq!(one.check("xps")[0].status, Status::NotApplicable);
    }
}
