//! A disk's I/O scheduler: fast devices need none, and one costs processor time and order.

use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::Risk;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "io-scheduler",
    title: "I/O scheduler of a disk",
    risk: Risk::Low,
    interrupts: "",
    source: "kernel documentation, block/; the bound of 1 ms is ours",
    look,
};

/// Requests of a device that wait longer than this on the average while it is busy. Ours.
const WAIT_MS: f64 = 1.0;

fn look(context: &Context<'_>) -> Vec<Look> {
    let of = |disk: &String| {
        let queue = format!("/sys/block/{disk}/queue");
        let text = context.host.root().read(&format!("{queue}/rotational")).unwrap_or_default();
        let turns = text.trim() == "1";
        let choices = context.host.root().read(&format!("{queue}/scheduler")).unwrap_or_default();
        let wanted = if turns { "mq-deadline" } else { "none" };
        if !choices.split_whitespace().any(|word| word.trim_matches(['[', ']']) == wanted) {
            return Look::not_applicable(disk, format!("its kernel has no scheduler {wanted}"));
        }
        Look::at(context, disk, &format!("{queue}/scheduler"), |value| {
            Advice {
            recommended: wanted.to_owned(),
            is_met: value == wanted || turns && value == "bfq",
            evidence: waits(context, disk).into_iter().collect(),
            reason: match turns {
                true => "a disk that turns serves requests faster in the order of their places",
                false => "a device without moving parts serves requests in any order, so that sorting them only costs",
            }
            .to_owned(),
            expected: "shorter waits of requests, and less processor time for each".to_owned(),
        }
        })
    };
    context.disks.iter().map(of).collect()
}

/// The mean wait of a disk's requests over the window, where it is long.
fn waits(context: &Context<'_>, disk: &str) -> Option<plumb_model::check::Evidence> {
    let grown = |column: &str| context.window.growth(&format!("disk.{disk}.{column}"));
    let requests = grown("reads")? + grown("writes")?;
    let mean = (grown("read_ms")? + grown("write_ms")?) as f64 / requests.max(1) as f64;
    (requests > 0 && mean > WAIT_MS)
        .then(|| level(&format!("disk.{disk} mean wait of a request"), mean, "ms"))
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::new()
            .file("/sys/block/nvme0n1/queue/rotational", "0\n")
            .file("/sys/block/nvme0n1/queue/scheduler", "none [mq-deadline] kyber\n")
            .file("/sys/block/nvme0n1/queue/nr_requests", "256\n")
            .file("/sys/block/nvme0n1/queue/iosched/read_expire", "500\n")
    }

    #[test]
    fn a_fast_device_whose_requests_wait_is_to_have_no_scheduler() {
        assert_eq!(host().check("io-scheduler")[0].status, Status::NoEvidence);
        let busy = host()
            .grew("disk.nvme0n1.reads", 0)
            .grew("disk.nvme0n1.read_ms", 0)
            .grew("disk.nvme0n1.writes", 1000)
            .grew("disk.nvme0n1.write_ms", 5000);
        let check = &busy.check("io-scheduler")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("none")));
        assert_eq!(check.evidence[0].amount, 5.0);
        busy.changes_go_back("io-scheduler");
    }
}
