//! `queue/write_cache`: whether the kernel believes that a disk has a cache that a power failure empties, and flushes it.
//!
//! It is told and never changed: "write through" makes flushes stop, and what was acknowledged can be lost. Plumb has no plan that does it.

use super::disk_load::load;
use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "write-cache",
    title: "cache of a disk that a power failure empties",
    risk: Risk::LockOut,
    interrupts: "",
    source: "kernel documentation, block/writeback_cache_control.rst; the bounds of 2 ms and of 20 flushes are ours",
    look,
};

/// A flush of a disk that keeps its cache through a power failure takes less. Ours.
const FLUSH_MS: f64 = 2.0;
/// The mean of fewer flushes says little. Ours.
const FLUSHES_MIN: u64 = 20;

fn look(context: &Context<'_>) -> Vec<Look> {
    context.disks.iter().map(|disk| of_disk(context, disk)).collect()
}

fn of_disk(context: &Context<'_>, disk: &str) -> Look {
    let value = match context.read(&format!("/sys/block/{disk}/queue/write_cache")) {
        Ok(value) => value,
        Err(reason) => return Look::unknown(disk, reason),
    };
    if value != "write back" {
        return Look::found(
            disk,
            Status::NotApplicable,
            value,
            "the kernel knows of no cache that needs flushes; where somebody told it so against the truth, acknowledged data can be lost",
        );
    }
    let load = load(context, disk).filter(|load| load.grown("flushes") >= FLUSHES_MIN);
    match load.and_then(|load| load.mean("flush_ms", "flushes")) {
        Some(ms) if ms >= FLUSH_MS => Look::found(disk, Status::Advice, value, "flushes of the disk's cache take long, and whoever syncs waits for them: a disk with power-loss protection answers at once. Plumb does not switch flushes off: that loses data")
            .showing(vec![level(&format!("disk.{disk} mean time of a flush"), ms, "ms")]),
        _ => Look::found(disk, Status::Ok, value, "the disk's cache is flushed when a program syncs, as it has to be"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(cache: &str) -> Recorded {
        Recorded::new()
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/write_cache", cache)
            .grew("disk.sda.flushes", 100)
    }

    #[test]
    fn it_is_never_planned_whatever_a_flush_takes() {
        let slow = &host("write back\n").grew("disk.sda.flush_ms", 900).check("write-cache")[0];
        assert_eq!((slow.status, slow.assignments.len()), (Status::Advice, 0));
        assert!(slow.reason.contains("loses data"));
        let fast = &host("write back\n").grew("disk.sda.flush_ms", 10).check("write-cache")[0];
        assert_eq!(fast.status, Status::Ok);
        let few = host("write back\n").grew("disk.sda.flushes", 3).grew("disk.sda.flush_ms", 90);
        assert_eq!(few.check("write-cache")[0].status, Status::Ok);
        assert_eq!(host("write through\n").check("write-cache")[0].status, Status::NotApplicable);
    }
}
