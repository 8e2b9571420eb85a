//! `queue/read_ahead_kb`: how far the kernel reads on before it is asked. A consumer that catches up reads one log from one end to the
//! other.

use super::disk_load::load;
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Role};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "read-ahead",
    title: "reading before it is asked for",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, ABI/stable/sysfs-block; 4096 KiB as tuned's profile for throughput has it; the bounds are ours",
    look,
};

const ENOUGH_KB: u64 = 4096;
/// Reads of nearly the size that is read ahead, so many bytes in a second, that wait so long. Ours.
const NEAR: f64 = 0.8;
const READ_KB_PER_S: f64 = 10_000.0;
const WAIT_MS: f64 = 0.5;

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::WebEdge {
        return Vec::new();
    }
    let of = |disk: &String| {
        let queue = format!("/sys/block/{disk}/queue");
        let request_kb = context.number(&format!("{queue}/max_sectors_kb")).unwrap_or(u64::MAX);
        Look::at_number(context, disk, &format!("{queue}/read_ahead_kb"), |ahead_kb| {
            let evidence = long_reads(context, disk, ahead_kb.min(request_kb));
            let wanted = if evidence.is_empty() { ahead_kb } else { ENOUGH_KB };
            Advice {
                recommended: wanted.max(ahead_kb).to_string(),
                is_met: ahead_kb >= wanted,
                reason: match evidence.is_empty() {
                    true => "nobody waits for long reads in order",
                    false => "programs read long stretches in order, and wait for each piece that was not read ahead",
                }
                .to_owned(),
                evidence,
                expected: "consumers that catch up faster; more of the page cache is filled for them".to_owned(),
            }
        })
    };
    context.disks.iter().map(of).collect()
}

/// Reads in order: as large as reading ahead makes them. Small ones here and there are not helped, and neither are those that nobody
/// waits for.
fn long_reads(context: &Context<'_>, disk: &str, piece_kb: u64) -> Vec<Evidence> {
    let Some(load) = load(context, disk) else { return Vec::new() };
    let (Some(sectors), Some(wait_ms)) = (load.mean("read_sectors", "reads"), load.mean("read_ms", "reads"))
    else {
        return Vec::new();
    };
    let is_long = sectors / 2.0 >= NEAR * piece_kb as f64;
    match is_long && load.per_s("read_sectors") / 2.0 >= READ_KB_PER_S && wait_ms >= WAIT_MS {
        true => vec![
            level(&format!("disk.{disk} mean size of a read"), sectors / 2.0, "KiB"),
            level(&format!("disk.{disk} mean wait of a read"), wait_ms, "ms"),
        ],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(ahead: &str, sectors: u64, ms: u64) -> Recorded {
        Recorded::new()
            .file("/sys/block/sda/queue/scheduler", "[none]\n")
            .file("/sys/block/sda/queue/read_ahead_kb", ahead)
            .file("/sys/block/sda/queue/max_sectors_kb", "1280\n")
            .grew("disk.sda.reads", 10_000)
            .grew("disk.sda.read_sectors", sectors)
            .grew("disk.sda.read_ms", ms)
    }

    #[test]
    fn long_reads_that_wait_are_a_change_that_goes_back() {
        let catching_up = host("128\n", 2_560_000, 20_000);
        let check = &catching_up.check("read-ahead")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("4096")));
        catching_up.changes_go_back("read-ahead");
    }

    #[test]
    fn small_reads_and_reads_that_nobody_waits_for_are_no_evidence() {
        assert_eq!(host("128\n", 200_000, 20_000).check("read-ahead")[0].status, Status::Ok);
        assert_eq!(host("128\n", 2_560_000, 100).check("read-ahead")[0].status, Status::Ok);
        assert_eq!(host("8192\n", 26_000_000, 20_000).check("read-ahead")[0].status, Status::Ok);
    }
}
