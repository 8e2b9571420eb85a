//! The queueing disciplines through which this host sends. Told, not changed: whoever set a rate or a length there had a reason, and the
//! kernel's own choice has none to change.

use super::{Context, Look, Tunable};
use crate::losses::{OwnDrop, Stands, own_drops, own_queues_are_seen};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "own-queue",
    title: "queues through which this host sends",
    risk: Risk::Performance,
    interrupts: "",
    source: "tc(8); kernel documentation, networking/gen_stats.rst",
    look,
};

/// Those that drop early so that a wait stays short.
const ON_PURPOSE: [&str; 7] = ["codel", "fq_codel", "cake", "pie", "fq_pie", "red", "sfb"];

fn look(context: &Context<'_>) -> Vec<Look> {
    if !own_queues_are_seen(context.window) {
        return vec![Look::unknown("", "the kernel does not tell what its queueing disciplines drop")];
    }
    let dropped: Vec<OwnDrop> =
        own_drops(context.window).into_iter().filter(|drop| drop.stands == Stands::Root).collect();
    match dropped.is_empty() {
        true => vec![Look::plain("", Status::Ok, "no queue dropped a packet that this host sends")],
        false => dropped.into_iter().map(of_interface).collect(),
    }
}

fn of_interface(drop: OwnDrop) -> Look {
    let OwnDrop { interface, discipline, evidence, held_back, .. } = drop;
    let kind = discipline.split(' ').next().unwrap_or_default();
    let why = match &held_back {
        _ if ON_PURPOSE.contains(&kind) => {
            "packets that this host sends wait too long for the interface, and it drops some so that their senders slow down: more is sent than the link, or a rate that somebody set, takes"
        }
        Some(_) => {
            "it holds packets back to a rate that somebody set, and drops what finds its queue full: the rate or the length of the queue is the bound"
        }
        None => {
            "packets that this host sends find its queue full: the link takes fewer than are sent, or the queue is shorter than the bursts"
        }
    };
    Look::found(
        &interface,
        Status::Advice,
        discipline,
        format!("{why}. No other host and no switch has lost them"),
    )
    .showing([Some(evidence), held_back].into_iter().flatten().collect())
    .by_hand(format!(
        "`tc -s qdisc show dev {interface}` shows the rate and the length, `tc qdisc change` sets them"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn a_queue_that_drops_is_named_with_its_interface_and_why() {
        let host = |name: &str, overlimits: u64| {
            let check = Recorded::new()
                .grew(&format!("qdisc.eth0.7.{name}.drops"), 40)
                .grew(&format!("qdisc.eth0.7.{name}.overlimits"), overlimits)
                .check("own-queue");
            assert_eq!((check.len(), check[0].status), (1, Status::Advice));
            check[0].clone()
        };
        let shaped = host("tbf 1:", 900);
        assert_eq!((shaped.target.as_str(), shaped.configured.as_deref()), ("eth0.7", Some("tbf 1:")));
        assert_eq!((shaped.evidence[0].amount, shaped.evidence[1].amount), (40.0, 900.0));
        assert!(shaped.reason.contains("a rate that somebody set"), "{}", shaped.reason);
        assert!(shaped.by_hand.contains("dev eth0.7"), "{}", shaped.by_hand);
        assert!(host("pfifo_fast 0:", 0).reason.contains("find its queue full"));
        assert!(host("fq_codel 0:", 5).reason.contains("so that their senders slow down"));
    }

    #[test]
    fn queues_that_drop_nothing_are_right_and_those_that_are_not_seen_are_unknown() {
        let calm =
            Recorded::new().stands("qdisc.eth0.fq 1:.drops", 7).stands("qdisc.eth0.fq 1:.overlimits", 0);
        assert_eq!(calm.check("own-queue")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("own-queue")[0].status, Status::Unknown);
        // What is below another one is counted there.
        let below = calm.grew("qdisc.eth0.fq 2: within 1:.drops", 3);
        assert_eq!(below.check("own-queue")[0].status, Status::Ok);
    }
}
