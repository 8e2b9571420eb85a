//! `net.ipv4.tcp_slow_start_after_idle`: whether a connection that was idle begins slowly again.
//!
//! It matters to connections that pause and then send much over a long way. No counter of the host tells such a start from another.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Risk, Role};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "slow-start-after-idle",
    title: "slow start of connections that were idle",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; RFC 2861",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::WebEdge {
        return Vec::new();
    }
    vec![Look::at(context, "", "net.ipv4.tcp_slow_start_after_idle", |value| {
        Advice {
        recommended: "0".to_owned(),
        is_met: value == "0",
        evidence: Vec::new(),
        reason: if value == "0" { "a connection that was idle goes on as fast as it was" } else { "a producer or follower that paused for longer than a retransmission timeout begins slowly again; no counter shows it, so try it where the way is long and senders pause" }.to_owned(),
        expected: "shorter first requests after a pause; bursts that a narrow link may drop".to_owned(),
    }
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{Role, Status};

    #[test]
    fn nothing_shows_that_it_matters_so_it_is_never_a_change() {
        let host = |value| Recorded::new().file("/proc/sys/net/ipv4/tcp_slow_start_after_idle", value);
        assert_eq!(host("1\n").check("slow-start-after-idle")[0].status, Status::NoEvidence);
        assert_eq!(host("0\n").check("slow-start-after-idle")[0].status, Status::Ok);
        assert!(host("1\n").role(Role::WebEdge).check("slow-start-after-idle").is_empty());
    }
}
