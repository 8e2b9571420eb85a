//! Pages of the same content shared by the kernel (KSM). A report: it is of use to hypervisors, and takes a processor's time.

use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "ksm",
    title: "pages of the same content shared",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, admin-guide/mm/ksm.rst",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    if !context.host.root().exists("/sys/kernel/mm/ksm/run") {
        return vec![context.absent("", "/sys/kernel/mm", "this kernel was built without shared pages")];
    }
    let look = match context.read("/sys/kernel/mm/ksm/run") {
        Err(reason) => Look::unknown("", reason),
        Ok(value) if value != "1" => {
            Look::found("", Status::Ok, value, "the kernel looks for no pages to share")
        }
        Ok(value) => {
            let copied = context.window.evidence("vmstat.cow_ksm", "pages");
            let shared = context.number("/sys/kernel/mm/ksm/pages_sharing").unwrap_or(0);
            match copied {
                Some(copied) => Look::found("", Status::Advice, value, "programs write to pages that the kernel has shared, and wait while each is copied: shared pages are for hosts of virtual machines")
                    .showing(vec![copied, level("ksm pages_sharing", shared as f64, "pages")]),
                None => Look::found("", Status::NoEvidence, value, format!("the kernel looks for pages to share and has found {shared}; the search takes a processor's time")),
            }
        }
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn it_is_told_and_never_changed() {
        let host = |run| Recorded::new().file("/sys/kernel/mm/ksm/run", run);
        assert_eq!(host("0\n").check("ksm")[0].status, Status::Ok);
        assert_eq!(host("1\n").check("ksm")[0].status, Status::NoEvidence);
        let copies = &host("1\n").grew("vmstat.cow_ksm", 9).check("ksm")[0];
        assert_eq!((copies.status, copies.assignments.len()), (Status::Advice, 0));
    }
}
