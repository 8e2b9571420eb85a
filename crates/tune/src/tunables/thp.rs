//! Transparent huge pages: what the kernel does to have them (`defrag`), and for whom (`enabled`).
//!
//! Writers who put memory together while a program waits cost pauses. Whether huge pages help is the program's affair, and peers
//! contradict each other: only a trial tells.

use super::{Advice, Context, Look, Tunable};
use plumb_model::check::{Evidence, Risk};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "thp",
    title: "transparent huge pages",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/mm/transhuge.rst",
    look,
};

const FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";

fn look(context: &Context<'_>) -> Vec<Look> {
    if !context.host.root().exists(&format!("{FOLDER}/enabled")) {
        return vec![context.absent(
            "",
            "/sys/kernel/mm",
            "this kernel was built without transparent huge pages",
        )];
    }
    let enabled = context.read(&format!("{FOLDER}/enabled")).is_ok_and(|value| value != "never");
    let stalls = if enabled { stalls(context) } else { Vec::new() };
    let defrag = Look::at(context, "defrag", &format!("{FOLDER}/defrag"), |value| {
        Advice {
        recommended: "madvise".to_owned(),
        is_met: value != "always" || !enabled,
        evidence: stalls,
        reason: if value != "always" || !enabled { "no program waits for a huge page that it did not ask for" } else { "with `always` a program that touches new memory waits while the kernel puts a huge page together; with `madvise`, the kernel's default, only one that asks for them does" }.to_owned(),
        expected: "no pauses while memory is put together".to_owned(),
    }
    });
    let enabled = Look::at(context, "enabled", &format!("{FOLDER}/enabled"), |value| {
        Advice {
        recommended: "madvise".to_owned(),
        is_met: value != "always",
        evidence: Vec::new(),
        reason: if value != "always" { "only programs that ask for huge pages have them, or none" } else { "with `always` every program gets huge pages; that can help or hurt, and no counter tells which: try it" }.to_owned(),
        expected: "less memory used and put together; a program that asks for huge pages has them still".to_owned(),
    }
    });
    vec![defrag, enabled]
}

/// Programs waited for memory to be put together, and huge pages were asked for meanwhile: large packets are a reason for waits, too.
fn stalls(context: &Context<'_>) -> Vec<Evidence> {
    let waited = context.window.evidence("vmstat.compact_stall", "waits");
    let asked =
        context.window.evidence_of(&["vmstat.thp_fault_alloc", "vmstat.thp_fault_fallback"], "huge pages");
    match (waited, asked.is_empty()) {
        (Some(waited), false) => [waited].into_iter().chain(asked).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host(defrag: &str, enabled: &str) -> Recorded {
        Recorded::new()
            .file("/sys/kernel/mm/transparent_hugepage/defrag", defrag)
            .file("/sys/kernel/mm/transparent_hugepage/enabled", enabled)
    }

    const ALWAYS: &str = "[always] defer defer+madvise madvise never\n";
    const MADVISE: &str = "always defer defer+madvise [madvise] never\n";

    #[test]
    fn waits_for_huge_pages_are_a_change_that_goes_back() {
        let stalls = host(ALWAYS, "[always] madvise never\n")
            .grew("vmstat.compact_stall", 40)
            .grew("vmstat.thp_fault_fallback", 9);
        assert!(
            stalls
                .check("thp")
                .iter()
                .any(|check| check.status == Status::Change && check.target == "defrag")
        );
        stalls.changes_go_back("thp");
    }

    #[test]
    fn waits_that_huge_pages_are_no_reason_of_are_no_evidence() {
        let packets = host(ALWAYS, "[always] madvise never\n").grew("vmstat.compact_stall", 40);
        assert!(packets.check("thp").iter().all(|check| check.status == Status::NoEvidence));
        let off = host(ALWAYS, "always madvise [never]\n")
            .grew("vmstat.compact_stall", 40)
            .grew("vmstat.thp_fault_alloc", 9);
        assert!(off.check("thp").iter().all(|check| check.status == Status::Ok));
    }

    #[test]
    fn the_kernels_default_is_right() {
        assert!(
            host(MADVISE, "always [madvise] never\n")
                .check("thp")
                .iter()
                .all(|check| check.status == Status::Ok)
        );
    }
}
