//! `queue/wbt_lat_usec`: the kernel holds back what it writes in the background so that reads wait no longer than this.
//!
//! A broker whose consumers read from memory has no reads to protect, and its writers wait for nothing.

use super::dirty_writeback;
use super::disk_load::load;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Role};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "writeback-throttling",
    title: "writes held back for reads",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, ABI/stable/sysfs-block; the bounds are ours",
    look,
};

/// A disk that is not full with requests, and reads so few in a hundred requests. Ours.
const AT_ONCE: f64 = 2.0;
const READS: f64 = 0.01;

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::WebEdge {
        return Vec::new();
    }
    context.disks.iter().map(|disk| of_disk(context, disk)).collect()
}

fn of_disk(context: &Context<'_>, disk: &str) -> Look {
    let setting = format!("/sys/block/{disk}/queue/wbt_lat_usec");
    if !context.host.root().exists(&setting) {
        return Look::not_applicable(disk, "this kernel does not hold back writes of this disk");
    }
    Look::at(context, disk, &setting, |value| Advice {
        recommended: "0".to_owned(),
        is_met: value == "0",
        evidence: held_back(context, disk),
        reason: if value == "0" {
            "the kernel holds back no writes for reads".to_owned()
        } else {
            format!(
                "reads are to wait no longer than {value} µs (wbt_lat_usec): the kernel holds back writes to protect reads; where there are hardly any reads, writers wait for a disk that has time"
            )
        },
        expected: "writes as fast as the disk takes them; reads wait longer when there are some".to_owned(),
    })
}

/// Writers wait, the disk has few requests, and hardly any are reads.
fn held_back(context: &Context<'_>, disk: &str) -> Vec<Evidence> {
    let waiting = dirty_writeback::evidence(context);
    let Some(load) = load(context, disk).filter(|_| !waiting.is_empty()) else { return Vec::new() };
    let (reads, writes) = (load.grown("reads") as f64, load.grown("writes") as f64);
    match writes > 0.0 && reads <= READS * writes && load.queue_mean() < AT_ONCE {
        true => waiting
            .into_iter()
            .chain([level(&format!("disk.{disk} requests at once"), load.queue_mean(), "requests")])
            .collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(dirty: u64, queue_ms: u64) -> Recorded {
        Recorded::new()
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/wbt_lat_usec", "2000\n")
            .stands("vmstat.nr_dirty", dirty)
            .stands("vmstat.nr_dirty_background_threshold", 1000)
            .stands("vmstat.nr_dirty_threshold", 2000)
            .grew("disk.sda.writes", 1000)
            .grew("disk.sda.reads", 1)
            .grew("disk.sda.queue_ms", queue_ms)
    }

    #[test]
    fn writers_that_wait_for_a_disk_with_time_are_a_change_that_goes_back() {
        let held = host(1900, 5000);
        assert_eq!(held.check("writeback-throttling")[0].status, Status::Change);
        held.changes_go_back("writeback-throttling");
    }

    #[test]
    fn a_disk_that_is_full_or_writers_that_do_not_wait_are_no_evidence() {
        assert_eq!(host(1900, 500_000).check("writeback-throttling")[0].status, Status::NoEvidence);
        assert_eq!(host(10, 5000).check("writeback-throttling")[0].status, Status::NoEvidence);
        let off = host(1900, 5000).file("/sys/block/sda/queue/wbt_lat_usec", "0\n");
        assert_eq!(off.check("writeback-throttling")[0].status, Status::Ok);
        let none = Recorded::new().file("/sys/block/sda/queue/scheduler", "[none]\n");
        assert_eq!(none.check("writeback-throttling")[0].status, Status::NotApplicable);
    }
}
