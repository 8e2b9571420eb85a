//! Packets handed to the processor on which their program last ran (RFS): a table for all of the host, and a length for each queue.

use super::network::{interfaces, near, queue_files, steered};
use super::rps::MOST;
use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "rfs",
    title: "packets handed to their program's processor",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, networking/scaling.rst; the bound of half of the packets is ours",
    look,
};

const SETTING: &str = "net.core.rps_sock_flow_entries";

fn look(context: &Context<'_>) -> Vec<Look> {
    if let Some(look) = context.of_the_hosts_network(SETTING, Vec::new()) {
        return vec![look];
    }
    let entries = match context.read(SETTING) {
        Ok(entries) => entries,
        Err(reason) => return vec![Look::unknown("", reason)],
    };
    if entries == "0" {
        return vec![Look::found(
            "",
            Status::Ok,
            entries,
            "it is off, which is the kernel's default; whether it pays is seen in a trial alone",
        )];
    }
    let lengths = |interface: &str| {
        queue_files(context, interface, "rx-", "rps_flow_cnt")
            .iter()
            .filter(|file| context.number(file).is_some_and(|length| length > 0))
            .count()
    };
    let used: Vec<_> = interfaces(context).filter(|found| lengths(&found.name) > 0).collect();
    if used.is_empty() {
        return vec![Look::found(
            "",
            Status::Ok,
            entries,
            "its table is there, and no queue uses it (rps_flow_cnt is 0): it does nothing",
        )];
    }
    let has_all = used
        .iter()
        .all(|found| found.receive_queues > 1 && found.receive_queues as usize >= near(context, found).len());
    if !has_all {
        return vec![Look::found(
            "",
            Status::Ok,
            entries,
            "an interface with fewer queues than processors uses it; whether it pays is seen in a trial alone",
        )];
    }
    let evidence = match steered(context).is_some_and(|share| share >= MOST) {
        true => context.window.evidence_of_sum("softnet.", ".received_rps", "wake-ups"),
        false => None,
    };
    vec![Look::at(context, "", SETTING, |_| {
        Advice {
        recommended: "0".to_owned(),
        is_met: false,
        evidence: evidence.into_iter().collect(),
        reason: "each processor has a queue of its own, and most packets are nevertheless handed to another one: programs move more than they gain by it".to_owned(),
        expected: "packets stay with the processor that takes them".to_owned(),
    }
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(entries: &str, length: &str) -> Recorded {
        let host = Recorded::interface("eth0", "ixgbe", 2)
            .file("/sys/devices/system/cpu/online", "0-1\n")
            .file("/proc/sys/net/core/rps_sock_flow_entries", entries);
        (0..2).fold(host, |host, queue| {
            host.file(&format!("/sys/class/net/eth0/queues/rx-{queue}/rps_flow_cnt"), length)
        })
    }

    #[test]
    fn most_packets_handed_on_although_each_processor_has_a_queue_are_a_change_that_goes_back() {
        let busy = host("32768\n", "16384\n")
            .grew("softnet.cpu0.processed", 1000)
            .grew("softnet.cpu0.received_rps", 900);
        assert_eq!(busy.check("rfs")[0].status, Status::Change);
        busy.changes_go_back("rfs");
        assert_eq!(host("32768\n", "16384\n").check("rfs")[0].status, Status::NoEvidence);
    }

    #[test]
    fn off_or_without_effect_is_right() {
        assert_eq!(host("0\n", "0\n").check("rfs")[0].status, Status::Ok);
        assert_eq!(host("32768\n", "0\n").check("rfs")[0].status, Status::Ok);
        assert_eq!(Recorded::new().check("rfs")[0].status, Status::Unknown);
    }
}
