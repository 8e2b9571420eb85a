//! `vm.overcommit_memory`: whether the kernel promises more memory than there is. A report: a change of it can end programs.

use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "overcommit",
    title: "memory promised beyond what there is",
    risk: Risk::Performance,
    interrupts: "",
    source: "kernel documentation, mm/overcommit-accounting.rst; the share of 90 % is ours",
    look,
};

const NEAR: f64 = 0.9;

fn look(context: &Context<'_>) -> Vec<Look> {
    let value = match context.read("vm.overcommit_memory") {
        Ok(value) => value,
        Err(reason) => return vec![Look::unknown("", reason)],
    };
    if value != "2" {
        return vec![Look::found(
            "",
            Status::Ok,
            value,
            "the kernel refuses no memory that programs are likely to use",
        )];
    }
    let text = context.host.root().read("/proc/meminfo").unwrap_or_default();
    let kb = |name: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse().ok())
    };
    let (Some(promised), Some(limit)) = (kb("Committed_AS:"), kb("CommitLimit:")) else {
        return vec![Look::unknown("", "the kernel does not say how much memory it has promised")];
    };
    let found = match promised >= NEAR * limit {
        true => Look::found("", Status::Advice, value, "the kernel has promised nearly all that it may: the next program, or a larger heap, is refused; raise vm.overcommit_ratio or promise less")
            .showing(vec![level("meminfo Committed_AS", promised, "kB"), level("meminfo CommitLimit", limit, "kB")]),
        false => Look::found("", Status::Ok, value, "the kernel promises no more than it has, and there is room"),
    };
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    #[test]
    fn only_a_strict_kernel_that_has_promised_nearly_all_is_told() {
        let host = |mode, promised| {
            Recorded::new()
                .file("/proc/sys/vm/overcommit_memory", mode)
                .file("/proc/meminfo", &format!("CommitLimit: 1000 kB\nCommitted_AS: {promised} kB\n"))
                .check("overcommit")[0]
                .clone()
        };
        assert_eq!(host("0\n", 5000).status, Status::Ok);
        assert_eq!(host("2\n", 100).status, Status::Ok);
        let near = host("2\n", 950);
        assert_eq!((near.status, near.assignments.len()), (Status::Advice, 0));
    }
}
