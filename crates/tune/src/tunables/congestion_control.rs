//! `net.ipv4.tcp_congestion_control`: how fast a sender goes. A report: whether another one is faster depends on the way, and is seen in a
//! trial.

use super::{Context, Look, Tunable};
use crate::losses::{Stands, own_drops, own_queues_are_seen};
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "congestion-control",
    title: "how fast TCP senders go",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; the bounds of 1 % and 1000 segments are ours",
    look,
};

/// Segments sent again, of all: more than a network within a building loses. Ours.
const LOST: f64 = 0.01;
/// A share of fewer segments says little. Ours.
const SEGMENTS_MIN: u64 = 1000;
/// Fewer connections that were asked for again are nothing. Ours.
const ASKED_MIN: u64 = 5;

fn look(context: &Context<'_>) -> Vec<Look> {
    let value = match context.read("net.ipv4.tcp_congestion_control") {
        Ok(value) => value,
        Err(reason) => return vec![Look::unknown("", reason)],
    };
    let grown = |counter: &str| context.window.growth(counter).unwrap_or(0);
    // Asking again for a connection is no loss on the way of data.
    let asked_again = grown("TcpExt.TCPSynRetrans");
    let sent = grown("Tcp.OutSegs").saturating_sub(asked_again);
    let again = grown("Tcp.RetransSegs").saturating_sub(asked_again);
    [data(context, value, sent, again)].into_iter().chain(opening(context, asked_again)).collect()
}

/// Segments of connections that are open.
fn data(context: &Context<'_>, value: String, sent: u64, again: u64) -> Look {
    if sent < SEGMENTS_MIN {
        return Look::found(
            "",
            Status::NoEvidence,
            value,
            "too little was sent in the window to say whether it fits the way",
        );
    }
    let share = again as f64 / sent as f64;
    if share < LOST {
        return Look::found("", Status::Ok, value, "senders seldom send again");
    }
    let evidence = Evidence {
        counter: "Tcp.RetransSegs of Tcp.OutSegs, both without TcpExt.TCPSynRetrans".to_owned(),
        amount: (1000.0 * share).round() / 10.0,
        unit: "%".to_owned(),
        over_s: Some(context.window.seconds()),
    };
    Look::found("", Status::Advice, value, suspects(context)).showing(vec![evidence])
}

/// Where the segments may be lost: this host's own queues are suspects only as long as nobody has looked at them.
fn suspects(context: &Context<'_>) -> String {
    let own: Vec<String> = own_drops(context.window)
        .into_iter()
        .filter(|drop| drop.stands == Stands::Root)
        .map(|drop| format!("{} of {}", drop.discipline, drop.interface))
        .collect();
    let others = "a receiver's drops, a switch, a link that is full";
    let before = "before another congestion control is tried";
    match (own.is_empty(), own_queues_are_seen(context.window)) {
        (false, _) => format!(
            "this host's own queue drops what it sends ({}): mend that first, and look for losses on the way ({others}) only if senders still send again",
            own.join(", ")
        ),
        (true, true) => format!(
            "segments are lost or come late on the way, and not at this host's own queues, which dropped nothing: find where ({others}) {before}"
        ),
        (true, false) => format!(
            "segments are lost or come late: find where (this host's own queues, which could not be read, {others}) {before}"
        ),
    }
}

/// Connections that did not open at once. The kernel counts both sides' first segments together.
fn opening(context: &Context<'_>, asked_again: u64) -> Option<Look> {
    let counters = ["TcpExt.TCPSynRetrans", "Tcp.AttemptFails"];
    (asked_again >= ASKED_MIN).then(|| {
        Look::plain(
            "connections being opened",
            Status::Advice,
            "connections are asked for again and again: the peer does not answer, or its accept queue is full, or a firewall drops; no congestion control changes that",
        )
        .showing(context.window.evidence_of(&counters, "times"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(sent: u64, again: u64) -> Recorded {
        Recorded::new()
            .file("/proc/sys/net/ipv4/tcp_congestion_control", "cubic\n")
            .grew("Tcp.OutSegs", sent)
            .grew("Tcp.RetransSegs", again)
    }

    #[test]
    fn much_that_is_sent_again_is_told_and_a_few_segments_are_not() {
        let check = &host(100_000, 5000).check("congestion-control")[0];
        assert_eq!((check.status, check.evidence[0].amount), (Status::Advice, 5.0));
        assert!(check.assignments.is_empty());
        assert_eq!(host(100_000, 50).check("congestion-control")[0].status, Status::Ok);
        assert_eq!(host(20, 5).check("congestion-control")[0].status, Status::NoEvidence);
    }

    #[test]
    fn this_hosts_own_queues_are_suspects_only_where_nobody_looked_or_they_dropped() {
        let reason = |host: Recorded| host.check("congestion-control")[0].reason.clone();
        let many = || host(100_000, 5000);
        assert!(reason(many()).contains("own queues, which could not be read, a receiver's drops"));
        let calm = reason(many().stands("qdisc.eth0.fq 1:.drops", 5));
        assert!(calm.contains("not at this host's own queues, which dropped nothing"), "{calm}");
        let drops = reason(many().grew("qdisc.eth0.tbf 1:.drops", 5));
        assert!(drops.contains("own queue drops what it sends (tbf 1: of eth0)"), "{drops}");
    }

    #[test]
    fn connections_that_nobody_answers_are_no_loss_of_data() {
        let checks = host(2000, 900).grew("TcpExt.TCPSynRetrans", 900).check("congestion-control");
        let [opening, data] = &checks[..] else { panic!("{checks:?}") };
        assert_eq!((data.status, data.target.as_str()), (Status::Ok, ""));
        assert_eq!((opening.status, opening.evidence[0].amount), (Status::Advice, 900.0));
        assert!(opening.reason.contains("does not answer"), "{}", opening.reason);
        let both = host(2000, 950).grew("TcpExt.TCPSynRetrans", 900).check("congestion-control");
        assert_eq!(both[0].evidence[0].amount, 4.5);
        assert_eq!(host(2000, 2).grew("TcpExt.TCPSynRetrans", 2).check("congestion-control").len(), 1);
    }
}
