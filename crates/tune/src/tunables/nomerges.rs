//! `queue/nomerges`: whether requests for places beside each other become one. A page cache writes in many small pieces, for which merging
//! is of use; engines with a scheduler of their own switch it off, and leave it so.

use super::disk_load::load;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "nomerges",
    title: "requests beside each other made one",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, ABI/stable/sysfs-block; the bounds are ours",
    look,
};

/// Writes of at most this size, so many in a second, and so many at once, would be better as fewer. Ours.
const SMALL_SECTORS: f64 = 32.0;
const WRITES_PER_S: f64 = 500.0;
const AT_ONCE: f64 = 2.0;

fn look(context: &Context<'_>) -> Vec<Look> {
    let of = |disk: &String| {
        Look::at(context, disk, &format!("/sys/block/{disk}/queue/nomerges"), |value| {
            let evidence = small_writes(context, disk);
            Advice {
                recommended: "0".to_owned(),
                is_met: value == "0",
                reason: match (value == "0", evidence.is_empty()) {
                    (true, _) => "the kernel makes requests beside each other one",
                    (false, true) => {
                        "the kernel may not make requests beside each other one; no small writes wait for it"
                    }
                    (false, false) => {
                        "small writes wait for the disk, and the kernel may not make fewer of them"
                    }
                }
                .to_owned(),
                evidence,
                expected: "fewer and larger requests".to_owned(),
            }
        })
    };
    context.disks.iter().map(of).collect()
}

fn small_writes(context: &Context<'_>, disk: &str) -> Vec<Evidence> {
    let Some(load) = load(context, disk) else { return Vec::new() };
    let Some(sectors) = load.mean("written_sectors", "writes") else { return Vec::new() };
    let is_much = load.per_s("writes") >= WRITES_PER_S && load.queue_mean() >= AT_ONCE;
    match is_much && sectors <= SMALL_SECTORS {
        true => vec![
            level(&format!("disk.{disk} mean size of a write"), sectors / 2.0, "KiB"),
            level(&format!("disk.{disk} requests at once"), load.queue_mean(), "requests"),
        ],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(nomerges: &str) -> Recorded {
        Recorded::new()
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/nomerges", nomerges)
            .grew("disk.sda.writes", 20_000)
            .grew("disk.sda.queue_ms", 50_000)
    }

    #[test]
    fn small_writes_that_wait_are_a_change_and_large_ones_are_not() {
        let small = host("2\n").grew("disk.sda.written_sectors", 160_000);
        assert_eq!(small.check("nomerges")[0].status, Status::Change);
        small.changes_go_back("nomerges");
        let large = host("2\n").grew("disk.sda.written_sectors", 16_000_000);
        assert_eq!(large.check("nomerges")[0].status, Status::NoEvidence);
    }

    #[test]
    fn merging_is_right() {
        assert_eq!(host("0\n").check("nomerges")[0].status, Status::Ok);
    }
}
