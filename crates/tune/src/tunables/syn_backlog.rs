//! `net.ipv4.tcp_max_syn_backlog`: connections that are being opened, for each listening socket. The kernel looks at it only while SYN
//! cookies are off; with them the program's own backlog is the bound.

use super::{Advice, Context, Look, Tunable};
use crate::losses::dropped_while_opening;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "syn-backlog",
    title: "connections that are being opened",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; kernel source, net/ipv4/tcp_input.c; 4096 is ours",
    look,
};

const SETTING: &str = "net.ipv4.tcp_max_syn_backlog";
const ENOUGH: u64 = 4096;

fn look(context: &Context<'_>) -> Vec<Look> {
    let cookies = context.read("net.ipv4.tcp_syncookies");
    match (cookies.as_deref(), context.read(SETTING)) {
        (Err(reason), _) => return vec![Look::unknown("", reason.clone())],
        (Ok("0"), _) => {}
        (Ok(_), Err(reason)) => return vec![Look::unknown("", reason)],
        (Ok(_), Ok(value)) => {
            return vec![Look::found(
                "",
                Status::Ok,
                value,
                "SYN cookies are on, so that the kernel does not look at this number",
            )];
        }
    }
    let dropped = dropped_while_opening(context.window);
    vec![Look::at_number(context, "", SETTING, |value| {
        Advice {
        recommended: ENOUGH.to_string(),
        is_met: value >= ENOUGH,
        evidence: dropped.into_iter().collect(),
        reason: if value >= ENOUGH { "SYN cookies are off, and there is room for many connections that are being opened" } else { "SYN cookies are off: a connection that comes while three quarters of this number are being opened is dropped, unless its sender is known" }.to_owned(),
        expected: "no connection dropped while many are opened at once".to_owned(),
    }
    }).or_where_it_hurts("SYN cookies are off, and connections are dropped although many may be opened at once: more come than are answered")]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(cookies: &str) -> Recorded {
        Recorded::new()
            .file("/proc/sys/net/ipv4/tcp_syncookies", cookies)
            .file("/proc/sys/net/ipv4/tcp_max_syn_backlog", "512\n")
    }

    #[test]
    fn drops_without_cookies_are_a_change_and_none_are_no_evidence() {
        assert_eq!(host("0\n").check("syn-backlog")[0].status, Status::NoEvidence);
        let drops = host("0\n").grew("TcpExt.ListenDrops", 5).grew("TcpExt.ListenOverflows", 2);
        assert_eq!(drops.check("syn-backlog")[0].evidence[0].amount, 3.0);
        assert_eq!(drops.check("syn-backlog")[0].status, Status::Change);
        drops.changes_go_back("syn-backlog");
    }

    #[test]
    fn connections_that_found_a_programs_own_queue_full_are_no_evidence() {
        let own = host("0\n").grew("TcpExt.ListenDrops", 5).grew("TcpExt.ListenOverflows", 2);
        let own = own.grew("TcpExt.TCPReqQFullDrop", 3);
        assert_eq!(own.check("syn-backlog")[0].status, Status::NoEvidence);
    }

    #[test]
    fn with_cookies_the_number_does_not_matter_whatever_is_dropped() {
        let drops = host("1\n").grew("TcpExt.ListenDrops", 3);
        assert_eq!(drops.check("syn-backlog")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("syn-backlog")[0].status, Status::Unknown);
    }
}
