//! Packets handed from the processor that took them to others (RPS): a help for an interface with one queue, pure waste for one with a queue
//! for each processor.

use super::network::{FULL, each, hot_by, mask, near, queue_files, steered};
use super::{Context, Look, Tunable, channels};
use crate::cpus;
use crate::devices::Interface;
use plumb_model::change::Assignment;
use plumb_model::check::{Evidence, Risk, Status};
use std::collections::BTreeSet;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "rps",
    title: "packets handed to other processors",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/scaling.rst; the bounds of half of the packets and 80 % of a processor are ours",
    look,
};

/// Wake-ups of other processors for each packet from which on most are handed over: one wake-up may bring several. Ours.
pub(super) const MOST: f64 = 0.5;

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let queues = queue_files(context, name, "rx-", "rps_cpus");
    let reads: Vec<(String, String)> =
        queues.into_iter().filter_map(|queue| Some((queue.clone(), context.read(&queue).ok()?))).collect();
    if reads.is_empty() {
        return Look::not_applicable(name, "this kernel hands no packets to other processors");
    }
    let used: BTreeSet<u32> = reads.iter().flat_map(|(_, text)| mask(text)).collect();
    let near = near(context, interface);
    let value = if used.is_empty() { "off".to_owned() } else { to_processors(&used) };
    let found = |status, reason: &str| Look::found(name, status, value.clone(), reason);
    match (used.is_empty(), reads.len()) {
        (true, 1) if channels::can_be_more(context, interface) => found(
            Status::Ok,
            "its device can have more queues (channels), which is better than handing packets on",
        ),
        (true, 1) if near.len() > 1 && (near.len() >= FEW || hot_by(context, interface, FULL).is_some()) => {
            on(context, interface, &reads[0].0, &near)
        }
        (true, _) => found(Status::Ok, "packets stay with the processor that takes them"),
        (false, queues) if queues >= near.len() && queues > 1 => off(context, name, value, &reads),
        (false, _) => found(
            Status::Ok,
            "it has fewer queues than processors near it, so that others may help; whether they do is seen in a trial alone",
        ),
    }
}

fn to_processors(used: &BTreeSet<u32>) -> String {
    let plural = if used.len() == 1 { "" } else { "s" };
    format!("to processor{plural} {}", cpus::list(used))
}

/// Off, where each processor has a queue of its own.
fn off(context: &Context<'_>, name: &str, value: String, reads: &[(String, String)]) -> Look {
    let evidence: Vec<Evidence> = match steered(context).is_some_and(|share| share >= MOST) {
        true => [(".received_rps", "wake-ups"), (".processed", "packets")]
            .into_iter()
            .filter_map(|(end, unit)| context.window.evidence_of_sum("softnet.", end, unit))
            .collect(),
        false => Vec::new(),
    };
    let is_on = |(_, text): &&(String, String)| !mask(text).is_empty();
    let to = |(path, _): &(String, String)| Assignment { key: path.clone(), value: "0".to_owned() };
    let status = if evidence.is_empty() { Status::NoEvidence } else { Status::Change };
    Look {
        assignments: reads.iter().filter(is_on).map(to).collect(),
        expected: "less work for packets, and none of it twice".to_owned(),
        ..Look::found(name, status, value, "it has a queue for each processor near it, so that the card spreads packets already; handing them on once more wakes another processor for nothing")
            .showing(evidence)
            .recommending("off")
    }
}

/// Fewer processors than these are not worth handing packets between without a full one. Ours.
const FEW: usize = 4;

/// On for the one queue, to the processors near it but the one that takes the packets.
fn on(context: &Context<'_>, interface: &Interface, queue: &str, near: &BTreeSet<u32>) -> Look {
    let name = &interface.name;
    let full = hot_by(context, interface, FULL);
    // Without a full one it is not known which takes them; the first of the plan mostly does.
    let taking = full.as_ref().map(|(cpu, _)| *cpu).or_else(|| context.placement.interrupts.first().copied());
    let others: BTreeSet<u32> = near.iter().copied().filter(|cpu| Some(*cpu) != taking).collect();
    let status = if full.is_some() { Status::Change } else { Status::NoEvidence };
    Look {
        assignments: vec![Assignment { key: queue.to_owned(), value: cpus::mask(&others) }],
        expected: "the stack's work is done by several processors; the one that takes packets does no more than that".to_owned(),
        ..Look::found(name, status, "off", "it has one queue, so that one processor does all the work for its packets; more queues would be better where the device can have them")
            .showing(full.map(|(_, evidence)| evidence).into_iter().collect())
            .recommending(to_processors(&others))
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(queues: u32) -> Recorded {
        Recorded::interface("eth0", "virtio_net", queues).file("/sys/devices/system/cpu/online", "0-3\n")
    }

    fn with_masks(queues: u32) -> Recorded {
        (0..queues).fold(host(queues), |host, queue| {
            host.file(&format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus"), "0000000f\n")
        })
    }

    #[test]
    fn packets_handed_on_although_each_processor_has_a_queue_are_a_change_that_goes_back() {
        let waste = with_masks(4).grew("softnet.cpu0.processed", 1000).grew("softnet.cpu1.received_rps", 900);
        let check = &waste.check("rps")[0];
        assert_eq!(
            (check.status, check.assignments.len(), check.recommended.as_deref()),
            (Status::Change, 4, Some("off"))
        );
        waste.changes_go_back("rps");
        assert_eq!(with_masks(4).check("rps")[0].status, Status::NoEvidence);
    }

    #[test]
    fn one_queue_whose_processor_is_full_is_handed_to_the_others_and_goes_back() {
        let full = host(1)
            .grew("irq.eth0-TxRx-0.cpu2", 9000)
            .grew("cpu2.softirq_ticks", 950)
            .grew("cpu2.idle_ticks", 50);
        let check = &full.check("rps")[0];
        assert_eq!((check.status, check.assignments[0].value.as_str()), (Status::Change, "b"));
        full.changes_go_back("rps");
        assert_eq!(host(1).check("rps")[0].status, Status::NoEvidence);
        let another = full.grew("irq.eth0-TxRx-0.cpu2", 0);
        assert_eq!(another.check("rps")[0].status, Status::NoEvidence);
    }

    #[test]
    fn two_processors_hand_packets_to_each_other_only_where_one_is_full() {
        let two = || host(1).file("/sys/devices/system/cpu/online", "0-1\n");
        assert_eq!(two().check("rps")[0].status, Status::Ok);
        let full = two()
            .grew("irq.eth0-TxRx-0.cpu0", 9000)
            .grew("cpu0.softirq_ticks", 950)
            .grew("cpu0.idle_ticks", 50);
        let check = &full.check("rps")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("to processor 1")));
    }

    #[test]
    fn more_queues_come_before_handing_packets_on() {
        let more = host(1)
            .file("/ethtool/eth0/channels", "combined 1\n")
            .file("/ethtool/eth0/channels.max", "combined 4\n")
            .grew("irq.eth0-TxRx-0.cpu2", 9000)
            .grew("cpu2.softirq_ticks", 950)
            .grew("cpu2.idle_ticks", 50);
        assert_eq!(
            (more.check("channels")[0].status, more.check("rps")[0].status),
            (Status::Change, Status::Ok)
        );
        let interrupts = &more.check("interrupts")[0];
        assert!(interrupts.assignments.is_empty(), "{:?}", interrupts.assignments);
    }

    #[test]
    fn off_with_several_queues_and_on_with_fewer_than_processors_are_right() {
        assert_eq!(host(2).check("rps")[0].status, Status::Ok);
        assert_eq!(with_masks(2).check("rps")[0].status, Status::Ok);
    }
}
