//! `vm.dirty_background_ratio` and its like: how much of what was written waits in memory before the kernel writes it to disk, and before
//! it makes writers wait.
//!
//! Writers wait from the middle between both bounds on (`dirty_freerun_ceiling` in mm/page-writeback.c). Writing back earlier makes room
//! before the burst comes. It is one of two ways that peers go, and they contradict each other: a trial is to show it.

use super::cpu_time::{percent, pressure};
use super::{Advice, Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Evidence, Risk, Role, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "dirty-writeback",
    title: "written pages that wait in memory",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/vm.rst; that writers wait from the middle on: kernel source, mm/page-writeback.c; 5 % is ours, as Kafka operators use it",
    look,
};

const RATIO: &str = "vm.dirty_background_ratio";
const EARLY_PERCENT: u64 = 5;
/// Time in which somebody waited for disks, of all time: less is no reason to change anything. Ours.
const WAITED: f64 = 0.05;

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::WebEdge {
        return Vec::new();
    }
    let evidence = evidence(context);
    let bytes = context.number("vm.dirty_background_bytes").unwrap_or(0);
    if bytes > 0 {
        let status = if evidence.is_empty() { Status::Ok } else { Status::Advice };
        let reason = match status {
            Status::Ok => "an operator has set an amount; no writer waits for it",
            _ => {
                "writers wait for the disk; an operator has set an amount, so this is theirs to change: less of it begins earlier to write"
            }
        };
        return vec![
            Look::found("", status, format!("vm.dirty_background_bytes {bytes} bytes"), reason)
                .showing(evidence),
        ];
    }
    let has_room = context.number(RATIO).is_some_and(|percent| percent > EARLY_PERCENT);
    if !has_room && !evidence.is_empty() {
        let value = format!("{RATIO} {} %", context.read(RATIO).unwrap_or_default());
        return vec![
            Look::found(
                "",
                Status::Advice,
                value,
                "writers wait although writing back begins early: the disk takes less than is written",
            )
            .showing(evidence),
        ];
    }
    vec![Look::at(context, "", RATIO, |value| {
        let is_early = value.parse::<u64>().is_ok_and(|percent| percent <= EARLY_PERCENT);
        Advice {
            recommended: EARLY_PERCENT.to_string(),
            is_met: is_early,
            evidence,
            reason: if is_early {
                format!("{RATIO} is {value} %: the kernel begins early to write, and no writer waits for it")
            } else {
                format!(
                    "{RATIO} is {value} %: writers wait for the disk when pages fill the room between both bounds; a lower bound begins earlier to write. This lowers the value to {EARLY_PERCENT} %"
                )
            },
            expected: "shorter pauses of writers, at the price of more writes where pages are written twice"
                .to_owned(),
        }
    })]
}

/// Pages beyond the middle of both bounds, at the window's end, while disks were waited for.
pub(super) fn evidence(context: &Context<'_>) -> Vec<Evidence> {
    let total = |name: &str| context.window.total(&format!("vmstat.{name}"));
    let (Some(dirty), Some(limit), Some(background)) =
        (total("nr_dirty"), total("nr_dirty_threshold"), total("nr_dirty_background_threshold"))
    else {
        return Vec::new();
    };
    let waiting = dirty + total("nr_writeback").unwrap_or(0);
    let waited = pressure(context, "io");
    // A kernel without pressure does not say that nobody waited.
    if limit == 0 || waiting <= limit.midpoint(background) || waited.is_some_and(|share| share < WAITED) {
        return Vec::new();
    }
    let waited = waited.map(|share| percent(context, "pressure.io.some", share));
    [level("vmstat.nr_dirty + nr_writeback", waiting as f64, "pages")].into_iter().chain(waited).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(dirty: u64) -> Recorded {
        Recorded::new()
            .file("/proc/sys/vm/dirty_background_ratio", "10\n")
            .file("/proc/sys/vm/dirty_background_bytes", "0\n")
            .stands("vmstat.nr_dirty", dirty)
            .stands("vmstat.nr_writeback", 100)
            .stands("vmstat.nr_dirty_background_threshold", 1000)
            .stands("vmstat.nr_dirty_threshold", 2000)
    }

    #[test]
    fn writers_that_wait_are_a_change_that_goes_back() {
        let busy = host(1500).grew("pressure.io.some_us", 2_000_000);
        let check = &busy.check("dirty-writeback")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("5")));
        busy.changes_go_back("dirty-writeback");
    }

    #[test]
    fn many_dirty_pages_that_nobody_waits_for_are_no_evidence() {
        let calm = host(1500).grew("pressure.io.some_us", 10);
        assert_eq!(calm.check("dirty-writeback")[0].status, Status::NoEvidence);
        // Reads wait for disks, too.
        let reads = host(200).grew("pressure.io.some_us", 9_000_000);
        assert_eq!(reads.check("dirty-writeback")[0].status, Status::NoEvidence);
    }

    #[test]
    fn an_operators_amount_is_left_and_a_low_share_is_not_lowered_further() {
        let amount = host(1500).file("/proc/sys/vm/dirty_background_bytes", "1048576\n");
        let check = &amount.check("dirty-writeback")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
        let low = host(1500).file("/proc/sys/vm/dirty_background_ratio", "5\n");
        assert_eq!(low.check("dirty-writeback")[0].status, Status::Advice);
        assert_eq!(
            host(1).file("/proc/sys/vm/dirty_background_ratio", "1\n").check("dirty-writeback")[0].status,
            Status::Ok
        );
    }
}
