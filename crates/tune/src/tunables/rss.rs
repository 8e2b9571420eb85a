//! How a card spreads packets over its queues: a table that somebody made may leave queues without packets.

use super::network::{HOT, each, group, hot_by, received, uneven};
use super::{Advice, Context, Look, Tunable};
use crate::devices::Interface;
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "rss",
    title: "spread of packets over queues",
    risk: Risk::Performance,
    interrupts: "connections move to other queues: some of their packets overtake others",
    source: "kernel documentation, networking/scaling.rst; twice the mean of the other queues as uneven is ours",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    if interface.receive_queues < 2 {
        return Look::not_applicable(name, "it has one queue");
    }
    let reads = match group(context, name, "rss") {
        Ok(reads) => reads,
        Err(look) => return *look,
    };
    let table = reads.split("hkey").next().unwrap_or_default().trim();
    let is_even = is_even(table, interface.receive_queues);
    let look = Look::at(context, name, &format!("ethtool:{name}:rss"), |_| Advice {
        recommended: "default".to_owned(),
        is_met: is_even,
        evidence: evidence(context, interface),
        reason: match is_even {
            true => "every queue has the same part of the table".to_owned(),
            false => {
                "somebody made the table of queues: it is not even, which may be what is wanted".to_owned()
            }
        },
        expected: "every queue, and the processor behind it, gets its part of the connections".to_owned(),
    });
    let shown = Look { configured: Some(table.to_owned()), effective: None, ..look };
    shown.or_where_it_hurts("the table is even, and one queue gets much more than the others nevertheless: few connections carry most packets, or a part of them that the card cannot tell apart (see flow-hash); more connections spread better")
}

/// True if every queue has the same part of the table, in turn or in runs as some drivers make it (igb); one entry more or less is what a
/// number of queues that does not divide the table leaves.
fn is_even(table: &str, queues: u32) -> bool {
    let weights = table.strip_prefix("weight ").map(|weights| weights.split_ascii_whitespace());
    let weights: Option<Vec<u32>> =
        weights.and_then(|weights| weights.map(|part| part.parse().ok()).collect());
    match weights {
        Some(weights) => {
            let (least, most) = (weights.iter().min(), weights.iter().max());
            let is_flat = least.zip(most).is_some_and(|(least, most)| most - least <= 1);
            weights.len() == queues as usize && is_flat
        }
        None => table == "default" || table.is_empty() || table == format!("equal {queues}"),
    }
}

/// One queue has much more than the others while a processor is hot with this interface's packets.
fn evidence(context: &Context<'_>, interface: &Interface) -> Vec<Evidence> {
    let uneven = uneven(context, &interface.name, &received(context, &interface.name));
    let hot = hot_by(context, interface, HOT).map(|(_, evidence)| evidence);
    match (uneven, hot) {
        (Some(uneven), Some(hot)) => vec![uneven, hot],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(table: &str, first: u64) -> Recorded {
        Recorded::interface("eth0", "mlx5_core", 4)
            .file("/sys/devices/system/cpu/online", "0-3\n")
            .file("/ethtool/eth0/rss", table)
            .file("/ethtool/eth0/rss.max", "queues 4 entries 8\n")
            .grew("nic.eth0.rx0_packets", first)
            .grew("nic.eth0.rx1_packets", 100_000)
            .grew("nic.eth0.rx2_packets", 100_000)
            .grew("nic.eth0.rx3_packets", 100_000)
            .grew("irq.eth0-TxRx-0.cpu0", 50_000)
            .grew("cpu0.softirq_ticks", 700)
            .grew("cpu0.idle_ticks", 300)
    }

    const MADE: &str = "table 0 0 0 0 0 1 2 3 hkey 6d:5a\n";

    #[test]
    fn a_table_that_somebody_made_and_that_fills_one_queue_is_a_change_that_goes_back() {
        let check = &host(MADE, 900_000).check("rss")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("default")));
        host(MADE, 900_000).changes_go_back("rss");
        for uneven in ["weight 4 4\n", "weight 3 2 2 1\n"] {
            assert_eq!(host(uneven, 100_000).check("rss")[0].status, Status::NoEvidence, "{uneven}");
        }
        assert_eq!(host(MADE, 100_000).check("rss")[0].status, Status::NoEvidence);
        let cool = host(MADE, 900_000).grew("cpu0.softirq_ticks", 10);
        assert_eq!(cool.check("rss")[0].status, Status::NoEvidence);
    }

    #[test]
    fn an_even_table_is_right_and_uneven_connections_are_told() {
        for even in ["default hkey 6d:5a\n", "equal 4 hkey 6d:5a\n", "weight 2 2 2 2\n", "weight 3 3 2 2\n"] {
            assert_eq!(host(even, 100_000).check("rss")[0].status, Status::Ok, "{even}");
            let check = &host(even, 900_000).check("rss")[0];
            assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0), "{even}");
        }
    }
}
