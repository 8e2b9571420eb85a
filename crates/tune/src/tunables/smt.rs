//! Whether two processors share a core (SMT). A report: switching it takes processors away, moves interrupts, and shrinks sets of processors.

use super::{Context, Look, Tunable};
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "smt",
    title: "processors that share a core",
    risk: Risk::LockOut,
    interrupts: "",
    source: "kernel documentation, ABI/testing/sysfs-devices-system-cpu",
    look,
};

fn look(context: &Context<'_>) -> Vec<Look> {
    let look = match context.read("/sys/devices/system/cpu/smt/control") {
        Err(reason) => Look::unknown("", reason),
        Ok(value) => match value.as_str() {
            "on" => Look::found(
                "",
                Status::Ok,
                value,
                "cores do more in all with it; one thread waits for the other, so that the plan gives whole cores to interrupts",
            ),
            "off" | "forceoff" => Look::found(
                "",
                Status::NoEvidence,
                value,
                "half of the processors are off; for ingestion they mostly do more than they cost, and security may be why: only its owner decides",
            ),
            _ => Look::found(
                "",
                Status::NotApplicable,
                value,
                "the processors of this host share no cores, or a hypervisor does not say",
            ),
        },
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn it_is_told_and_never_changed() {
        for (value, status) in
            [("on\n", Status::Ok), ("off\n", Status::NoEvidence), ("notsupported\n", Status::NotApplicable)]
        {
            let check = &Recorded::new().file("/sys/devices/system/cpu/smt/control", value).check("smt")[0];
            assert_eq!((check.status, check.assignments.len()), (status, 0));
        }
        assert_eq!(Recorded::new().check("smt")[0].status, Status::Unknown);
    }
}
