//! `queue/nr_requests`: requests that a disk's scheduler holds, in each direction and for each of its queues.

use super::disk_load::load;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "nr-requests",
    title: "requests that a disk's scheduler holds",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, block/ and ABI/stable/sysfs-block; the share of 90 % is ours",
    look,
};

/// Requests at once, of what the scheduler holds: more than this part leaves none for who comes. Ours.
const NEAR: f64 = 0.9;
/// The kernel takes no more (MAX_SCHED_RQ, block/blk-mq-sched.h).
const MOST: u64 = 2048;

fn look(context: &Context<'_>) -> Vec<Look> {
    context.disks.iter().map(|disk| of_disk(context, disk)).collect()
}

fn of_disk(context: &Context<'_>, disk: &str) -> Look {
    let folder = format!("/sys/block/{disk}");
    let queues = context.host.root().list(&format!("{folder}/mq")).map_or(1, |queues| queues.len().max(1));
    let has_scheduler =
        context.read(&format!("{folder}/queue/scheduler")).is_ok_and(|scheduler| scheduler != "none");
    let queue = load(context, disk).map_or(0.0, |load| load.queue_mean());
    let setting = format!("{folder}/queue/nr_requests");
    let look = Look::at_number(context, disk, &setting, |requests| {
        let is_near = queue >= NEAR * requests as f64 * queues as f64;
        let wanted = if is_near { requests.saturating_mul(2).min(MOST) } else { requests };
        Advice {
            recommended: wanted.max(requests).to_string(),
            is_met: !is_near,
            evidence: is_near
                .then(|| level(&format!("disk.{disk} requests at once"), queue, "requests"))
                .into_iter()
                .collect(),
            reason: match is_near {
                true => "a program waits before its request even reaches the scheduler; more requests reach a fast disk, and wait longer in a slow one",
                false => "requests find room",
            }
            .to_owned(),
            expected: "more requests at once; each may wait longer".to_owned(),
        }
    });
    // Without a scheduler the device's own queue is the bound, and the kernel takes no more than it has.
    let is_bound = look.recommended == look.configured || !has_scheduler;
    match look.status {
        Status::Change if is_bound => Look {
            status: Status::Advice,
            reason: "programs wait for the device, whose queue is full: it takes no more at once".to_owned(),
            recommended: None,
            assignments: Vec::new(),
            ..look
        },
        _ => look,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(scheduler: &str) -> Recorded {
        Recorded::new()
            .file("/sys/block/sda/queue/scheduler", scheduler)
            .file("/sys/block/sda/queue/nr_requests", "64\n")
            .file("/sys/block/sda/mq/0/cpu_list", "0\n")
    }

    #[test]
    fn a_scheduler_that_is_full_is_a_change_that_goes_back() {
        let full = host("none [mq-deadline]\n").grew("disk.sda.queue_ms", 630_000);
        let check = &full.check("nr-requests")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("128")));
        assert_eq!(check.evidence[0].amount, 63.0);
        full.changes_go_back("nr-requests");
    }

    #[test]
    fn a_full_device_without_a_scheduler_cannot_hold_more() {
        let full = host("[none] mq-deadline\n").grew("disk.sda.queue_ms", 630_000);
        let check = &full.check("nr-requests")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
    }

    #[test]
    fn room_is_enough() {
        assert_eq!(
            host("none [mq-deadline]\n").grew("disk.sda.queue_ms", 30_000).check("nr-requests")[0].status,
            Status::Ok
        );
    }
}
