//! `vm.min_free_kbytes`: memory that the kernel keeps free for who cannot wait, such as an interface that needs room for a packet.

use super::cpu_time::{percent, pressure};
use super::{Advice, Context, Look, Tunable};
use crate::losses::losses;
use plumb_model::check::{Evidence, LossLayer, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "min-free",
    title: "memory kept free for packets",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/sysctl/vm.rst; the bounds are ours",
    look,
};

const SETTING: &str = "vm.min_free_kbytes";
/// No more than this part of memory is kept free: what is free is no page cache, and too much ends programs. Ours.
const PART_MAX: u64 = 100;
/// Programs that had to free memory themselves, in a second, and the time waited for it, of all time. Ours.
const STALLS_PER_S: f64 = 1.0;
const WAITED: f64 = 0.001;

fn look(context: &Context<'_>) -> Vec<Look> {
    let Some(memory_kb) = context.facts.memory_total_bytes.value().map(|bytes| bytes / 1024) else {
        return vec![Look::unknown("", "this host does not say how much memory it has")];
    };
    let evidence = evidence(context);
    let most = memory_kb / PART_MAX;
    let look = Look::at_number(context, "", SETTING, |present| {
        let wanted = if evidence.is_empty() { present } else { present.saturating_mul(2).min(most) };
        Advice {
            recommended: wanted.max(present).to_string(),
            is_met: present >= wanted,
            reason: if evidence.is_empty() { "neither packets nor programs wait for want of free memory" } else { "packets find no memory, or programs free memory themselves before they have some, where too little is kept free" }.to_owned(),
            expected: "no packets lost for want of memory; the page cache has a little less".to_owned(),
            evidence,
        }
    });
    vec![look.or_where_it_hurts(
        "memory is short although a hundredth of it is kept free: give programs less, or the host more",
    )]
}

/// Packets for which there was no memory, or programs that waited while they freed some. A few of the latter are nothing on a host whose
/// page cache fills its memory.
fn evidence(context: &Context<'_>) -> Vec<Evidence> {
    let window = context.window;
    let lost = losses(window).into_iter().filter(|loss| loss.layer == LossLayer::Allocation);
    let mut found: Vec<Evidence> = lost.flat_map(|loss| loss.counters).collect();
    let stalls = window.sum("vmstat.allocstall_", "") as f64 / window.seconds().max(f64::MIN_POSITIVE);
    if stalls > STALLS_PER_S
        && let Some(waited) = pressure(context, "memory").filter(|share| *share > WAITED)
    {
        found.extend(window.evidence_of_sum("vmstat.allocstall_", "", "waits"));
        found.push(percent(context, "pressure.memory.some", waited));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::new()
            .file("/proc/sys/vm/min_free_kbytes", "20000\n")
            .file("/proc/meminfo", "MemTotal: 16000000 kB\n")
    }

    #[test]
    fn packets_without_memory_are_a_change_that_goes_back() {
        let lossy = host().grew("nic.eth0.rx_alloc_fail", 3);
        let check = &lossy.check("min-free")[0];
        assert_eq!((check.status, check.recommended.as_deref()), (Status::Change, Some("40000")));
        lossy.changes_go_back("min-free");
        let stalls = host().grew("vmstat.allocstall_normal", 500).grew("pressure.memory.some_us", 500_000);
        assert_eq!(stalls.check("min-free")[0].evidence.len(), 2);
    }

    #[test]
    fn programs_that_free_memory_now_and_then_are_no_evidence() {
        assert_eq!(host().check("min-free")[0].status, Status::Ok);
        let few = host().grew("vmstat.allocstall_normal", 500).grew("pressure.memory.some_us", 10);
        assert_eq!(few.check("min-free")[0].status, Status::Ok);
    }

    #[test]
    fn a_hundredth_of_memory_is_not_raised_further() {
        let full = host().file("/proc/sys/vm/min_free_kbytes", "200000\n").grew("nic.eth0.rx_alloc_fail", 3);
        let check = &full.check("min-free")[0];
        assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0));
    }
}
