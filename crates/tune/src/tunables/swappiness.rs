//! `vm.swappiness`: whether the kernel rather swaps programs out than drops pages of files.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Risk, Role};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "swappiness",
    title: "programs swapped out or pages of files dropped",
    risk: Risk::Low,
    interrupts: "",
    source: "Apache Kafka documentation, operations; kernel documentation, admin-guide/sysctl/vm.rst",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if context.role == Role::WebEdge {
        return Vec::new();
    }
    if context.facts.swap_total_bytes.value() == Some(&0) {
        return vec![Look::not_applicable("", "this host has no swap space")];
    }
    let swapped = context.window.evidence_of(&["vmstat.pswpin", "vmstat.pswpout"], "pages");
    vec![Look::at(context, "", "vm.swappiness", |value| {
        Advice {
        recommended: "1".to_owned(),
        is_met: value.parse::<u64>().is_ok_and(|value| value <= 1),
        evidence: swapped,
        reason: if value.parse::<u64>().is_ok_and(|value| value <= 1) { "the kernel drops pages of files before it swaps programs out" } else { "a broker's heap that was swapped out makes every pause of its collector as long as the disk takes" }.to_owned(),
        expected: "no pauses while pages come back from swap".to_owned(),
    }
    })]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::new()
            .file("/proc/sys/vm/swappiness", "60\n")
            .file("/proc/meminfo", "MemTotal: 8000000 kB\nSwapTotal: 1000 kB\nSwapFree: 1000 kB\n")
    }

    #[test]
    fn swapping_in_the_window_makes_it_a_change() {
        assert_eq!(host().check("swappiness")[0].status, Status::NoEvidence);
        assert_eq!(host().grew("vmstat.pswpin", 100).check("swappiness")[0].status, Status::Change);
        host().grew("vmstat.pswpin", 100).changes_go_back("swappiness");
    }

    #[test]
    fn a_host_without_swap_has_nothing_to_set() {
        let host = host().file("/proc/meminfo", "MemTotal: 8000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
        assert_eq!(host.check("swappiness")[0].status, Status::NotApplicable);
    }
}
