//! `net.core.busy_read` and `busy_poll`: a program that waits for a packet asks the interface itself, and burns its processor meanwhile.
//!
//! A report: whether the shorter wait is worth the processors is seen in a trial, and in no counter.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "busy-poll",
    title: "programs that ask the interface for packets",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/net.rst",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if let Some(look) = context.of_the_hosts_network("net.core.busy_read", Vec::new()) {
        return vec![look];
    }
    let of = |setting: &str| match context.read(setting) {
        Err(reason) => Look::unknown(setting, reason),
        Ok(value) if value == "0" => Look::found(
            setting,
            Status::Ok,
            value,
            format!(
                "{setting} is off, which is the kernel's default; only a trial shows whether waiting on the interface pays"
            ),
        ),
        Ok(value) => {
            let used = context.window.evidence("TcpExt.BusyPollRxPackets", "packets");
            let what = match used {
                Some(_) => "packets arrive that way; the processors that wait are not free for others",
                None => "no packet came that way in the window",
            };
            Look::found(setting, Status::NoEvidence, value, format!("{setting} is on: {what}"))
                .showing(used.into_iter().collect())
        }
    };
    vec![of("net.core.busy_read"), of("net.core.busy_poll")]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn it_is_told_and_never_changed() {
        let host = |value| {
            Recorded::new()
                .file("/proc/sys/net/core/busy_read", value)
                .file("/proc/sys/net/core/busy_poll", value)
                .grew("TcpExt.BusyPollRxPackets", 10)
        };
        assert!(host("0\n").check("busy-poll").iter().all(|check| check.status == Status::Ok));
        for check in host("50\n").check("busy-poll") {
            assert_eq!((check.status, check.assignments.len()), (Status::NoEvidence, 0));
            assert_eq!(check.evidence[0].amount, 10.0);
        }
        assert_eq!(Recorded::new().check("busy-poll")[0].status, Status::Unknown);
    }
}
