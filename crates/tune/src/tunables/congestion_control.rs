//! `net.ipv4.tcp_congestion_control`: how fast a sender goes. A report: whether another one is faster depends on the way, and is seen in a
//! trial.

use super::{Context, Look, Tunable};
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

fn look(context: &Context<'_>) -> Vec<Look> {
    let value = match context.read("net.ipv4.tcp_congestion_control") {
        Ok(value) => value,
        Err(reason) => return vec![Look::unknown("", reason)],
    };
    let sent = context.window.growth("Tcp.OutSegs").unwrap_or(0);
    let again = context.window.growth("Tcp.RetransSegs").unwrap_or(0);
    if sent < SEGMENTS_MIN {
        return vec![Look::found(
            "",
            Status::NoEvidence,
            value,
            "too little was sent in the window to say whether it fits the way",
        )];
    }
    let share = again as f64 / sent as f64;
    if share < LOST {
        return vec![Look::found("", Status::Ok, value, "senders seldom send again")];
    }
    let evidence = Evidence {
        counter: "Tcp.RetransSegs of Tcp.OutSegs".to_owned(),
        amount: (1000.0 * share).round() / 10.0,
        unit: "%".to_owned(),
        over_s: Some(context.window.seconds()),
    };
    vec![
        Look::found("", Status::Advice, value, "segments are lost or come late on the way: find where (a receiver's drops, a switch, a link that is full) before another congestion control is tried")
            .showing(vec![evidence]),
    ]
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
}
