//! `net.core.somaxconn`: connections that wait to be accepted, for each listening socket; the application's own number bounds it too.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::Risk;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "accept-queue",
    title: "connections that wait to be accepted",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, networking/ip-sysctl.rst; 4096 is the kernel's default since Linux 5.4",
    look,
};

const SETTING: &str = "net.core.somaxconn";
const ENOUGH: u64 = 4096;

fn look(context: &Context<'_>) -> Vec<Look> {
    let lost =
        context.window.evidence_of(&["TcpExt.ListenOverflows", "TcpExt.TCPReqQFullDrop"], "connections");
    vec![Look::at(context, "", SETTING, |value| {
        let value: u64 = value.parse().unwrap_or(0);
        Advice {
            recommended: ENOUGH.to_string(),
            is_met: value >= ENOUGH,
            evidence: lost,
            reason: "a connection that finds the queue full is refused or tries again a second later; the listening program has to ask for a longer queue too, and to listen anew".to_owned(),
            expected: "no connection lost while a restart or a storm of clients connects".to_owned(),
        }
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn overflows_make_a_short_queue_a_change_and_a_long_one_is_left() {
        let host = |value| {
            Recorded::new().file("/proc/sys/net/core/somaxconn", value).grew("TcpExt.ListenOverflows", 5)
        };
        assert_eq!(host("128\n").check("accept-queue")[0].status, Status::Change);
        assert_eq!(host("65535\n").check("accept-queue")[0].status, Status::Ok);
        host("128\n").changes_go_back("accept-queue");
    }
}
